"""`framesmith.frontend.tracing.data_stores_ahead`: the code of the program says whether `p.data = v` may come."""

from contextlib import contextmanager
from types import CodeType

import pytest
from stepping import trace_of

from framesmith.frontend.tracing.data_stores_ahead import note_data_stores, stores_data


def store(tensor, value):
    tensor.data = value


def load(tensor, value):
    tensor.grad = value
    return tensor.data


def call(function):
    return function()


@contextmanager
def swapped(tensor, value):
    yield
    tensor.data = value


def flags(code: CodeType, *, is_finished: bool = False, **values: object) -> tuple[bool, bool]:
    machine = trace_of(code, **values).machine
    note_data_stores(machine, code, is_finished=is_finished)
    writes = machine.tx.graph.writes
    return writes.is_store_next, writes.may_store_later


@pytest.mark.parametrize(("function", "expected"), [(store, True), (load, False), (call, False)])
def test_a_store_is_the_attribute_of_that_name_written(function, expected):
    assert stores_data(function.__code__) is expected


def test_a_trace_that_breaks_may_have_a_store_next():
    assert flags(store.__code__, tensor=1, value=2) == (True, False)
    assert flags(load.__code__, tensor=1, value=2) == (False, False)


def test_a_finished_function_may_be_called_again_before_the_backward_pass():
    assert flags(store.__code__, is_finished=True, tensor=1, value=2) == (False, True)
    assert flags(load.__code__, is_finished=True, tensor=1, value=2) == (False, False)


class Owner:
    def put(self) -> None:
        self.data = 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (store, True),
        (load, False),
        (Owner().put, True),
        (swapped(1, 2), True),
        (swapped(1, 2).gen, True),
        (print, False),
        (None, False),
    ],
)
def test_the_functions_that_a_frame_holds_may_store(value, expected):
    assert flags(call.__code__, function=value) == (expected, False)
