"""Settings that all tests share: profiles of hypothesis, the tests that need a C++ compiler, and the collector.

No fixture lives here, and no torch: the tests of `bytecode` run without it.
"""

import gc
import os
import shutil
import subprocess
import sysconfig

import hypothesis
import pytest

# Tests fork, and the thread pool of OpenMP is not there in the child: an operation on several threads would wait for ever.
os.environ.setdefault("OMP_NUM_THREADS", "1")

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


def why_no_inductor() -> str | None:
    """Why inductor cannot run here: no C++ compiler, or none of the headers of this Python. None where it can."""
    command = compiler()
    if command is None:
        return "no C++ compiler for inductor on this machine"
    check = [command, "-fsyntax-only", "-x", "c++", f"-I{sysconfig.get_path('include')}", "-"]
    done = subprocess.run(check, input="#include <Python.h>", capture_output=True, text=True, check=False)
    return "the headers of this Python are not complete" if done.returncode else None


def pytest_report_header() -> str:
    """Say at the start of a run whether inductor can be tested."""
    return f"C++ compiler: {compiler() or 'NONE: the tests marked inductor do not run'}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where inductor cannot run, its tests are skipped, with the reason in the summary."""
    marked = [item for item in items if item.get_closest_marker("inductor")]
    reason = why_no_inductor() if marked else None
    for item in marked if reason else ():
        item.add_marker(pytest.mark.skip(reason=str(reason)))


def pytest_collection_finish() -> None:
    """Take what was imported and collected out of the collector's sight: it is there until the end, and a test that
    collects garbage would go through it each time, for a second."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """The same before the first test of a module that works with the collector: modules were imported meanwhile."""
    module = getattr(item, "module", None)
    if getattr(module, "gc", None) is gc and not hasattr(module, "__frozen"):
        module.__frozen = True
        gc.collect()
        gc.freeze()
