"""`torch.inference_mode`: the block in C that its Python code begins and ends.

The block really begins while tracing, so that fakes are what tensors would be, and both ends are nodes of the graph
(`graph.inference_blocks`). For a block that is open where the trace ends the entry begins one after the graph. Dropping an open block
ends it too: there the graph breaks (`tracing.finalizers`).
"""

from collections.abc import Callable, Iterator
from typing import Final, final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT, CONTEXT_MANAGER
from framesmith.graph.environment.inference_blocks import enter_inference_mode, leave_inference_mode
from framesmith.graph.operations.purity import IMPURE
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.core import (
    Arguments,
    Constant,
    Keywords,
    PendingCall,
    Setting,
    TraceContext,
    Tracker,
    Writer,
)
from framesmith.variables.core.reach import reachable
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import record_node

ROWS: Final = Rows()


def _set_grad(value: object) -> None:
    assert isinstance(value, bool)
    torch._C._set_grad_enabled(value)


# what a block turns
_TURNED: Final = (
    # No setter in Python: only blocks change it, and they put it back.
    Setting("is_inference_mode_enabled", torch.is_inference_mode_enabled, None),
    Setting("is_grad_enabled", torch.is_grad_enabled, _set_grad),
)


@final
class InferenceMode(Tracker):
    """A new `torch._C._InferenceMode(mode)`, which has begun a block. `grad`: whether gradients were on in front of it."""

    def __init__(self, mode: bool, grad: bool) -> None:
        self.mode = mode
        self.grad = grad
        self.is_open = True

    @property
    def python_type(self) -> type:
        """The class of the block."""
        return torch._C._InferenceMode

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """The bound `__enter__` and `__exit__`; others break the graph."""
        if name not in ("__enter__", "__exit__"):
            return self.unsupported(f"reading attribute {name!r}")
        return BlockMethod(self, name)

    def truth(self, tx: TraceContext) -> bool:
        """True, as any object."""
        return True

    def reconstruct(self, writer: Writer) -> str:
        """A new one; making it begins the block."""
        name = writer.define(
            self, f"{writer.constant(torch._C._InferenceMode, 'mode')}({self.mode})", "block"
        )
        # Making it begins a block, which is ended at once, as the program has ended it.
        if not self.is_open:
            writer.statement(f"{name}.__exit__(None, None, None)")
        return name

    def replay(self, writer: Writer) -> None:
        """Begin the open block as the trace has, so that it puts back the same."""
        # The block remembers the grad mode that it finds, and puts that back when it ends.
        writer.statement(f"{writer.constant(torch._C._set_grad_enabled, 'set_grad')}({self.grad})")
        writer.value(self)


@final
class BlockMethod(Tracker):
    """The bound `__enter__` or `__exit__`."""

    def __init__(self, owner: InferenceMode, name: str) -> None:
        self.owner = owner
        self.name = name

    @property
    def python_type(self) -> type:
        """A bound method."""
        return type([].append)

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker:
        """`__enter__` does nothing; `__exit__` ends the block, once. Breaks the graph where it is not the innermost one."""
        owner, blocks = self.owner, tx.changes.ambient.open_blocks
        # A second `__exit__` does nothing in eager either.
        if self.name == "__exit__" and owner.is_open:
            # Each block puts back what it found, so another order leaves other settings.
            if blocks[-1] is not owner:
                raise GraphBreak(CONTEXT_MANAGER, "torch.inference_mode() blocks that are not left in order")
            # Before the switch: whoever is told of a change looks at the state as it was.
            tx.changes.note(owner)
            _switch(tx, leave_inference_mode)
            blocks.pop()
            owner.is_open = False
        return Constant(None)

    def children(self) -> Iterator[Tracker]:
        """The block."""
        yield self.owner

    def reconstruct(self, writer: Writer) -> str:
        """The bound method, read from the block."""
        return f"{writer.value(self.owner)}.{self.name}"


def _switch(tx: TraceContext, switch: Callable[..., None], *args: Tracker) -> None:
    # `touch` keeps what they are now, so that the end of the trace can put it back.
    for setting in _TURNED:
        tx.changes.ambient.touch(setting)
    # As for the setters of `modes`.
    record_node(tx, switch, args).meta[IMPURE] = True


@ROWS.call(torch._C._InferenceMode)
def inference_mode(tx: TraceContext, mode: Tracker, /) -> Tracker:
    """`torch._C._InferenceMode(mode)`; breaks the graph for a mode that is not known to be a bool."""
    mode = mode.realize()
    if not isinstance(mode, Constant) or type(mode.value) is not bool:
        raise GraphBreak(BACKEND_LIMIT, f"torch.inference_mode() with {mode.describe()}")
    # Read before the switch turns it.
    block = InferenceMode(mode.value, torch.is_grad_enabled())
    tx.changes.note(block)
    _switch(tx, enter_inference_mode, mode)
    tx.changes.ambient.open_blocks.append(block)
    return block


_ENTER: Final = polyfill_function(torch.inference_mode.__enter__)


@ROWS.call(torch.inference_mode.__enter__)
def enter(tx: TraceContext, manager: Tracker, /) -> Tracker | PendingCall:
    """`torch.inference_mode.__enter__`; breaks the graph for a manager that is entered twice: the first block ends then."""
    # The manager keeps its block in an attribute, which a second `__enter__` replaces.
    held = reachable([manager])
    if any(id(block) in held for block in tx.changes.ambient.open_blocks):
        raise GraphBreak(CONTEXT_MANAGER, "one torch.inference_mode() that is entered twice")
    return _ENTER.bind(tx, (manager,), {})
