"""Texts of errors that differ from one Python to the next are those of the Python that runs."""

import pytest
from tests.end_to_end.support import check_source

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
