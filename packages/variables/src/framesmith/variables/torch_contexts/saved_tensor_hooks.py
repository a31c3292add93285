"""Whether hooks of saved tensors may be pushed, which `torch.autograd.graph.disable_saved_tensors_hooks` turns.

That is Python code around these functions in C, and is traced. Nothing in a graph pushes any, so that the setting is no node: the trace turns it, and the entry does behind its graph where it ends in
such a block. Pushing hooks breaks the graph.
"""

from typing import Final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT
from framesmith.guards import Guard, Reason
from framesmith.guards.kinds import AmbientValue
from framesmith.variables.core import Constant, Setting, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import MODE_ACTIVE

ROWS: Final = Rows()
_AUTOGRAD: Final = torch._C._autograd
_REASON: Final = Reason("the trace asked torch", None)


def saved_tensors_hooks_refusal() -> str | None:
    """The text of the error that pushing a hook raises; None where it raises none."""
    found = _AUTOGRAD._saved_tensors_hooks_get_disabled_error_message()
    return None if found is None else str(found)


def _refuse(text: object) -> None:
    if text is None:
        _AUTOGRAD._saved_tensors_hooks_enable()
        return
    assert isinstance(text, str)
    _AUTOGRAD._saved_tensors_hooks_disable(text, False)


def has_saved_tensors_hooks() -> bool:
    """Whether hooks of saved tensors are there, beside which torch refuses to turn them off."""
    return _AUTOGRAD._top_saved_tensors_default_hooks(True) is not None


REFUSAL: Final = Setting("hooks of saved tensors", saved_tensors_hooks_refusal, _refuse)


def _guard_refusal(tx: TraceContext) -> None:
    # What the trace has set does not depend on the caller.
    if not tx.changes.ambient.is_touched(REFUSAL.name):
        claim = AmbientValue(saved_tensors_hooks_refusal, (), saved_tensors_hooks_refusal())
        tx.guards.add(Guard.relation(claim, _REASON))


@ROWS.call(_AUTOGRAD._saved_tensors_hooks_get_disabled_error_message)
def refusal(tx: TraceContext) -> Tracker:
    """The text of the error, or None; guarded."""
    _guard_refusal(tx)
    return Constant(saved_tensors_hooks_refusal())


@ROWS.call(getattr(_AUTOGRAD, "_saved_tensors_hooks_is_enabled"))  # noqa: B009  # unknown to typing
def is_enabled(tx: TraceContext) -> Tracker:
    """Whether hooks may be pushed; guarded."""
    _guard_refusal(tx)
    return Constant(saved_tensors_hooks_refusal() is None)


@ROWS.call(_AUTOGRAD._saved_tensors_hooks_disable)
def disable(tx: TraceContext, error_message: Tracker, fail_if_non_empty: Tracker | None = None) -> Tracker:
    """Let pushing hooks raise an error with this text; breaks the graph where the caller has pushed some, with which torch raises it
    at once."""
    options = [] if fail_if_non_empty is None else [fail_if_non_empty.realize()]
    known = [error_message.realize(), *options]
    if not all(one.is_python_constant() for one in known):
        raise GraphBreak(BACKEND_LIMIT, "disable_saved_tensors_hooks() with a text that is not known")
    text = known[0].as_python_constant()
    if not isinstance(text, str):
        raise GraphBreak(BACKEND_LIMIT, f"disable_saved_tensors_hooks({known[0].describe()})")
    if has_saved_tensors_hooks():
        raise GraphBreak(MODE_ACTIVE, "hooks of saved tensors, which the program turns off")
    tx.guards.add(Guard.relation(AmbientValue(has_saved_tensors_hooks, (), False), _REASON))
    return _turn(tx, text)


@ROWS.call(_AUTOGRAD._saved_tensors_hooks_enable)
def enable(tx: TraceContext) -> Tracker:
    """Let hooks be pushed."""
    return _turn(tx, None)


def _turn(tx: TraceContext, text: str | None) -> Tracker:
    tx.changes.ambient.touch(REFUSAL)
    _refuse(text)
    return Constant(None)
