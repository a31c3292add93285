"""Settings that all tests share: profiles of hypothesis, and the tests that need a C++ compiler.

No fixture lives here, and no torch: the tests of `bytecode` run without it.
"""

import os
import shutil

import hypothesis
import pytest

hypothesis.settings.register_profile(
    "default", deadline=None, max_examples=50, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile(
    "fuzz", parent=hypothesis.settings.get_profile("default"), max_examples=3000
)
hypothesis.settings.load_profile("default")


def compiler() -> str | None:
    """The C++ compiler inductor would use, None where there is none."""
    return next(filter(None, map(shutil.which, (os.environ.get("CXX", "g++"), "g++", "clang++"))), None)


def pytest_report_header() -> str:
    """Say at the start of a run whether inductor can be tested."""
    return f"C++ compiler: {compiler() or 'NONE: the tests marked inductor do not run'}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a C++ compiler inductor cannot run: those tests are skipped, with the reason in the summary."""
    if compiler():
        return
    for item in items:
        if item.get_closest_marker("inductor"):
            item.add_marker(pytest.mark.skip(reason="no C++ compiler for inductor on this machine"))
