"""`operator.itemgetter`, `attrgetter` and `methodcaller`: callable objects.

The functions of `operator` are in `callables.operator_rows`.
"""

import operator
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Final, final

from framesmith.guards import Source
from framesmith.guards.class_lookup import class_name
from framesmith.guards.kinds import LengthIs, TypeIs
from framesmith.guards.sources import CallResult, Item
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.type_texts import text_of
from framesmith.variables.core.base import Arguments, Keywords, TraceContext, Tracker, Writer
from framesmith.variables.core.builtin_methods import builtin_attribute
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.wrap_rules import lazy

ROWS: Final = Rows()


@final
class OperatorObject(Tracker):
    """`cls(*operands, **named)`, with `cls` one of the three classes."""

    def __init__(
        self,
        cls: type,
        operands: Sequence[Tracker],
        named: Mapping[str, Tracker] | None = None,
        source: Source | None = None,
    ) -> None:
        self.cls = cls
        self.operands = tuple(operands)
        self.named = dict(named or {})
        self.source = source

    @property
    def python_type(self) -> type:
        """`itemgetter`, `attrgetter` or `methodcaller`."""
        return self.cls

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker:
        """Items or attributes of the argument, or a call of its method; other numbers of arguments break the graph."""
        if len(args) != 1 or kwargs:
            return self.unsupported("a call with these arguments")
        target = args[0].realize()
        # the method is looked up by name for each call, as in C
        if self.cls is operator.methodcaller:
            method = target.attribute(tx, text_of(tx, self.operands[0]))
            return method.call(tx, self.operands[1:], self.named)
        found = [self._get(tx, target, operand) for operand in self.operands]
        return found[0] if len(found) == 1 else TupleTracker(found)

    def _get(self, tx: TraceContext, target: Tracker, operand: Tracker) -> Tracker:
        if self.cls is operator.itemgetter:
            return target.subscript(tx, operand.realize())
        # dots lead on: `attrgetter("a.b")`
        for name in text_of(tx, operand).split("."):
            target = target.attribute(tx, name).realize()
        return target

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Attributes of the class."""
        return builtin_attribute(tx, self, name)

    def truth(self, tx: TraceContext) -> bool:
        """Such an object is true."""
        return True

    def hash_key(self, tx: TraceContext) -> Hashable:
        """It hashes by identity."""
        tx.changes.note_key(self)
        return ("object", self)

    def children(self) -> Iterator[Tracker]:
        """The operands."""
        return iter((*self.operands, *self.named.values()))

    def reconstruct(self, writer: Writer) -> str:
        """A call of the class."""
        parts = [writer.value(operand) for operand in self.operands]
        # a dictionary, since a name may be any text
        pairs = ", ".join(f"{name!r}: {writer.value(value)}" for name, value in self.named.items())
        parts += [f"**{{{pairs}}}"] if pairs else []
        return f"{writer.constant(self.cls, class_name(self.cls))}({', '.join(parts)})"


def operands_of(value: object) -> object:
    """The arguments that an existing object was created with, read from its `__reduce__`."""
    assert isinstance(value, operator.itemgetter | operator.attrgetter | operator.methodcaller)
    # the objects show their arguments in no other way
    reduced = value.__reduce__()
    assert isinstance(reduced, tuple)
    return reduced[1]


@ROWS.wrap(operator.itemgetter, operator.attrgetter, operator.methodcaller)
def wrap_operator_object(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing object; the arguments it was created with are
    wrapped. A `methodcaller` with keywords breaks the graph."""
    tx.guard(source, TypeIs(type(value)))
    operands = operands_of(value)
    place = CallResult(source, operands_of)
    # with keywords it reduces to a `partial` of the class
    if not isinstance(operands, tuple) or getattr(value, "__reduce__")()[0] is not type(value):  # noqa: B009
        return Constant(None).unsupported("a methodcaller with keywords from outside")
    # items are read from the tuple that each load makes anew
    tx.guard(place, LengthIs(len(operands)))
    members = [lazy(tx, operand, Item(place, index)) for index, operand in enumerate(operands)]
    return OperatorObject(type(value), members, None, source)


@ROWS.call(operator.itemgetter)
def call_itemgetter(tx: TraceContext, item: Tracker, /, *items: Tracker) -> Tracker:
    """`itemgetter(*items)`."""
    return OperatorObject(operator.itemgetter, (item, *items))


@ROWS.call(operator.attrgetter)
def call_attrgetter(tx: TraceContext, attr: Tracker, /, *attrs: Tracker) -> Tracker:
    """`attrgetter(*names)`."""
    for name in (attr, *attrs):
        if not issubclass(name.python_type, str):
            raise_observed(tx, TypeError, "attribute name must be a string")
    return OperatorObject(operator.attrgetter, (attr, *attrs))


@ROWS.call(operator.methodcaller)
def call_methodcaller(tx: TraceContext, name: Tracker, /, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`methodcaller(name, *args, **kwargs)`."""
    if not issubclass(name.python_type, str):
        raise_observed(tx, TypeError, "method name must be a string")
    return OperatorObject(operator.methodcaller, (name, *args), kwargs)
