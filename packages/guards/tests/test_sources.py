"""The battery every source passes: `read` and the generated text give the same object, or both miss."""

import collections
import functools
import inspect
import operator
import sys
import types
import weakref
from pathlib import Path

import pytest
import torch

from framesmith.guards import MISSES, PlainNames, Scope, compile_guards, sources
from framesmith.guards import sources as s
from framesmith.guards.guard_set import GuardSet
from framesmith.guards.sources import Local, Source

sys.path.insert(0, str(Path(__file__).parent))
from guard_checking import built  # noqa: E402  # the neighbour


class Thing:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def method(self): ...


class Loud(type):
    """A metaclass that answers `__dict__` itself."""

    @property
    def __dict__(cls):
        raise AssertionError("user code ran")


class Quiet(metaclass=Loud):
    marker = object()


def function(a=object(), *, b=object()):  # noqa: B008  # the very objects matter
    return closed


closed = object()


def closure():
    inner = object()

    def reads():
        return inner

    return reads


THING = Thing(a=object(), __x=object())
setattr(THING, "odd name", object())
setattr(THING, "class", object())
REFERENCE = weakref.ref(THING)
WITH_GRADIENT = torch.ones(2, 3, requires_grad=True)
WITH_GRADIENT.sum().backward()
MODULE = torch.nn.Sequential(torch.nn.BatchNorm1d(2))
ITERATOR = iter([object(), object()])
x = Local("x")

# source, values of x it can read, values of x it cannot
CASES: list[tuple[Source, list[object], list[object]]] = [
    (x, [1], []),
    (s.Pinned(THING, "thing"), [1], []),
    (s.Global("closed"), [1], []),
    (s.Global("len"), [1], []),
    (s.Global("x"), [1], []),
    (s.Global("no_such_name"), [], [1]),
    (s.Attribute(x, "a"), [THING], [1]),
    (s.Attribute(x, "odd name"), [THING], [1]),
    (s.Attribute(x, "class"), [THING], [1]),
    (s.Attribute(x, "__x"), [THING], [1]),
    (s.InstanceDict(x), [THING], [1]),
    (s.InstanceItem(x, "a"), [THING], [1, Thing()]),
    (s.InstanceItem(x, "odd name"), [THING], [Thing()]),
    (s.Item(x, 0), [[THING], (THING,), {0: THING}], [[], 1, {}]),
    (s.Item(x, -1), [[THING]], [[]]),
    (s.Item(x, "k"), [{"k": THING}], [{}, [1]]),
    (s.Item(x, (1, "k")), [{(1, "k"): THING}], [{}]),
    (s.Item(x, THING), [{THING: THING}], [{}]),
    (s.DictKeys(x), [], [1]),
    (s.DictKeyAt(x, 1), [{"a": 1, THING: 2}], [{}, 1]),
    (s.SetItemAt(x, 0), [{THING}, frozenset({THING})], [set(), 1]),
    (s.ClassDict(x), [], [1, THING]),
    (s.ClassDictItem(x, "marker"), [Quiet], [Thing, 1]),
    (s.ClassDictItem(x, "method"), [Thing], [Quiet]),
    (s.CallResult(x, id), [THING], []),
    (s.CallResult(x, len), ["ab"], [1]),
    (s.WeakReferent(x), [REFERENCE], [1]),
    (s.IteratorPeek(x, 1), [ITERATOR, iter("ab")], [iter([1]), 1, (i for i in range(5))]),
    (s.IteratorPart(x, 0), [ITERATOR, map(str, [1]), enumerate(ITERATOR)], [1, (i for i in ())]),
    (s.CellContents(x), [closure().__closure__[0]], [types.CellType(), 1]),
    (s.FunctionDefault(x, 0), [function], [closure, 1]),
    (s.FunctionKeywordDefault(x, "b"), [function], [closure, 1]),
    (s.FunctionClosure(x, 0), [closure()], [closure, 1]),
    (s.MethodSelf(x), [THING.method], [function]),
    (s.MethodFunction(x), [THING.method], [function]),
    (s.Computed(operator.add, (x, 1), "add"), [1, True], [None, "a"]),
    (s.Computed(operator.truediv, (1.0, x), "truediv"), [], [0.0, 0]),
    (s.Computed(operator.lt, (s.Computed(operator.neg, (x,), "neg"), 0.5), "lt"), [1.5, float("nan")], [[]]),
    (s.NewObject(0, operator.add, (1, 2), "sum"), [1, None], []),
    (s.TensorItem(x), [torch.tensor(3), torch.tensor([True])], [1, torch.ones(2, 3)]),
    (s.TensorSize(x, 1), [torch.ones(2, 3)], [torch.ones(2), 1]),
    (s.TensorStride(x, 1), [torch.ones(2, 3)], [torch.ones(2), 1]),
    (s.TensorStorageOffset(x), [torch.ones(2)[1:]], [1]),
    (s.TensorSize(s.Unasked(x), 1), [torch.ones(2, 3)], [torch.ones(2), 1]),
    (s.TensorStride(s.Unasked(x), 1), [torch.ones(2, 3)], [torch.ones(2), 1]),
    (s.TensorStorageOffset(s.Unasked(x)), [torch.ones(2)[1:]], [1]),
    (s.Gradient(x), [torch.ones(1)], [1]),
    (s.parameter(s.submodule(x, "0"), "weight"), [MODULE], [THING, 1]),
    (s.buffer(s.submodule(x, "0"), "running_mean"), [MODULE], [THING, 1]),
]


def read_both(source, value):
    """The slow and the generated reading, each as (found, value)."""
    module_globals = {"__builtins__": __builtins__, "closed": closed, "x": object()}
    scope = Scope({"x": value}, module_globals)
    check = built(compile_guards(GuardSet(), [source]), ["x"], module_globals)
    fast = check(value)
    try:
        return [source.read(scope)], fast
    except MISSES:
        return None, fast


@pytest.mark.parametrize(("source", "good", "bad"), CASES, ids=lambda item: type(item).__name__)
def test_a_source_reads_what_its_text_reads(source, good, bad):
    for value in good:
        slow, fast = read_both(source, value)
        assert slow is not None and fast is not None
        assert slow[0] is fast[0] or (type(slow[0]) is int and slow == fast)
    for value in bad:
        assert read_both(source, value) == (None, None)


@pytest.mark.parametrize(("source", "good", "bad"), CASES, ids=lambda item: type(item).__name__)
def test_a_source_is_data(source, good, bad):
    assert source == source and hash(source) == hash(source)
    assert sum(source == other for other, _, _ in CASES) == 1
    assert source.text()
    assert source.expression(PlainNames())


def test_several_values_are_read_into_a_list():
    source = s.ValuesOf((s.Item(x, 0), s.Item(x, "k")))
    pair = {0: THING, "k": closed}
    assert read_both(source, pair) == ([[THING, closed]], [[THING, closed]])
    assert read_both(source, {0: THING}) == (None, None)
    assert [*source.leaves()] == [*source.sources] and source.text() == "x[0] and 1 more"


def test_the_battery_knows_every_source():
    known = {type(source) for source, _, _ in CASES} | {s.Own, s.ValuesOf}  # which have tests of their own
    known.add(s.Unasked)  # beneath sizes only
    for name in sources.__all__:
        item = getattr(sources, name)
        if inspect.isclass(item) and item is not Source:
            assert item in known, name


def test_what_a_function_has_of_its_own_is_a_placeholder_until_the_text_is_bound():
    cell = s.Own("cell", 1, "scale")
    assert cell == s.Own("cell", 1) != s.Own("cell", 0) and s.CellContents(cell).text() == "scale"
    program = compile_guards(GuardSet(), [cell])
    assert [*program.constants.values()] == [cell]
    assert (
        cell.read(Scope({}, {}, own={cell: 3})) == cell.read(Scope({}, {}, own={cell: 3}).with_memory()) == 3
    )
    with pytest.raises(LookupError):
        cell.read(Scope({}, {}))


def test_sources_made_twice_are_equal():
    assert s.parameter(s.submodule(Local("m"), "a"), "w") == s.parameter(s.submodule(Local("m"), "a"), "w")


def test_keys_of_different_types_make_different_sources():
    assert len({s.Item(x, 1), s.Item(x, True), s.Item(x, 1.0)}) == 3


def test_paths_read_as_the_user_writes_them():
    assert s.parameter(s.submodule(x, "fc"), "weight").text() == "x.fc.weight"
    assert s.Item(s.InstanceItem(x, "config"), "size").text() == "x.config['size']"
    assert s.CellContents(s.FunctionClosure(x, 1)).text() == "x.__closure__[1].cell_contents"


def test_the_text_names_nothing_that_a_user_can_hide():
    for source, _, _ in CASES:
        names = PlainNames()
        text = source.expression(names)
        code = compile(text, "<text>", "eval")
        used = {name for name in code.co_names if name in vars(__import__("builtins"))}
        assert not used, (text, used)


def test_a_container_keeps_its_iterators_where_they_are():
    iterator = enumerate(zip([1, 2, 3], "abc", strict=False))
    next(iterator)
    assert s.IteratorPeek(x, 1).read(Scope({"x": iterator}, {})) == (2, (3, "c"))
    assert next(iterator) == (1, (2, "b"))


def test_ordered_dicts_give_their_own_order():
    ordered = collections.OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    assert s.DictKeyAt(x, 0).read(Scope({"x": ordered}, {})) == "b"


def test_a_long_path_has_a_text():
    deep: list[object] = []
    for _ in range(150):
        deep = [deep]
    source = functools.reduce(lambda base, _: s.Item(base, 0), range(150), Local("x"))
    check = built(compile_guards(GuardSet(), [source]), ["x"], {})
    assert check(deep) == [[]]


def test_a_long_computation_has_a_text() -> None:
    x = Local("x")
    total: Source = s.Item(x, 0)
    for index in range(1, 300):
        total = s.Computed(operator.add, (s.Item(x, index), total), "add")
    check = built(compile_guards(GuardSet(), [total]), ["x"], {})
    assert check([1] * 300) == [300]
