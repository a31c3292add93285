"""framesmith beside torch.compile, in the same process and by the same rule: `python -m benchmarks`, or the nox session bench.

One thread, the least of several rounds that take turns. What is timed and how is said in
`framesmith.frontend.demo.measure`; each module here is one family of benchmarks with a `results()`. They are figures to read, not tests that pass or fail.
"""
