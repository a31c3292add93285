"""`functools.partial` objects, existing ones and those created in the trace.

How arguments are bound is in `callables.argument_binding`.
"""

import functools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Final, final

from framesmith.guards import Source
from framesmith.guards.class_lookup import defines
from framesmith.guards.kinds import KeysAre, TypeIs
from framesmith.guards.sources import Attribute, Item
from framesmith.variables.builtin_types.dicts import make_dict_tracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core.base import Arguments, Keywords, PendingCall, TraceContext, Tracker, Writer
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import find_error_text
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.wrap_rules import lazy

ROWS: Final = Rows()

_NOT_CALLABLE: Final = find_error_text(functools.partial, None)


@final
class PartialTracker(Tracker):
    """`partial(function, *args, **keywords)`. `attributes` holds the attributes that the trace set on the object."""

    def __init__(
        self,
        function: Tracker,
        args: Sequence[Tracker],
        keywords: Mapping[str, Tracker],
        source: Source | None = None,
        value: "functools.partial[object] | None" = None,
    ) -> None:
        self.function = function
        self.args = tuple(args)
        self.keywords = dict(keywords)
        self.source = source
        self.value = value
        self.attributes: dict[str, Tracker] = {}

    @property
    def python_type(self) -> type:
        """`functools.partial`."""
        return functools.partial

    @property
    def has_attributes(self) -> bool:
        """Whether an attribute was set on the object, in the trace or before."""
        return bool(self.attributes) or bool(self.value is not None and vars(self.value))

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """Call the function with the stored arguments before the given ones; given keywords replace stored ones."""
        return self.function.realize().begin_call(tx, (*self.args, *args), {**self.keywords, **kwargs})

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """`func`, `args`, `keywords`, and attributes that were set on the object; others raise or break the graph."""
        if name == "func":
            return self.function.realize()
        if name == "args":
            return TupleTracker(self.args)
        if name == "keywords":
            return self._keywords(tx)
        if name in self.attributes:
            return self.attributes[name].realize()
        # read by the attribute's source, so that its presence is guarded by the load
        if self.value is not None and name in vars(self.value):
            assert self.source is not None
            return tx.wrap(vars(self.value)[name], Attribute(self.source, name))
        if name.startswith("__") and name not in ("__name__", "__qualname__", "__wrapped__"):
            return self.unsupported(f"reading attribute {name!r}")
        # its absence would need a guard
        if self.value is not None:
            return self.unsupported(f"reading attribute {name!r}, which it does not have,")
        return raise_observed(tx, AttributeError, f"'functools.partial' object has no attribute '{name}'")

    def _keywords(self, tx: TraceContext) -> Tracker:
        """The dictionary of keywords: the existing one, or a copy for an object created in the trace."""
        if self.value is not None and self.source is not None:
            return tx.wrap(self.value.keywords, Attribute(self.source, "keywords"))
        return make_dict_tracker([(Constant(name), value) for name, value in self.keywords.items()])

    def set_attribute(self, tx: TraceContext, name: str, value: Tracker) -> None:
        """Set any attribute but `func`, `args` and `keywords` on an
        object created in the trace; others break the graph."""
        if self.source is not None or name in ("func", "args", "keywords") or name.startswith("__set"):
            self.unsupported(f"storing attribute {name!r}")
        tx.changes.note(self)
        self.attributes[name] = value

    def hash_key(self, tx: TraceContext) -> Hashable:
        """It hashes by identity."""
        tx.changes.note_key(self)
        return ("object", self)

    def truth(self, tx: TraceContext) -> bool:
        """A partial object is true."""
        return True

    def children(self) -> Iterator[Tracker]:
        """Function, arguments and attributes."""
        yield self.function
        yield from (*self.args, *self.keywords.values(), *self.attributes.values())

    def reconstruct(self, writer: Writer) -> str:
        """`partial(function, *args, **keywords)`."""
        make = writer.constant(functools.partial, "partial")
        parts = [writer.value(self.function), *(writer.value(argument) for argument in self.args)]
        names = ", ".join(f"{name!r}: {writer.value(value)}" for name, value in self.keywords.items())
        text = f"{make}({', '.join(parts)}{f', **{{{names}}}' if names else ''})"
        name = writer.define(self, text, "partial")
        for key, value in self.attributes.items():
            writer.statement(f"{writer.constant(setattr, 'setattr')}({name}, {key!r}, {writer.value(value)})")
        return name


@ROWS.call(functools.partial)
def partial(tx: TraceContext, function: Tracker, /, *args: Tracker, **keywords: Tracker) -> Tracker:
    """`functools.partial(...)`; a partial of a partial without attributes is flattened, as in CPython."""
    # CPython flattens in the constructor: `partial(partial(f, 1), 2).func` is `f`
    if isinstance(function, PartialTracker) and not function.has_attributes:
        merged = {**function.keywords, **keywords}
        return PartialTracker(function.function, (*function.args, *args), merged)
    if not defines(function.realize().python_type, "__call__"):
        raise_observed(tx, TypeError, _NOT_CALLABLE)
    return PartialTracker(function, args, keywords)


@ROWS.wrap(functools.partial)
def wrap_partial(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing partial object; function, arguments and keywords are wrapped, the names of the keywords guarded."""
    assert isinstance(value, functools.partial)
    tx.guard(source, TypeIs(functools.partial))
    names = Attribute(source, "keywords")
    tx.guard(names, TypeIs(dict))
    # the names in their order: they become keyword arguments
    tx.guard(names, KeysAre(tuple(value.keywords)))
    args = tx.wrap(value.args, Attribute(source, "args"))
    assert isinstance(args, TupleTracker)
    keywords = {name: lazy(tx, item, Item(names, name)) for name, item in value.keywords.items()}
    return PartialTracker(
        lazy(tx, value.func, Attribute(source, "func")), args.items, keywords, source, value
    )
