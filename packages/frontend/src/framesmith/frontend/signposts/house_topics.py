"""Questions about work on framesmith itself: its tests, checks, benchmarks, changelogs."""

from typing import Final

from framesmith.frontend.signposts.topic import Topic

HOUSE_TOPICS: Final = (
    Topic(
        "how the tests are run",
        (
            "run the tests",
            "run test of one layer",
            "test one package",
            "test command",
            "nox session",
        ),
        (
            ("the commands: `python dev.py tests guards` is one layer", "CONTRIBUTING.md"),
            ("what each of them runs", "noxfile.py"),
            ("which Pythons get which tests", "README.md"),
        ),
    ),
    Topic(
        "changelogs",
        ("changelog", "change log", "release notes", "changelog fragment", "what is new"),
        (("how a change is noted, and where", "CONTRIBUTING.md"),),
    ),
    Topic(
        "a wrong answer is searched for",
        (
            "wrong answer",
            "wrong result",
            "bisect a wrong answer",
            "minifier",
            "verify correctness",
        ),
        (
            ("step by step", "docs/wrong-answers.md"),
            (
                "the option: the first results of a graph are compared with the captured operations",
                "CompileOptions",
            ),
            ("where a compiled function is known to differ", "docs/differences.md"),
        ),
    ),
)
