"""`functools.partial` objects, existing ones and those created in the trace.

How arguments are bound is in `callables.argument_binding`.
"""

import functools
from collections.abc import Hashable, Iterator
from typing import Final, cast, final

from framesmith.guards import Source
from framesmith.guards.class_lookup import defines
from framesmith.guards.kinds import EqualTo, TypeIs
from framesmith.guards.sources import Attribute, CallResult
from framesmith.variables.builtin_types.dicts import DictTracker, make_dict_tracker
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core.base import Arguments, Keywords, PendingCall, TraceContext, Tracker, Writer
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import find_error_text
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.wrap_rules import lazy

ROWS: Final = Rows()

_NOT_CALLABLE: Final = find_error_text(functools.partial, None)
_PLACEHOLDER: Final = getattr(functools, "Placeholder", None)
"""What stands for an argument that a call gives; None before Python 3.14."""


def _refuse_placeholders(args: Arguments) -> None:
    """Break the graph where one of the arguments is a placeholder."""
    for argument in args if _PLACEHOLDER is not None else ():
        if argument.python_type is type(_PLACEHOLDER):
            argument.unsupported("use as an argument of a partial")


def _is_flattened(value: object) -> bool:
    """Whether a partial of this one takes its function and arguments: one that never had an attribute. CPython is
    asked, since to read its `__dict__` makes one, after which it is not flattened any more."""
    assert isinstance(value, functools.partial)
    return functools.partial(value).func is not value


def _own_attributes(value: "functools.partial[object]") -> dict[str, object]:
    """The attributes that were set on an existing object, read without making its `__dict__`."""
    reduced = cast(
        "tuple[object, object, tuple[object, object, object, dict[str, object] | None]]", value.__reduce__()
    )
    return reduced[2][3] or {}


@final
class PartialTracker(Tracker):
    """`partial(function, *args, **keywords)`. `attributes` holds the attributes that the trace set on the object,
    `is_shown` whether the program has read `args` or `keywords` of one that the trace created."""

    def __init__(
        self,
        function: Tracker,
        args: Tracker,
        keywords: Tracker,
        source: Source | None = None,
        value: "functools.partial[object] | None" = None,
    ) -> None:
        self.function = function
        self.args = args
        self.keywords = keywords
        self.source = source
        self.value = value
        self.attributes: dict[str, Tracker] = {}
        self.is_shown = False

    @property
    def python_type(self) -> type:
        """`functools.partial`."""
        return functools.partial

    def is_flattened(self, tx: TraceContext) -> bool:
        """Whether a partial of this one takes its function and arguments: no attribute was ever set on it; guarded."""
        if self.value is None:
            return not self.attributes
        assert self.source is not None
        answer = _is_flattened(self.value)
        tx.guard(CallResult(self.source, _is_flattened), EqualTo(answer))
        return answer

    def stored_keywords(self, tx: TraceContext) -> dict[str, Tracker]:
        """The stored keywords as they are now: the program may change the dictionary that holds them."""
        holder = self.keywords.realize()
        assert isinstance(holder, DictTracker)
        found = dict[str, Tracker]()
        for key, value in holder.items(tx):
            if not isinstance(key, Constant) or not isinstance(key.value, str):
                return key.unsupported("use as the name of an argument")
            found[key.value] = value
        return found

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """Call the function with the stored arguments before the given ones; given keywords replace stored ones."""
        stored = unpack(tx, self.args)
        _refuse_placeholders(stored)
        keywords = {**self.stored_keywords(tx), **kwargs}
        return self.function.realize().begin_call(tx, (*stored, *args), keywords)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """`func`, `args`, `keywords`, and attributes that were set on the object; others raise or break the graph."""
        if name == "func":
            return self.function.realize()
        if name in ("args", "keywords"):
            self.is_shown = True
            return (self.args if name == "args" else self.keywords).realize()
        if name in self.attributes:
            return self.attributes[name].realize()
        # read by the attribute's source, so that its presence is guarded by the load
        if self.value is not None and name in (held := _own_attributes(self.value)):
            assert self.source is not None
            return tx.wrap(held[name], Attribute(self.source, name))
        if name.startswith("__") and name not in ("__name__", "__qualname__", "__wrapped__"):
            return self.unsupported(f"reading attribute {name!r}")
        # its absence would need a guard
        if self.value is not None:
            return self.unsupported(f"reading attribute {name!r}, which it does not have,")
        return raise_observed(tx, AttributeError, f"'functools.partial' object has no attribute '{name}'")

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
        yield from (self.function, self.args, self.keywords, *self.attributes.values())

    def reconstruct(self, writer: Writer) -> str:
        """`partial(function, *args, **keywords)`; with its very tuple and dictionary where the program has read them."""
        make = writer.constant(functools.partial, "partial")
        assert isinstance(self.args, TupleTracker) and isinstance(self.keywords, DictTracker)
        if self.is_shown:
            name = writer.define(self, f"{make}({make})", "partial")
            state = ", ".join(writer.value(part) for part in (self.function, self.args, self.keywords))
            writer.statement(f"{name}.__setstate__(({state}, None))")
        else:
            parts = [writer.value(self.function), *(writer.value(argument) for argument in self.args.items)]
            pairs = [f"{writer.value(key)}: {writer.value(value)}" for key, value in self.keywords.items()]
            if pairs:
                parts.append(f"**{{{', '.join(pairs)}}}")
            name = writer.define(self, f"{make}({', '.join(parts)})", "partial")
        for key, value in self.attributes.items():
            writer.statement(f"{writer.constant(setattr, 'setattr')}({name}, {key!r}, {writer.value(value)})")
        return name


@ROWS.call(functools.partial)
def partial(tx: TraceContext, function: Tracker, /, *args: Tracker, **keywords: Tracker) -> Tracker:
    """`functools.partial(...)`; a partial of a partial that never had attributes is flattened, as in CPython."""
    function = function.realize()
    _refuse_placeholders((*args, *keywords.values()))
    # CPython flattens in the constructor: `partial(partial(f, 1), 2).func` is `f`
    if isinstance(function, PartialTracker):
        if function.is_flattened(tx):
            stored = unpack(tx, function.args)
            _refuse_placeholders(stored)
            stored += args
            return _new_partial(function.function, stored, {**function.stored_keywords(tx), **keywords})
    elif issubclass(function.python_type, functools.partial):
        return function.unsupported(
            "a partial of it"
        )  # it is flattened too, unless its class is called otherwise
    if not defines(function.python_type, "__call__"):
        raise_observed(tx, TypeError, _NOT_CALLABLE)
    return _new_partial(function, args, keywords)


def _new_partial(function: Tracker, args: Arguments, keywords: Keywords) -> PartialTracker:
    named = make_dict_tracker([(Constant(name), value) for name, value in keywords.items()])
    return PartialTracker(function, TupleTracker(args), named)


@ROWS.wrap(functools.partial)
def wrap_partial(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing partial object; function, arguments and keywords are wrapped when they are needed."""
    assert isinstance(value, functools.partial)
    tx.guard(source, TypeIs(functools.partial))
    function = lazy(tx, value.func, Attribute(source, "func"))
    args = lazy(tx, value.args, Attribute(source, "args"))
    keywords = lazy(tx, value.keywords, Attribute(source, "keywords"))
    return PartialTracker(function, args, keywords, source, value)
