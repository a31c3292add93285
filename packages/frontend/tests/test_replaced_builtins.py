"""Builtins are put back while framesmith works, and the program finds its own when it runs."""

import builtins

import pytest

from framesmith.frontend.replaced_builtins import OriginalBuiltins, ProgramBuiltins, is_any_replaced

MINE = object()


@pytest.fixture
def replaced(monkeypatch):
    monkeypatch.setattr(builtins, "sorted", MINE)


def test_nothing_is_replaced():
    with OriginalBuiltins():
        assert not is_any_replaced()


def test_each_side_finds_its_own(replaced):
    with OriginalBuiltins():
        assert builtins.sorted is not MINE and is_any_replaced()
        with OriginalBuiltins():
            assert builtins.sorted is not MINE
        assert builtins.sorted is not MINE
        with ProgramBuiltins():
            assert builtins.sorted is MINE
        assert builtins.sorted is not MINE
    assert builtins.sorted is MINE


def test_what_the_program_puts_back_stays(replaced):
    original = None
    with OriginalBuiltins():
        original = builtins.sorted
        with ProgramBuiltins():
            builtins.sorted = original
        assert not is_any_replaced()
    assert builtins.sorted is original


def test_what_the_program_deletes_is_gone(monkeypatch):
    monkeypatch.delattr(builtins, "zip")
    with OriginalBuiltins():
        assert builtins.zip
    assert not hasattr(builtins, "zip")


def test_names_that_tracing_does_not_use_stay(monkeypatch):
    monkeypatch.setattr(builtins, "print", MINE)
    with OriginalBuiltins():
        assert builtins.print is MINE
