"""`torch._VF`: a module object whose `__getattr__` returns torch's C functions."""

from typing import Final, final

import torch

from framesmith.guards import Source
from framesmith.guards.kinds import Identical
from framesmith.guards.sources import Attribute
from framesmith.variables.core import TraceContext, Tracker, Writer
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()


@final
class FunctionModule(Tracker):
    """`torch._VF`. Invariant: guarded by identity."""

    def __init__(self, value: object, source: Source) -> None:
        self.value = value
        self.source = source

    @property
    def python_type(self) -> type:
        """torch's subclass of `types.ModuleType`."""
        return type(self.value)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """A function of the module, which usually has a row; anything that is not callable breaks the graph."""
        # Its `__getattr__` is torch's own and reads from a C module, so it may run while tracing.
        found = getattr(self.value, name, None)
        if not callable(found):
            return self.unsupported(f"reading attribute {name!r}")
        assert self.source is not None
        return tx.wrap(found, Attribute(self.source, name))

    def truth(self, tx: TraceContext) -> bool:
        """A module is true."""
        return True

    def reconstruct(self, writer: Writer) -> str:
        """The module itself, as a constant of the entry."""
        return writer.constant(self.value, "module")


# Before the rule for modules (70): the globals of `torch._VF` do not have the functions.
@ROWS.wrap_when(65, lambda _, cls: cls is type(torch._VF), lambda _, value: value is torch._VF)
def wrap_function_module(tx: TraceContext, value: object, source: Source) -> Tracker:
    """`torch._VF`, guarded by identity."""
    tx.guard(source, Identical(value))
    return FunctionModule(value, source)
