"""Where threads run without the GIL nothing is compiled, and the reason is given."""

import sys

import pytest

from framesmith import frontend
from framesmith.frontend.errors import UnsupportedInterpreter


def test_without_the_gil_compile_refuses(monkeypatch):
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    with pytest.raises(UnsupportedInterpreter, match="set PYTHON_GIL=1"):
        frontend.compile(lambda x: x)


def test_a_build_that_has_its_gil_compiles(monkeypatch):
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
    assert frontend.compile(lambda x: x + 1, backend="eager")(1) == 2
