"""The battery that every tracker passes: its type is true, reconstruction gives an equal value, the guards hold on the original.

A case traces an expression over inputs. `changed` are other inputs, which the guards have to refuse. A class without a
case is in `elsewhere` with its reason; none is left out silently, and those that need frames or a graph are seen while the
programs of `tests/end_to_end/test_every_tracker_is_seen.py` run.
"""

import collections
import contextvars
import functools
import itertools
import operator
import threading
import types
import typing
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
import torch.distributed as dist
from elsewhere import IN_PROGRAMS, NO_VALUE
from expressions import Evaluator
from support import Trace
from torch.distributed.tensor import Shard

from framesmith.variables import Tracker, catalog
from framesmith.variables.core import Lazy

VARIABLE: contextvars.ContextVar[int] = contextvars.ContextVar("variable")
LOCAL = threading.local()
GROUP = dist.ProcessGroup(0, 2)
OTHER_VARIABLE: contextvars.ContextVar[int] = contextvars.ContextVar("other")


class Plain:
    """A class whose instances are compared by what they hold."""

    def __init__(self, held: object = None) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None

    def method(self, *rest: object) -> tuple[object, ...]:
        return (self.held, *rest)


class Indexed:
    """Iterated by the sequence protocol."""

    def __getitem__(self, index: int) -> int:
        return [4, 5][index]

    def __len__(self) -> int:
        return 2


class Derived(Plain):
    pass


class Documented(property):
    """A property of another class."""


def plain(a: object, b: object = 2) -> tuple[object, object]:
    return a, b


@functools.lru_cache
def cached(a: int) -> int:
    return a + 1


NAMES = {
    "collections": collections, "itertools": itertools, "functools": functools, "operator": operator, "typing": typing,
    "types": types, "plain": plain, "Plain": Plain, "Derived": Derived, "Indexed": Indexed, "cached": cached, "torch": torch,
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """An expression over inputs, inputs that the guards refuse, and what shows an object that `==` cannot compare."""

    text: str
    inputs: Callable[[], dict[str, Any]] = dict
    changed: Callable[[], dict[str, Any]] | None = None
    show: Callable[[Any], object] = field(default=lambda value: value)


def of(**inputs: Any) -> Callable[[], dict[str, Any]]:
    return lambda: dict(inputs)


def items(value: Iterator[Any]) -> list[Any]:
    return [list(one) if hasattr(one, "__next__") else one for one in itertools.islice(value, 9)]


X, Y = of(x=[1, 2, 3]), of(x=[1, 2])
THING = Plain(1)
CASES: dict[str, list[Case]] = {
    "Constant": [Case("x", of(x=5), of(x=6)), Case("(x, 'text')[1]", X), Case("x + 0.5", of(x=1), of(x=2))],
    "ListTracker": [
        Case("x", X, of(x=(1, 2, 3))),
        Case("[x[0], 4]", X, of(x=[2, 2, 3])),
        Case("[x, x]", X, of(x=4)),
    ],
    "TupleTracker": [Case("x", of(x=(1, [2])), of(x=(1,))), Case("(x[0], 4)", X, of(x=[2, 2, 3]))],
    "DictTracker": [
        Case("x", of(x={"a": 1}), of(x=collections.OrderedDict(a=1))),
        Case("{'b': x['a']}", of(x={"a": 1}), of(x={"a": 2})),
        Case("collections.OrderedDict([('a', x)])", of(x=1), of(x=2)),
        Case("collections.defaultdict(list, {1: x})", of(x=1), of(x=2)),
    ],
    "SetTracker": [
        Case("x", of(x={1, 2}), of(x=frozenset({1, 2}))),
        Case("{x, 7}", of(x=1), of(x=2)),
        Case("frozenset(x)", of(x={1, 2}), of(x={1, 3})),
    ],
    "DequeTracker": [
        Case("x", lambda: {"x": collections.deque([1])}, of(x=[1])),
        Case("collections.deque(x, 2)", X, Y),
    ],
    "RangeTracker": [Case("x", of(x=range(3)), of(x=range(4))), Case("range(1, x)", of(x=4), of(x=5))],
    "SliceTracker": [Case("x", of(x=slice(1, 2)), of(x=3)), Case("slice(1, x)", of(x=4), of(x=5))],
    "ViewTracker": [
        Case("x.keys()", of(x={"a": 1}), of(x=[1]), list),
        Case("{'a': x}.items()", of(x=1), of(x=2), list),
        Case("x", lambda: {"x": {"a": 1}.values()}, of(x=[1]), list),
    ],
    "ProxyTracker": [
        Case("types.MappingProxyType({'a': x})", of(x=1), of(x=2), dict),
        Case("x", lambda: {"x": types.MappingProxyType({"a": 1})}, of(x={"a": 1}), dict),
    ],
    "SequenceIterator": [Case("iter(x)", X, of(x=4), items)],
    "ReversedIterator": [Case("reversed(x)", X, of(x=4), items)],
    "TextIterator": [Case("iter(x)", of(x="abc"), of(x="abd"), items)],
    "RangeIterator": [Case("iter(range(x))", of(x=3), of(x=4), items)],
    "DequeIterator": [Case("iter(collections.deque(x))", X, Y, items)],
    "DictIterator": [Case("iter({'a': x, 'b': 2})", of(x=3), of(x=4), items)],
    "SetIterator": [Case("iter({x})", of(x=3), of(x=4), items)],
    "ExistingIterator": [Case("x", lambda: {"x": iter([1, 2])}, of(x=[1]), items)],
    "EnumerateIterator": [Case("enumerate([x])", of(x=3), of(x=4), items)],
    "ZipIterator": [Case("zip([x], 'ab')", of(x=3), of(x=4), items)],
    "MapIterator": [Case("map(len, [x])", of(x=(3,)), of(x=4), items)],
    "FilterIterator": [Case("filter(None, [x, 0])", of(x=3), of(x=4), items)],
    "AccumulateIterator": [Case("itertools.accumulate([x, 2])", of(x=3), of(x=4), items)],
    "CompressIterator": [Case("itertools.compress([x, 2], [1, 0])", of(x=3), of(x=4), items)],
    "LongestIterator": [Case("itertools.zip_longest([x, 2], [3])", of(x=3), of(x=4), items)],
    "PairwiseIterator": [Case("itertools.pairwise([x, 2, 3])", of(x=3), of(x=4), items)],
    "PoolIterator": [Case("itertools.product([x, 2], repeat=2)", of(x=3), of(x=4), items)],
    "StarMapIterator": [Case("itertools.starmap(pow, [(x, 2)])", of(x=3), of(x=4), items)],
    "ChainIterator": [Case("itertools.chain([x], 'a')", of(x=3), of(x=4), items)],
    "CountIterator": [Case("itertools.count(x)", of(x=3), of(x=4), items)],
    "CycleIterator": [Case("itertools.cycle([x, 2])", of(x=3), of(x=4), items)],
    "RepeatIterator": [Case("itertools.repeat(x, 2)", of(x=3), of(x=4), items)],
    "SliceIterator": [Case("itertools.islice([x, 2, 3], 2)", of(x=3), of(x=4), items)],
    "WhileIterator": [Case("itertools.takewhile(bool, [x, 0])", of(x=3), of(x=4), items)],
    "GroupByIterator": [
        Case("itertools.groupby([x, x])", of(x=3), of(x=4), lambda groups: [key for key, _ in groups])
    ],
    "TeeIterator": [Case("itertools.tee([x, 2])[0]", of(x=3), of(x=4), items)],
    "CallIterator": [Case("iter(x.pop, 1)", lambda: {"x": [1, 3, 2]}, of(x=4), items)],
    "ItemIterator": [Case("iter(x)", of(x=Indexed()), of(x=4), items)],
    "FunctionTracker": [Case("x", of(x=plain), of(x=len)), Case("(plain, x)[0]", X)],
    "BoundMethod": [
        Case("x", lambda: {"x": THING.method}, of(x=plain), lambda method: method(3)),
        Case("x.method", of(x=THING), of(x=4), lambda method: method(3)),
    ],
    "PartialTracker": [
        Case("x", lambda: {"x": functools.partial(plain, 1)}, of(x=plain), lambda made: made(3)),
        Case("functools.partial(plain, x)", of(x=1), of(x=2), lambda made: made(3)),
    ],
    "CachedFunctionTracker": [Case("x", of(x=cached), of(x=plain))],
    "OperatorObject": [Case("operator.itemgetter(x)", of(x=0), of(x=1), lambda made: made([7]))],
    "Builtin": [Case("x", of(x=len), of(x=abs))],
    "BoundBuiltin": [
        Case("x", lambda: {"x": [1].count}, of(x=len), lambda method: method(1)),
        Case("[x].count", of(x=1), of(x=2), lambda method: method(1)),
    ],
    "ClassTracker": [Case("x", of(x=Plain), of(x=Derived))],
    "InstanceTracker": [
        Case("x", lambda: {"x": Plain(1)}, lambda: {"x": Derived(1)}),
        Case("object()", show=type),
        Case("types.SimpleNamespace(a=x)", of(x=1), of(x=2)),
    ],
    "PropertyTracker": [
        Case(
            "kind(x)",
            of(kind=Documented, x=plain),
            of(kind=Documented, x=cached.__wrapped__),
            lambda made: (type(made), made.fget),
        ),
    ],
    "ExceptionTracker": [
        Case("x", lambda: {"x": ValueError("a")}, lambda: {"x": KeyError("a")}, repr),
        Case("ValueError(x)", of(x="a"), of(x="b"), repr),
    ],
    "ModuleTracker": [Case("x", of(x=itertools), of(x=operator))],
    "SuperTracker": [
        Case("super(Derived, x)", of(x=Derived(1)), of(x=Plain(1)), lambda found: found.method(2))
    ],
    "TypingTracker": [Case("x", of(x=list[int]), of(x=list[str]))],
    "WeakReferenceTracker": [
        Case("x", of(x=weakref.ref(plain)), of(x=plain), lambda found: found()),
    ],
    "ThreadLocal": [Case("x", of(x=LOCAL), of(x=threading.local()))],
    "ContextVariableTracker": [Case("x", of(x=VARIABLE), of(x=OTHER_VARIABLE))],
    "PlacementTracker": [Case("x", of(x=Shard(0)), of(x=Shard(1)))],
    "ProcessGroupTracker": [Case("x", of(x=GROUP), of(x=dist.ProcessGroup(0, 2)), lambda made: made.size())],
    "TokenTracker": [Case("x.set(1)", of(x=VARIABLE), of(x=OTHER_VARIABLE), lambda token: token.var.get())],
    "FunctionModule": [Case("x", of(x=torch._VF), of(x=torch))],
    "OperatorTracker": [Case("x", of(x=torch.ops.aten.add), of(x=torch.ops.aten.mul))],
    "TypeInfo": [Case("torch.finfo(x)", of(x=torch.float32), of(x=torch.float64), str)],
}


def trackers(root: type[Tracker] = Tracker) -> Iterator[type[Tracker]]:
    """All tracker classes of the packages."""
    assert catalog.registry()
    for kind in (root, *root.__subclasses__()):
        if kind.__module__.startswith("framesmith."):
            yield kind
        if kind is not root:
            yield from trackers(kind)


def test_every_tracker_has_a_case_or_a_reason() -> None:
    names = {kind.__name__ for kind in trackers()}
    others = {*NO_VALUE, *IN_PROGRAMS}
    assert not names - set(CASES) - others
    assert not set(CASES) & others and not set(NO_VALUE) & set(IN_PROGRAMS)


def test_what_is_called_abstract_has_subclasses() -> None:
    abstract = {kind.__name__: kind for kind in trackers() if NO_VALUE.get(kind.__name__) == "abstract"}
    assert all(kind.__subclasses__() for kind in abstract.values())


def test_no_class_is_listed_that_is_gone() -> None:
    names = {kind.__name__ for kind in trackers()}
    assert set(CASES) | set(NO_VALUE) | set(IN_PROGRAMS) <= names | {
        "SavedException",
        "DeferredText",
        "DeferredCall",
    }  # frontend imports them, or has them


def real(case: Case) -> Any:
    return eval(case.text, dict(NAMES), case.inputs())


PARAMETERS = [
    pytest.param(name, case, id=f"{name}: {case.text}") for name, cases in CASES.items() for case in cases
]


@pytest.mark.parametrize(("name", "case"), PARAMETERS)
def test_type_value_and_guards_are_true(name: str, case: Case) -> None:
    inputs = case.inputs()
    with Trace(**inputs) as trace:
        tracker = Evaluator(trace, NAMES)(case.text).realize()
        assert type(tracker).__name__ == name and not isinstance(tracker, Lazy)
        expected = real(case)
        assert tracker.python_type is type(expected)
        found = trace.finish(tracker)
        assert trace.failure(**inputs) is None, "the guards refuse the original"
    assert type(found) is type(expected)
    shown = case.show(found)
    assert shown == case.show(expected)
    if case.changed is not None:
        assert trace.failure(**case.changed()) is not None, "the guards accept another input"
