"""`dict.keys()`, `values()`, `items()` and `MappingProxyType`: live views of a dict.

The dict itself is in `builtin_types.dicts`.
"""

import gc
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from types import MappingProxyType
from typing import Final, final

from framesmith.guards import Source
from framesmith.guards.kinds import TypeIs
from framesmith.guards.sources import CallResult
from framesmith.variables.builtin_types.dict_items import DictItem
from framesmith.variables.builtin_types.dict_iterators import DictIterator
from framesmith.variables.builtin_types.dicts import DictTracker
from framesmith.variables.builtin_types.iterators import take_items
from framesmith.variables.builtin_types.sequences import raise_unhashable
from framesmith.variables.builtin_types.set_methods import make_set, operand
from framesmith.variables.builtin_types.sets import SetTracker, find_set_part, make_set_tracker
from framesmith.variables.builtin_types.tuples import TupleTracker, find_tuple_part
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.builtin_methods import builtin_attribute
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.rows import Rows
from framesmith.variables.operations.compare import FUNCTIONS
from framesmith.variables.operations.index import known_equal
from framesmith.variables.operations.truth import known_truth

ROWS: Final = Rows()

PICK: Final[dict[str, Callable[[DictItem], Tracker]]] = {
    "keys": lambda item: item.key,
    "values": lambda item: item.value,
    "items": lambda item: TupleTracker([item.key, item.value]),
}
_SAMPLES: Final[tuple[dict[str, object], ...]] = ({}, OrderedDict())
VIEW_TYPES: Final[dict[tuple[bool, str], type]] = {
    (isinstance(sample, OrderedDict), name): type(getattr(sample, name)())
    for sample in _SAMPLES
    for name in PICK
}


@final
class ViewTracker(Tracker):
    """A view of a dict. `name` is the method that makes it: keys, values or items."""

    def __init__(self, owner: DictTracker, name: str, source: Source | None = None) -> None:
        self.owner = owner
        self.name = name
        self.source = source

    @property
    def python_type(self) -> type:
        """The type of CPython: `dict_keys`, `odict_values` ..."""
        return VIEW_TYPES[issubclass(self.owner.cls, OrderedDict), self.name]

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Methods of the view type, and `mapping`: a read-only proxy of the dict."""
        # a new proxy for each access, as in CPython
        if name == "mapping":
            return ProxyTracker(self.owner)
        return builtin_attribute(tx, self, name)

    def iterate(self, tx: TraceContext) -> Tracker:
        """`iter(self)`."""
        return self.iterator(tx, backwards=False)

    def iterator(self, tx: TraceContext, backwards: bool) -> Tracker:
        self.owner.read_all(tx)
        # the type of an iterator is asked from a dict of the same kind
        sample: OrderedDict[str, object] | dict[str, object]
        sample = OrderedDict() if issubclass(self.owner.cls, OrderedDict) else {}
        view = getattr(sample, self.name)()
        cls = type(reversed(view) if backwards else iter(view))
        text = f"{'{reversed}' if backwards else '{iter}'}({{0}}.{self.name}())"
        return DictIterator(self.owner, self.owner.state, PICK[self.name], cls, text, backwards)

    def trackers(self, tx: TraceContext) -> list[Tracker]:
        """The keys, values or pairs, in order; guards the keys of an existing dict."""
        return [PICK[self.name](item) for item in self.owner.read_all(tx).values()]

    def length(self, tx: TraceContext) -> Tracker:
        """`len(self)`."""
        return self.owner.length(tx)

    def truth(self, tx: TraceContext) -> bool:
        """`bool(self)`: whether the dict has items."""
        return self.owner.truth(tx)

    def contains(self, tx: TraceContext, item: Tracker) -> Tracker:
        """`item in self`: a key by look-up, a pair by look-up and equality, a value by search."""
        if self.name == "keys":
            return self.owner.contains(tx, item)
        if self.name == "values":
            return Constant(any(known_equal(tx, value, item) for value in self.trackers(tx)))
        # C code takes the items of a tuple, or of a subclass, as they are stored
        pair = find_tuple_part(tx, item)
        if pair is None or len(pair.items) != 2:
            return Constant(False)
        found = self.owner.get_item(tx, pair.items[0])
        return Constant(found is not None and known_equal(tx, found, pair.items[1]))

    def copy_to_set(self, tx: TraceContext) -> SetTracker:
        """The set that CPython's `dictviews_to_set` makes: from the dict
        itself for the keys of a plain dict, else from the items."""
        is_plain = self.name == "keys" and self.owner.python_type is dict
        return make_set(tx, self.owner, set) if is_plain else make_set_tracker(tx, self.trackers(tx))

    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`& | - ^` with any iterable (CPython `dictviews_*`): a new set."""
        if self.name == "values" or symbol not in ("&", "|", "-", "^"):
            return None
        if symbol != "&":
            result = self.copy_to_set(tx)
            result.update(tx, symbol, operand(tx, other))
            return result
        return self._intersect(tx, other)

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`iterable <symbol> self`: a new set."""
        if self.name == "values" or symbol not in ("&", "|", "-", "^"):
            return None
        if symbol == "&":
            return self._intersect(tx, other)
        result = make_set(tx, other, set)
        result.update(tx, symbol, operand(tx, self))
        return result

    def _intersect(self, tx: TraceContext, other: Tracker) -> Tracker:
        exact = find_set_part(tx, other)
        size = self.owner.size(tx)
        # as `_PyDictView_Intersect`: the order of the result depends on which operand is gone through
        if exact is not None and exact.cls is set and size <= len(exact.read_all(tx)):
            return exact.combine(tx, lambda mine, names: mine.intersection(names), operand(tx, self))
        view: ViewTracker = self
        # the smaller view is gone through, the larger one is searched
        if isinstance(other, ViewTracker) and other.name != "values" and other.owner.size(tx) > size:
            view, other = other, self
        found = [item for item in take_items(tx, other) if known_truth(tx, view.contains(tx, item))]
        return make_set_tracker(tx, found)

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Subset relations with sets and with views of keys or items; None (NotImplemented) otherwise."""
        is_view = isinstance(other, ViewTracker) and other.name != "values"
        if self.name == "values" or not (is_view or find_set_part(tx, other) is not None):
            return None
        if self.name == "items":
            return self._compare_items(tx, symbol, other)
        theirs = set(operand(tx, other).keys)
        return Constant(bool(FUNCTIONS[symbol](self.copy_to_set(tx).content, theirs)))

    def _compare_items(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Values need not be hashable, so equality tests `item in
        other`, as CPython's `all_contained_in`; `<` and others break."""
        # a subset test hashes the pairs first, with errors for values that have no hash
        if symbol not in ("==", "!="):
            return self.unsupported(f"comparing with {symbol}")
        mine, theirs = self.owner.size(tx), other.length(tx).as_python_constant()
        same = mine == theirs and all(known_truth(tx, other.contains(tx, item)) for item in self.trackers(tx))
        return Constant(same == (symbol == "=="))

    def hash_key(self, tx: TraceContext) -> Hashable:
        """A view of values hashes by identity; TypeError for views of keys and items."""
        # keys by identity have to stay different objects in later calls
        tx.changes.note_key(self)
        return ("object", self) if self.name == "values" else raise_unhashable(tx, self)

    def children(self) -> Iterator[Tracker]:
        """The dict."""
        yield self.owner

    def reconstruct(self, writer: Writer) -> str:
        """`dict.keys(owner)` ...: the method of the builtin class, which no subclass overrides."""
        base = OrderedDict if issubclass(self.owner.cls, OrderedDict) else dict
        method = writer.constant(getattr(base, self.name), self.name)
        return f"{method}({writer.value(self.owner)})"


@final
class ProxyTracker(Tracker):
    """`MappingProxyType(dict)`: a read-only view, every read goes to the dict."""

    def __init__(self, owner: DictTracker, source: Source | None = None) -> None:
        self.owner = owner
        self.source = source

    @property
    def python_type(self) -> type:
        """`mappingproxy`."""
        return MappingProxyType

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Methods of `mappingproxy`."""
        return builtin_attribute(tx, self, name)

    def iterate(self, tx: TraceContext) -> Tracker:
        """`iter(self)`: over the keys of the dict."""
        return self.owner.iterate(tx)

    def length(self, tx: TraceContext) -> Tracker:
        """`len(self)`."""
        return self.owner.length(tx)

    def truth(self, tx: TraceContext) -> bool:
        """`bool(self)`: whether the dict has items."""
        return self.owner.truth(tx)

    def contains(self, tx: TraceContext, item: Tracker) -> Tracker:
        """`key in self`."""
        return self.owner.contains(tx, item)

    def subscript(self, tx: TraceContext, key: Tracker) -> Tracker:
        """`self[key]`."""
        return self.owner.subscript(tx, key)

    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`self | other`: a dict."""
        # CPython unwraps both operands
        right = other.owner if isinstance(other, ProxyTracker) else other
        return self.owner.binary(tx, symbol, right)

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Compares the dict, as CPython's `mappingproxy_richcompare`."""
        right = other.owner if isinstance(other, ProxyTracker) else other
        return self.owner.compare(tx, symbol, right)

    def children(self) -> Iterator[Tracker]:
        """The dict."""
        yield self.owner

    def reconstruct(self, writer: Writer) -> str:
        """A call of `MappingProxyType`."""
        return f"{writer.constant(MappingProxyType, 'MappingProxyType')}({writer.value(self.owner)})"


def _register_view(name: str) -> None:
    @ROWS.call(getattr(dict, name), getattr(OrderedDict, name))
    def view(tx: TraceContext, self: DictTracker, /) -> Tracker:
        return ViewTracker(self, name)


for _name in PICK:
    _register_view(_name)


def _register_reversed(cls: type) -> None:
    @ROWS.call(cls.__dict__["__reversed__"])
    def backwards(tx: TraceContext, self: ViewTracker, /) -> Tracker:
        return self.iterator(tx, backwards=True)


for _kind in VIEW_TYPES.values():
    if "__reversed__" in _kind.__dict__:
        _register_reversed(_kind)


def _register_proxy(name: str) -> None:
    method = getattr(dict, name)

    @ROWS.call(getattr(MappingProxyType, name))
    def forward(tx: TraceContext, self: ProxyTracker, /, *args: Tracker) -> Tracker:
        return builtin_attribute(tx, self.owner, method.__name__).call(tx, args, {})


for _name in ("get", "keys", "values", "items", "copy", "__reversed__"):
    _register_proxy(_name)


@ROWS.call(*[k.__dict__["isdisjoint"] for (_, n), k in VIEW_TYPES.items() if "isdisjoint" in k.__dict__])
def view_isdisjoint(tx: TraceContext, self: ViewTracker, other: Tracker, /) -> Tracker:
    """`self.isdisjoint(other)`."""
    return Constant(not any(known_truth(tx, self.contains(tx, item)) for item in take_items(tx, other)))


@ROWS.call(MappingProxyType)
def call_proxy(tx: TraceContext, mapping: Tracker, /) -> Tracker:
    """`MappingProxyType(dict)`; breaks the graph for any other mapping."""
    part = mapping.builtin_part_or_self(tx)
    # a proxy calls the methods of a subclass, which the tracker of the dict part does not
    if not isinstance(part, DictTracker) or part is not mapping:
        return mapping.unsupported("a mapping proxy over it")
    return ProxyTracker(part)


def dict_behind(view: object) -> object:
    """The dict behind a view or proxy: the only object it refers to."""
    # not `mapping`, which gives a proxy and not the dict itself
    (owner,) = gc.get_referents(view)
    return owner


@ROWS.wrap(*{**dict.fromkeys(VIEW_TYPES.values()), MappingProxyType: None})
def wrap_view(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing view or proxy, represented by the tracker of its dict."""
    tx.guard(source, TypeIs(type(value)))
    owner = tx.wrap(dict_behind(value), CallResult(source, dict_behind)).realize()
    part = owner.builtin_part_or_self(tx)
    if not isinstance(part, DictTracker):
        return owner.unsupported("a view of it")
    if isinstance(value, MappingProxyType):
        return ProxyTracker(part, source) if part is owner else owner.unsupported("a mapping proxy over it")
    name = next(name for (_, name), kind in VIEW_TYPES.items() if kind is type(value))
    # `dict.keys(ordered)` gives the order of the dict part
    if VIEW_TYPES[issubclass(part.cls, OrderedDict), name] is not type(value):
        return owner.unsupported("a view of dict's own, which gives another order,")
    return ViewTracker(part, name, source)
