"""`framesmith.frontend.tracing.read_watch`: what an operation may read is told before it runs."""

from types import SimpleNamespace
from typing import Any

import pytest

from framesmith.bytecode.meaning import Kind
from framesmith.frontend.tracing.outdated_reads import check_outdated_reads
from framesmith.frontend.tracing.read_watch import show_reads
from framesmith.frontend.tracing.replanning import Restart
from framesmith.variables.core import Constant


class Noted:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.names: list[str] = []

    def see(self, values: Any) -> None:
        self.values += values

    def see_name(self, stored: object, name: str) -> None:
        self.names.append(name)


def frame_at(kind: Kind, name: str) -> Any:
    operation = SimpleNamespace(kind=kind, argument=name)
    return SimpleNamespace(
        reading=SimpleNamespace(operations=[operation]),
        index=0,
        stack=[Constant(1)],
        namespace=SimpleNamespace(pending={}),
        cells={"y": "the cell"},
    )


@pytest.mark.parametrize(
    ("kind", "name", "names", "cells"),
    [
        (Kind.LOAD_GLOBAL, "x", ["x"], []),
        (Kind.LOAD_CELL, "y", [], ["the cell"]),
        (Kind.LOAD_ATTRIBUTE, "z", [], []),
        (Kind.POP, "", [], []),
    ],
)
def test_what_lies_on_the_stack_globals_and_cells_are_read(kind, name, names, cells):
    noted, frame = Noted(), frame_at(kind, name)
    show_reads(frame, [noted])
    assert noted.values == [*frame.stack, *cells]
    assert noted.names == names


def context(*reads: tuple[int | None, bool]) -> Any:
    kept = [SimpleNamespace(step=step, is_outdated=lambda found=found: found) for step, found in reads]
    return SimpleNamespace(changes=SimpleNamespace(native_reads=kept))


def test_a_trace_stops_before_the_first_call_that_is_outdated():
    with pytest.raises(Restart) as caught:
        check_outdated_reads(context((2, False), (7, True), (5, True), (None, True)))
    assert caught.value.stop.step == 5


def test_a_trace_goes_on_where_only_a_backward_pass_has_to_stop():
    check_outdated_reads(context((2, False), (None, True)))
