"""Which operands are asked by `__torch_function__`, and calls that ask none: the rows run by hand."""

import pytest
import torch
from torch_tracing import Trace

from framesmith.graph import GraphBreak
from framesmith.variables.core import Constant, PendingCall, TraceContext, Tracker, from_python, overrides
from framesmith.variables.core.table import CALLS, Row, row_signature
from framesmith.variables.subclasses.dispatch import call_unasked


class Tagged(torch.Tensor):
    """Inherits the default override."""


class Silent(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


class Asked:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "asked"


class ByProperty:
    @property
    def __torch_function__(self):
        return Asked.__torch_function__


X = torch.ones(2)


def test_usual_operands_are_not_looked_up(monkeypatch):
    looked_up: list[object] = []

    def lookup(kind: object, name: str) -> object:
        looked_up.append(kind)
        return overrides.MISSING

    with Trace(x=X, w=torch.nn.Parameter(X)) as trace:
        constants = [from_python(trace.tx, value) for value in (1, 2.0, True, "x", None, torch.float32)]
        monkeypatch.setattr(overrides, "static_lookup", lookup)
        assert not overrides.is_overridden(trace.tx, [trace.x, trace.w, *constants], {"dim": constants[0]})
    assert looked_up == []


@pytest.mark.parametrize(
    ("value", "is_asked"),
    [(X, False), (X.as_subclass(Tagged), True), (X.as_subclass(Silent), False), (Asked(), True), (1, False)],
)
def test_who_is_asked(value, is_asked):
    with Trace(value=value) as trace:
        assert overrides.is_overridden(trace.tx, [trace.value], {}) is is_asked
        assert overrides.is_overridden(trace.tx, [], {"other": trace.value}) is is_asked
        trace.tx.changes.overrides.enter(trace)
        assert not overrides.is_overridden(trace.tx, [trace.value], {})
        trace.tx.changes.overrides.leave()


def test_a_property_is_left_to_torch():
    with Trace(value=ByProperty()) as trace, pytest.raises(GraphBreak):
        overrides.is_overridden(trace.tx, [trace.value], {})


def row(function: object, key: object) -> Row:
    return Row(key, function, *row_signature(function))


def test_a_row_that_did_something_before_its_pending_call_is_not_made_again():
    with Trace(x=X.as_subclass(Silent)) as trace:
        relu = trace.tx.registry[CALLS].get(torch.nn.functional.relu)

        def after_a_change(tx: TraceContext, operand: Tracker) -> "Tracker | PendingCall":
            tx.changes.note(operand)
            return pending(tx, operand)

        def pending(tx: TraceContext, operand: Tracker) -> "Tracker | PendingCall":
            return trace.wrap(plain).begin_call(tx, [operand], {})

        with pytest.raises(GraphBreak):
            call_unasked(trace.tx, row(after_a_change, relu.key), [trace.x], {})
        assert not isinstance(call_unasked(trace.tx, row(pending, relu.key), [trace.x], {}), Constant)


def plain(x: object) -> object:
    return x
