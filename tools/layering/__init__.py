"""The house rules that a program can check, as functions from a source file to a list of problems.

`tests/layering` runs them over the packages, and feeds each of them a bad snippet.
"""
