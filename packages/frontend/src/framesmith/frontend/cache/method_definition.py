"""The class attribute that defines a compiled method: whether a call finds it, the guards on that, the call without it.

Where the trace of a method begins: `cache.trace_start`. Who makes compiled methods: `api`.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import final

from framesmith.frontend.exits.ending import EntryEnding
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.guards import Source
from framesmith.guards.class_lookup import class_name, static_lookup
from framesmith.guards.kinds import ClassAttribute, CodeIs, HasInstanceAttribute, TypeIs
from framesmith.guards.sources import Item, Local, Pinned
from framesmith.variables.callables.compiled import is_compiled, original_of
from framesmith.variables.core import TraceContext
from framesmith.variables.nn.nn_modules import module_namespace


@final
@dataclass(frozen=True, slots=True)
class MethodDefinition:
    """The class attribute that defines a compiled method, such as `__call__`. What is compiled is a copy of its function; if that is
    itself a compiled form, a copy of its original.

    `may_be_shadowed`: an attribute of the same name on the instance is found first, as with `module._call_impl`.
    """

    cls: type
    name: str
    original: FunctionType
    may_be_shadowed: bool = False

    def is_found_by(self, owner: object) -> bool:
        """Whether a call finds what was compiled."""
        if self.may_be_shadowed and self.name in module_namespace(owner):
            return False
        found = static_lookup(type(owner), self.name)
        if found is self.original:
            return True
        # A class that was compiled has a compiled copy of the same code there.
        return (
            isinstance(found, FunctionType)
            and is_compiled(found)
            and original_of(found).__code__ is self.original.__code__
        )

    def guard(self, tx: TraceContext, code: CodeType, owner: object, asked: str) -> None:
        """Guard that a call on this owner still finds what was compiled, and that its function has this code."""
        # The class that the owner has now: `__class__` may have been replaced. What a call finds there decides, whatever
        # class it inherits that from.
        kind, source = type(owner), owner_source(code)
        found = ClassAttribute(self.name, static_lookup(kind, self.name))
        tx.guard(Pinned(kind, class_name(kind)), found, asked)
        tx.guard(Pinned(self.original, self.name), CodeIs(code), asked)
        if source.base is not None:
            tx.guard(source.base, TypeIs(tuple), asked)  # first, as for each value that is read from another
        tx.guard(source, TypeIs(kind), asked)
        if self.may_be_shadowed:
            tx.guard(source, HasInstanceAttribute(self.name, False), asked)

    def write_call(self, writer: EntryWriter, owner: str, arguments: Sequence[str]) -> EntryEnding:
        """Call what a call of the method would find now; the owner is the first of the arguments."""
        if self.may_be_shadowed:  # its first argument is bound already
            return EntryEnding((f"return {owner}.{self.name}({', '.join(arguments[1:])})",))
        # looked up on the type, as CPython does for a special method
        kind = f"{writer.constant(type, 'type')}({owner})"
        return EntryEnding((f"return {kind}.{self.name}({', '.join(arguments)})",))


def owner_source(code: CodeType) -> Source:
    """Where a method of this code has its owner: the first parameter, whatever the user calls it, or the first of `*args`."""
    if code.co_argcount:
        return Local(code.co_varnames[0])
    return Item(Local(code.co_varnames[code.co_kwonlyargcount]), 0)


def owner_of(code: CodeType, values: Sequence[object]) -> object:
    """The owner in a call with these values of the parameters, in the order of `co_varnames`; None where none was passed."""
    if code.co_argcount or not values:
        return values[0] if values else None
    rest = values[code.co_kwonlyargcount] if code.co_flags & inspect.CO_VARARGS else ()
    return rest[0] if isinstance(rest, tuple) and rest else None
