"""A first import between two traces: made once, and an error where it does not help."""

import sys

from framesmith.frontend.errors import FullGraphError
from framesmith.frontend.first_imports import import_first
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import IMPORT, NATIVE_CALL


def test_a_module_is_imported_once(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "framesmith_first.py").write_text("VALUE = 1")
    error, imported = FullGraphError(GraphBreak(IMPORT, "x", "framesmith_first"), ()), set[str]()
    assert import_first(error, imported)
    assert "framesmith_first" in imported and sys.modules.pop("framesmith_first").VALUE == 1
    assert not import_first(error, imported)


def test_a_module_that_cannot_be_imported_is_an_error_the_second_time() -> None:
    error, imported = FullGraphError(GraphBreak(IMPORT, "x", "framesmith_absent"), ()), set[str]()
    assert import_first(error, imported)
    assert not import_first(error, imported)


def test_another_break_is_an_error_at_once() -> None:
    assert not import_first(FullGraphError(GraphBreak(NATIVE_CALL, "x"), ()), set())
