"""`set` and `frozenset` as builtin types: wrapping, texts, the set part of instances of subclasses."""

from collections.abc import Iterable
from typing import Final

from framesmith.guards import Source
from framesmith.guards.class_lookup import class_name
from framesmith.guards.kinds import TypeIs
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.sets import SetTracker, build_set, wrap_set_content
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.builtin_type import BuiltinPart, BuiltinType, Join
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.folding import from_python
from framesmith.variables.core.remains import REMAINS
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()


def wrap_set(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing set, of which nothing is read yet."""
    assert isinstance(value, set | frozenset)
    tx.guard(source, TypeIs(type(value)))
    return wrap_set_content(tx, value, source, type(value))


@ROWS.entry(REMAINS, SetTracker)
def set_remains(tracker: SetTracker) -> Iterable[object]:
    """The members, if the trace only added some and did not read them."""
    # a removal or an operator may have taken members out
    adds_only = all(change.method == "add" for change in tracker.log)
    return () if tracker.is_complete or not adds_only else (tracker.value or ())


def set_text(tx: TraceContext, value: Tracker, join: Join) -> str:
    """`{1, 2}`, `frozenset({1, 2})` or `set()`."""
    assert isinstance(value, SetTracker)
    name = class_name(value.cls)
    if not value.read_all(tx):
        return f"{name}()"
    display = f"{{{join(tx, value.members_in_order(tx))}}}"
    return display if value.cls is set else f"{name}({display})"


def copy_to_real_set(value: object) -> set[object]:
    """The members of an instance of a set subclass, read without overrides of the subclass."""
    assert isinstance(value, set)
    # CPython copies a set, of a subclass too, with the hashes that it knows: no code of the members runs
    return set(value)


def copy_to_real_frozenset(value: object) -> frozenset[object]:
    """As `copy_to_real_set`."""
    assert isinstance(value, frozenset)
    return frozenset(value)


def reduce_set(tx: TraceContext, value: Tracker) -> Tracker:
    """`set.__reduce__`: the type, the items in a list, and no state."""
    kind = from_python(tx, value.python_type)
    return TupleTracker([kind, TupleTracker([ListTracker(unpack(tx, value))]), Constant(None)])


def wrap_set_part(tx: TraceContext, value: object, source: Source, cls: type) -> Tracker:
    """The set part of an existing instance of a subclass."""
    assert isinstance(value, set)
    return wrap_set_content(tx, value, source, cls)


def make_set_part() -> Tracker:
    """The set part of a new instance of a subclass."""
    made = SetTracker()
    made.is_part = True
    return made


ROWS.builtin_type(
    BuiltinType(
        set,
        (SetTracker,),
        wrap=wrap_set,
        build=build_set,
        text=set_text,
        iterators=(type(iter(set())),),
        part=BuiltinPart(copy_to_real_set, wrap_set_part, make_set_part, set.update),
        reduce=reduce_set,
        holds_items=True,
        is_mutable=True,
    ),
    BuiltinType(
        frozenset,
        (SetTracker, Constant),
        wrap=wrap_set,
        build=build_set,
        text=set_text,
        part=BuiltinPart(copy_to_real_frozenset),
        reduce=reduce_set,
        holds_items=True,
    ),
)
