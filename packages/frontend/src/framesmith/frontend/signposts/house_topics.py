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
    Topic(
        "a new callable",
        ("new callable", "new function", "row", "handler", "add a callable"),
        (("the walk through all files", "docs/adding/callable.md"), ("what a row is", "table.Row")),
    ),
    Topic(
        "a new kind of graph break",
        ("new break kind", "break kind"),
        (("the walk through all files", "docs/adding/break-kind.md"), ("the catalogue", "BreakKind")),
    ),
    Topic(
        "a new claim of a guard",
        ("new claim", "new guard", "claim"),
        (("the walk through all files", "docs/adding/claim.md"), ("what a claim is", "base.Claim")),
    ),
)
