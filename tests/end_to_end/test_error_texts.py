"""Texts of errors that differ from one Python to the next are those of the Python that runs."""

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend

RAISING = """
import collections, torch

class Plain:
    __hash__ = None

class Pair(list):
    pass

def f(x):
    try:
        {code}
    except (TypeError, ValueError, KeyError) as error:
        return x + 1, type(error), str(error), error.__context__
    return x - 1

def args():
    return (torch.ones(2),)
"""
UNHASHABLE = ("[]", "Plain()", "([1], 2)", "{1}", "{}", "{}.keys()", "bytearray()", "collections.deque()")
USES = (
    "{@: 1}",
    "{@}",
    "{1: 2}[@]",
    "{1: 2}.get(@)",
    "{1: 2}.pop(@)",
    "{}.setdefault(@)",
    "del {1: 2}[@]",
    "dict([(@, 1)])",
    "dict.fromkeys([@])",
    "{}.update([(@, 1)])",
    "@ in {1: 2}",
    "@ in {1: 2}.keys()",
    "{1}.add(@)",
    "{1}.remove(@)",
    "{1}.discard(@)",
    "set([@])",
    "frozenset([@])",
    "{1}.union([@])",
    "{1}.update([@])",
    "{1}.difference([@])",
    "{1}.intersection([@])",
    "{1}.intersection_update([@])",
    "{1}.issuperset([@])",
    "{1}.isdisjoint([@])",
    "{1}.symmetric_difference([@])",
    "{1: 2}.keys() & [@]",
    "{1: 2}.keys() | [@]",
    "hash(@)",
    "collections.OrderedDict()[@]",
    "collections.OrderedDict().__setitem__(@, 1)",
    "collections.OrderedDict([(@, 1)])",
    "collections.defaultdict(int)[@]",
    "collections.Counter([@])",
    "{k: 1 for k in [@]}",
    "{k for k in [@]}",
)


@pytest.mark.parametrize("value", UNHASHABLE)
def test_value_without_a_hash(value):
    for use in USES:
        check_source(RAISING.replace("{code}", use.replace("@", value)))


UNPACKED = (
    "[1, 2, 3]",
    "(1, 2, 3)",
    "{1: 1, 2: 2, 3: 3, 4: 4}",
    "{1, 2, 3}",
    "Pair([1, 2, 3])",
    "iter([1, 2, 3])",
)


@pytest.mark.parametrize("value", (*UNPACKED, "range(9)", "'abc'", "zip('abc')", "x.new_ones(3)"))
@pytest.mark.parametrize("target", ("a, b", "[]", "a, b, c, d, e", "a, *b, c, d, e, f, g, h, i, j, k"))
def test_wrong_number_of_items(value, target):
    check_source(RAISING.replace("{code}", f"{target} = {value}"))


SEARCHES = (
    "[1].index(@)",
    "[1].remove(@)",
    "(1,).index(@)",
    "collections.deque([1]).index(@)",
    "collections.deque([1]).remove(@)",
    "range(3).index(@)",
    "[].index(@)",
    "'abc'.index(str(@))",
)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_search_that_finds_nothing(search):
    for value in ("7", "'text'", "x.shape", "Plain", "[1]"):
        check_source(RAISING.replace("{code}", search.replace("@", value)))


DIVISIONS = (
    "1 // n",
    "1 % n",
    "1.0 % n",
    "divmod(1, n)",
    "1.0 // n",
    "n ** -1",
    "1 / n",
    "divmod(1.0, n)",
    "0.0 ** -len(x)",
)
FAILING = (
    "math.sqrt(-1)",
    "math.log(n)",
    "math.acos(2)",
    "math.log2(-1)",
    "'%d' % 'x'",
    "[].pop()",
    "print(*n)",
    "print(**n)",
)


@pytest.mark.parametrize("expression", (*DIVISIONS, *FAILING))
def test_numbers_and_texts(expression):
    code = RAISING.replace("{code}", f"n = len(x) - 2; {expression}").replace(
        "(TypeError,", "(ZeroDivisionError, TypeError, IndexError,"
    )
    check_source(code.replace("import collections", "import collections, math"))


REFUSING = """
import bisect, collections, functools, heapq, itertools, operator, torch, types

class Plain:
    pass

class Misleading:
    def _mislead(self):
        return Plain()

    __iter__ = __bool__ = _mislead

class HalfManager:
    def __enter__(self):
        pass

def enter(manager):
    with manager:
        pass

def f(x):
    try:
        {call}
    except (TypeError, ValueError, AttributeError) as error:
        return x + 1, type(error), str(error), getattr(error, "__notes__", None), error.__context__
    return x - 1

def args():
    return (torch.ones(2),)
"""
PAIRS = ("1", "None", "Plain()", "()", "(1,)", "(1, 2, 3)", "'abc'")
KINDS = ("dict(@)", "{}.update(@)", "collections.OrderedDict(@)", "collections.defaultdict(int, @)")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_pair(kind):
    for pair in PAIRS:
        check_source(REFUSING.replace("{call}", kind.replace("@", f"[(0, 0), {pair}]")))


CALLS = {
    "bisect": "bisect.bisect([1], 1, -1)|bisect.bisect_left([1], 1, -1)|bisect.insort([1], 1, -1)",
    "heapq": "heapq.heappop((1,))|heapq.heappush((1,), 1)|heapq.heapify((1,))|heapq.heappushpop(Plain(), 1)"
    "|heapq.heapreplace({}, 1)|heapq.heappop([1], 1)",
    "itertools": "itertools.combinations([1], -1)|itertools.combinations_with_replacement([1], -1)"
    "|itertools.permutations([1], -1)|itertools.permutations([1], 'a')|itertools.tee([1], -1)"
    "|itertools.product([1], repeat=-1)|itertools.count('a')|itertools.count(1, None)",
    "islice": "itertools.islice([1], 'a')|itertools.islice([1], 'a', 1)|itertools.islice([1], None, 'a')"
    "|itertools.islice([1], 0, 1, Plain())",
    "functools": "functools.reduce(max, 5)|functools.reduce(max, [])|functools.partial(1)",
    "operator": "operator.countOf(1, 2)|operator.indexOf(1, 2)|operator.concat(1, 2)|operator.concat([1], 2)",
    "slices": "[1]['a':]|(1,)[:Plain()]|slice('a').indices(3)|[1].index(1, 'a')|slice(1).indices('a')",
    "wrong results": "iter(Misleading())|bool(Misleading())|list(Misleading())|not Misleading()",
    "attributes": "{}.new = 1|{}.clear = 1|del types.absent|collections.OrderedDict.new = 1",
    "super": "super(int, '')|super(Plain, int)|super(int, Plain())|super(1, 1)",
    "methods": "types.MethodType(max, None)|types.MethodType(1, 1)|ValueError().add_note(Plain())",
    "new": "int.__new__(1)|int.__new__(str)|list.__new__(int)|object.__new__(1)",
    "numbers": "complex('a')|complex([])|complex(real='a')|complex(1, 2, 3)|sum([], bytearray())|sum([], '')",
    "iter": "iter([], 1)|iter(1, 1)|iter(Plain(), 1)",
    "managers": "enter(1)|enter(HalfManager())|enter(Plain())",
}


@pytest.mark.parametrize("family", CALLS)
def test_what_a_function_refuses(family):
    for call in CALLS[family].split("|"):
        check_source(REFUSING.replace("{call}", call))


CHANGING = """
import torch

def f(x, n):
    try:
        return x + 1, {expression}
    except ZeroDivisionError as error:
        return x - 1, str(error)

def calls():
    return [(torch.ones(2), n) for n in ({numbers})]
"""


@pytest.mark.parametrize("numbers", ("2.0, 3.0, 0.0, 4.0, -0.0", "2, 3, 0, 4"))
@pytest.mark.parametrize("expression", ("7 // n", "7 % n", "7.5 % n", "divmod(7, n)", "7.5 // n", "7 / n"))
def test_numbers_that_become_zero(expression, numbers):
    names: dict[str, object] = {}
    exec(CHANGING.format(expression=expression, numbers=numbers), names)  # noqa: S102
    compiled = frontend.compile(names["f"], backend="eager")
    for args in names["calls"]():
        (eager, said), (ours, says) = names["f"](*args), compiled(*args)
        assert torch.equal(eager, ours)
        assert repr(says) == repr(said)
