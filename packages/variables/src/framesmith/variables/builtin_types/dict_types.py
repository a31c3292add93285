"""`dict`, `OrderedDict` and `defaultdict` as builtin types: wrapping, texts, the dict part of instances of subclasses.

The tracker is in `builtin_types.dicts`, rows of methods in `builtin_types.dict_methods`.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_VALUE
from framesmith.guards import Source
from framesmith.guards.class_lookup import overrides
from framesmith.guards.kinds import TypeIs
from framesmith.guards.sources import Attribute
from framesmith.variables.builtin_types.dicts import DictTracker, make_dict_tracker
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.builtin_type import BuiltinPart, BuiltinType, Join
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.folding import from_python
from framesmith.variables.core.remains import REMAINS
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.wrap_rules import lazy

ROWS: Final = Rows()


def wrap_dict_content(
    tx: TraceContext, value: dict[object, object], source: Source, cls: type
) -> DictTracker:
    """The dict part of an existing dict or of an instance of a subclass; its type must be guarded already."""
    factory = None
    if isinstance(value, defaultdict):
        factory = lazy(tx, value.default_factory, Attribute(source, "default_factory"))
    return DictTracker(source, cls, value, factory)


def build_dict(tx: TraceContext, value: object) -> DictTracker:
    """The tracker of a dict created in the trace, from known values."""
    assert isinstance(value, dict)
    return make_dict_tracker(
        [(from_python(tx, k), from_python(tx, v)) for k, v in value.items()], type(value)
    )


def wrap_dict(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing dict, of which nothing is read yet; the globals of a module break the graph."""
    assert isinstance(value, dict)
    # what is stored here is what functions read as their global variables, or as builtins and attributes of modules
    if "__builtins__" in value or "__spec__" in value:
        raise GraphBreak(UNSUPPORTED_VALUE, "the globals of a module as a dict")
    tx.guard(source, TypeIs(type(value)))
    return wrap_dict_content(tx, value, source, type(value))


@ROWS.entry(REMAINS, DictTracker)
def dict_remains(tracker: DictTracker) -> Iterable[object]:
    """The items under keys that the trace neither dropped nor stored; none once all were read."""
    # what a deferred store replaced is not known; what was read is reached through the trackers
    if tracker.value is None or tracker.is_complete or tracker.deferred_stores:
        return ()
    # the values under these keys are dropped by replay, their keys stay
    touched = [item.key for item in tracker.known_items.values() if item.original and item.changed]
    keys = [key.value for key in (*tracker.dropped.values(), *touched) if isinstance(key, Constant)]
    return [
        held for key, value in dict.items(tracker.value) if not _is_any(key, keys) for held in (key, value)
    ]


def _is_any(key: object, keys: list[object]) -> bool:
    # types first: comparing with a key of the user's class would run its code
    return any(type(one) is type(key) and one == key for one in keys)


def _pairs(tx: TraceContext, value: DictTracker, join: Join) -> str:
    return ", ".join([f"{join(tx, [key])}: {join(tx, [item])}" for key, item in value.items(tx)])


def dict_text(tx: TraceContext, value: Tracker, join: Join) -> str:
    """`{1: 2}`."""
    assert isinstance(value, DictTracker)
    return f"{{{_pairs(tx, value, join)}}}"


def ordered_text(tx: TraceContext, value: Tracker, join: Join) -> str:
    """`OrderedDict({1: 2})`; until Python 3.11 `OrderedDict([(1, 2)])`."""
    assert isinstance(value, DictTracker)
    if not value.items(tx):
        return "OrderedDict()"
    if repr(OrderedDict(a=1)) == "OrderedDict({'a': 1})":  # since 3.12
        return f"OrderedDict({{{_pairs(tx, value, join)}}})"
    pairs = [f"({join(tx, [key])}, {join(tx, [item])})" for key, item in value.items(tx)]
    return f"OrderedDict([{', '.join(pairs)}])"


def default_text(tx: TraceContext, value: Tracker, join: Join) -> str:
    """`defaultdict(<class 'list'>, {1: 2})`."""
    assert isinstance(value, DictTracker)
    factory = join(tx, [value.factory or Constant(None)])
    return f"defaultdict({factory}, {{{_pairs(tx, value, join)}}})"


def copy_to_real_dict(value: object) -> dict[object, object]:
    """The items of an instance of a dict subclass, read without overrides of the subclass."""
    assert isinstance(value, dict)
    if not overrides(type(value), dict, "__iter__"):
        # with the hashes that it knows: no code of the keys runs
        return dict.copy(value)
    # this one would call `keys` and `__getitem__` where the subclass has an `__iter__` of its own
    return {key: dict.__getitem__(value, key) for key in dict.__iter__(value)}


def copy_to_real_ordered(value: object) -> OrderedDict[object, object]:
    """As `copy_to_real_dict`, in the order of the OrderedDict."""
    assert isinstance(value, OrderedDict)
    return OrderedDict((key, dict.__getitem__(value, key)) for key in OrderedDict.__iter__(value))


def wrap_dict_part(tx: TraceContext, value: object, source: Source, cls: type) -> Tracker:
    """The dict part of an existing instance of a subclass."""
    assert isinstance(value, dict)
    return DictTracker(source, cls, value)


def wrap_default_part(tx: TraceContext, value: object, source: Source, cls: type) -> Tracker:
    """The dict part of an existing instance of a subclass of defaultdict, with its factory."""
    assert isinstance(value, dict)
    # a `default_factory` of the subclass hides the member that C code reads
    if not isinstance(value, defaultdict) or overrides(cls, defaultdict, "default_factory"):
        return DictTracker(source, cls, value).unsupported("an override of what a defaultdict does")
    factory = lazy(tx, value.default_factory, Attribute(source, "default_factory"))
    return DictTracker(source, cls, value, factory)


def fill_ordered(target: OrderedDict[object, object], items: Mapping[object, object]) -> None:
    """Fill an OrderedDict without calling an override of a subclass."""
    for key, value in items.items():
        OrderedDict.__setitem__(target, key, value)


def fill_default(target: defaultdict[object, object], plain: defaultdict[object, object]) -> None:
    """Copy factory and items of `plain`, without calling an override of a subclass."""
    defaultdict.__init__(target, plain.default_factory, plain)


_SAMPLE: Final = dict[object, object]()
_ITERATORS: Final[tuple[type, ...]] = (
    *(type(iter(_SAMPLE)), type(iter(_SAMPLE.values())), type(iter(_SAMPLE.items()))),
    *(type(reversed(_SAMPLE)), type(reversed(_SAMPLE.values())), type(reversed(_SAMPLE.items()))),
)
ROWS.builtin_type(
    BuiltinType(
        dict,
        (DictTracker,),
        wrap=wrap_dict,
        build=build_dict,
        text=dict_text,
        iterators=_ITERATORS,
        part=BuiltinPart(copy_to_real_dict, wrap_dict_part, lambda: make_dict_tracker([]), dict.update),
        holds_items=True,
        is_mutable=True,
    ),
    BuiltinType(
        OrderedDict,
        (DictTracker,),
        wrap=wrap_dict,
        build=build_dict,
        text=ordered_text,
        iterators=(type(iter(OrderedDict())),),
        part=BuiltinPart(
            copy_to_real_ordered, wrap_dict_part, lambda: make_dict_tracker([], OrderedDict), fill_ordered
        ),
        holds_items=True,
        is_mutable=True,
    ),
    BuiltinType(
        defaultdict,
        (DictTracker,),
        wrap=wrap_dict,
        text=default_text,
        part=BuiltinPart(
            copy_to_real_dict, wrap_default_part, lambda: make_dict_tracker([], defaultdict), fill_default
        ),
        holds_items=True,
        is_mutable=True,
    ),
)
