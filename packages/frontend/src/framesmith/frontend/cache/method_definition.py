"""The class attribute that defines a compiled method: whether a call finds it, the guards on that, the call without it.

Where the trace of a method begins: `cache.trace_start`. Who makes compiled methods: `api`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import final

from framesmith.frontend.exits.ending import EntryEnding
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.guards.class_lookup import class_name, static_lookup
from framesmith.guards.kinds import ClassAttribute, CodeIs, HasInstanceAttribute, TypeIs
from framesmith.guards.sources import Local, Pinned
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

    def guard(self, tx: TraceContext, code: CodeType, asked: str) -> None:
        """Guard that a call still finds what was compiled, and that its function has this code."""
        # on the class that defines it: what a call finds there decides, whatever class inherits it
        tx.guard(
            Pinned(self.cls, class_name(self.cls)),
            ClassAttribute(self.name, static_lookup(self.cls, self.name)),
            asked,
        )
        tx.guard(Pinned(self.original, self.name), CodeIs(code), asked)
        if self.may_be_shadowed:
            # the first parameter, whatever the user calls it
            owner = Local(code.co_varnames[0])
            tx.guard(owner, TypeIs(self.cls), asked)
            tx.guard(owner, HasInstanceAttribute(self.name, False), asked)

    def write_call(self, writer: EntryWriter, owner: str, arguments: Sequence[str]) -> EntryEnding:
        """Call what a call of the method would find now; the owner is the first of the arguments."""
        if self.may_be_shadowed:  # its first argument is bound already
            return EntryEnding((f"return {owner}.{self.name}({', '.join(arguments[1:])})",))
        # looked up on the type, as CPython does for a special method
        kind = f"{writer.constant(type, 'type')}({owner})"
        return EntryEnding((f"return {kind}.{self.name}({', '.join(arguments)})",))
