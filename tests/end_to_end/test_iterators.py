"""Iterators of all kinds, itertools, functools, operator."""

import functools
import itertools
import operator

import pytest
import torch
from tests.end_to_end.support import check, check_source

X = torch.tensor([-1.5, 0.25, 2.0])


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


class Old:
    def __getitem__(self, index):
        if index >= 3:
            raise IndexError
        return index * 2


LOOPS = {
    "range": lambda x: [x + i for i in range(1, 6, 2)],
    "reversed": lambda x: [x + i for i in reversed([1, 2])],
    "enumerate": lambda x: [t * i for i, t in enumerate(x, 1)],
    "zip": lambda x: [a + b for a, b in zip([1, 2], (x, x * 2))],
    "map": lambda x: list(map(operator.add, [1, 2], [x, x])),
    "filter": lambda x: [x * n for n in filter(lambda n: n % 2, range(5))],
    "dict items": lambda x: [x * v for k, v in {"a": 1, "b": 2}.items() if k],
    "user iterator": lambda x: [x + n for n in Countdown(3)],
    "sequence protocol": lambda x: [x + n for n in Old()],
    "iter with sentinel": lambda x: list(iter(functools.partial(next, iter([1, 2, 0, 3])), 0)),
    "tensor rows": lambda x: [r.sum() for r in torch.stack([x, x + 1])],
    "string": lambda x: [c + "!" for c in "abc"],
    "split tensors": lambda x: [t * 2 for t in x.split(2)] + [t for t in x.unbind()],
    "list iterator twice": lambda x: (lambda it: [next(it), list(it), list(it)])(iter([x, 1, 2])),
    "contains of iterator": lambda x: (lambda it: (2 in it, list(it), x))(iter([1, 2, 3])),
}
ITERTOOLS = {
    "chain": lambda: list(itertools.chain([1], (2, 3))) + list(itertools.chain.from_iterable([[1], [2]])),
    "islice": lambda: list(itertools.islice(itertools.count(3, 2), 1, 5)),
    "product": lambda: list(itertools.product([1, 2], "ab")) + list(itertools.product([0, 1], repeat=2)),
    "permutations": lambda: list(itertools.permutations([1, 2, 3], 2)),
    "combinations": lambda: list(itertools.combinations(range(4), 2)),
    "with replacement": lambda: list(itertools.combinations_with_replacement("ab", 2)),
    "accumulate": lambda: (
        list(itertools.accumulate([1, 2, 3])) + list(itertools.accumulate([1, 2], operator.mul, initial=5))
    ),
    "groupby": lambda: [(k, list(g)) for k, g in itertools.groupby([1, 1, 2], lambda n: n % 2)],
    "zip_longest": lambda: list(itertools.zip_longest([1], [2, 3], fillvalue=0)),
    "takewhile": lambda: (
        list(itertools.takewhile(lambda n: n < 3, range(9)))
        + list(itertools.dropwhile(lambda n: n < 3, range(5)))
    ),
    "repeat and cycle": lambda: (
        list(itertools.repeat(1, 2)) + [n for n, _ in zip(itertools.cycle([1, 2]), range(5))]
    ),
    "starmap": lambda: list(itertools.starmap(pow, [(2, 3), (3, 2)])),
    "pairwise": lambda: list(itertools.pairwise([1, 2, 3])),
    "tee": lambda: [list(t) for t in itertools.tee([1, 2])],
    "filterfalse": lambda: list(itertools.filterfalse(None, [0, 1, ""])),
    "compress": lambda: list(itertools.compress("abc", [1, 0, 1])),
}


@functools.lru_cache(maxsize=None)
def cached(n):
    return n * 2


@functools.singledispatch
def kind(value):
    return "other"


@kind.register(int)
def _(value):
    return "int"


@kind.register(torch.Tensor)
def _(value):
    return value * 2


FUNCTOOLS = {
    "partial": lambda x: (
        functools.partial(torch.add, x)(1),
        functools.partial(lambda a, b=1: a + b, b=3)(x),
    ),
    "nested partial": lambda x: functools.partial(functools.partial(lambda a, b, c: a * b + c, x), c=1)(2),
    "partial attributes": lambda x: (lambda p: (p.args, p.keywords, p.func is torch.add))(
        functools.partial(torch.add, x, alpha=2)
    ),
    "returned partial": lambda x: functools.partial(torch.add, x * 2),
    "reduce": lambda x: functools.reduce(operator.add, [x, 1, x], 5),
    "lru_cache": lambda x: x * cached(3) + cached(3),
    "cmp_to_key": lambda x: (sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)), x),
    "singledispatch": lambda x: (kind(3), kind(x), kind("a")),
    "wraps": lambda x: functools.wraps(cached)(lambda: 1).__name__,
    "itemgetter": lambda x: (operator.itemgetter(1)([1, x]), operator.itemgetter("a", "b")({"a": 1, "b": x})),
    "attrgetter": lambda x: (
        operator.attrgetter("shape")(x),
        operator.attrgetter("T.shape")(torch.ones(2, 3)),
    ),
    "methodcaller": lambda x: operator.methodcaller("sum", dim=0)(x),
    "operator functions": lambda x: (
        operator.index(3),
        operator.contains([1], 1),
        operator.getitem(x, 0),
        operator.truth([]),
        operator.neg(x),
        operator.iadd([1], [2]),
    ),
}


CACHED_FUNCTIONS = """
import functools, torch
log = []

@functools.lru_cache
def table(n, *, dtype=torch.float32):
    log.append(n)
    return torch.arange(n, dtype=dtype)

@functools.cache
def version(name="a"):
    return f"{name}{len(log)}"

class Owner:
    @functools.lru_cache
    def cached(self, n):
        log.append(n)
        return n + 1

owner = Owner()
state = {"calls": 0}

def f(x):
    first = table(3, dtype=torch.float64)
    state["calls"] += 1
    shared = table(3, dtype=torch.float64)
    return x + first, shared is first, shared, version(), version("b"), len(log)

def method(x):
    return x * owner.cached(3) + owner.cached(2)

@functools.lru_cache
def recipe(owner, shape, kind=int):
    log.append(shape)
    return owner, shape, kind

def objects(x):
    return x * 2, recipe(owner, tuple(x.shape)), recipe(owner, (1, 2), kind=Owner), recipe(Owner, x.shape), len(log)

def unhashable(x):
    return recipe(owner, [1])

def args():
    return (torch.ones(3),)
"""


def test_cached_functions_give_the_stored_object():
    check_source(CACHED_FUNCTIONS, graphs=2)  # the first call breaks where the cache is empty


def test_a_cached_method_is_bound():
    check_source(CACHED_FUNCTIONS + "f = method\n", breaks=0)


def test_cached_functions_of_existing_objects():
    check_source(CACHED_FUNCTIONS + "f = objects\n", breaks=0)


def test_cached_functions_of_what_has_no_hash():
    check_source(CACHED_FUNCTIONS + "f = unhashable\n")


@pytest.mark.parametrize("name", LOOPS)
def test_loop_over(name):
    check(LOOPS[name], X)


@pytest.mark.parametrize("name", ITERTOOLS)
def test_itertools(name):
    function = ITERTOOLS[name]
    check(lambda x: (x + 1, function()), X)


@pytest.mark.parametrize("name", FUNCTOOLS)
def test_functools(name):
    check(FUNCTOOLS[name], X)


def test_iterator_argument_is_consumed():
    def f(x, it):
        return x + next(it)

    check(f, X, iter([1, 2, 3, 4]), calls=3)


def test_iterator_argument_runs_out_like_eager():
    check(lambda x, it: x + next(it), X, iter([1, 2]), calls=4)


def test_iterator_argument_is_partly_consumed_by_a_loop():
    def f(x, it):
        for n in it:
            x = x + n
            if n % 2 == 0:
                break
        return x, it

    check(f, X, iter([1, 2, 3, 4, 5, 6]), calls=2)


def test_enumerate_zip_and_range_iterators_as_arguments():
    check(
        lambda x, a, b, c: (x, next(a), next(b), next(c)),
        X,
        enumerate([5, 6, 7, 8]),
        zip([1, 2, 3, 4], "abcd"),
        iter(range(9)),
        calls=3,
    )


def test_iterator_in_mid_course_is_returned():
    def f(x):
        it = iter([x, 1, 2])
        next(it)
        z = zip([1, 2], [x, x])
        next(z)
        return it, z, enumerate([x]), reversed([1, 2])

    check(f, X)


def test_loop_else():
    def f(x, n):
        for i in range(n):
            if i == 2:
                break
        else:
            x = x + 100
        while n:
            n -= 1
        else:
            x = x * 2
        return x

    check(f, X, 2)
    check(f, X, 5)


def test_long_loop():
    def f(x):
        for i in range(300):
            x = x + i
        return x

    check(f, X, graphs=1, breaks=0)


def test_key_functions_with_tensors():
    check(
        lambda x: (max([1, -3], key=abs), sorted(["bb", "a"], key=len), min("abc", key=lambda c: -ord(c)), x),
        X,
        breaks=0,
    )


ITERATORS_THAT_START_AGAIN = """
import torch

class Again:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        self.i = 0
        return self

    def __next__(self):
        if self.i >= self.n:
            raise StopIteration
        self.i += 1
        return self.i

def short(n):
    try:
        a, b, *c, d = Again(n)
    except ValueError as error:
        return str(error)
    return a, b, c, d

def f(x):
    a, *b = Again(4)
    c, *d, e = iter([1, 2, 3])
    *g, h = (x, 1)
    return x * a, b, d, e, g, h, [short(n) for n in range(4)], list(Again(2)), [*Again(2)]

def args():
    return (torch.ones(3),)
"""


def test_the_rest_of_an_unpacked_iterator_is_asked_for_an_iterator_again():
    check_source(ITERATORS_THAT_START_AGAIN, breaks=0)


COUNTS = {
    "one": ("itertools.count(3)", "return x * next(c) + next(c)"),
    "in a zip": ("itertools.count(3)", "return [a * i for a, i in zip(x, c)], next(c)"),
    "in a branch": ("itertools.count()", "n = next(c)\n    return x + n if n % 2 else x - n"),
    "another step": ("itertools.count(3, 2)", "return x * next(c)"),
    "floats": ("itertools.count(0.5)", "return x * next(c)"),
    "large": ("itertools.count(1 << 70)", "return x * (next(c) % 7)"),
}


@pytest.mark.parametrize("name", COUNTS)
def test_an_existing_count_goes_on(name):
    made, lines = COUNTS[name]
    report = check_source(
        f"import itertools, torch\nc = {made}\ndef args(): return (torch.arange(3.0),)\ndef f(x):\n    {lines}\n",
        calls=5,
    )
    if name in ("one", "in a zip"):
        assert not report.breaks
        assert report.graphs == 2  # the number becomes symbolic


EXHAUSTED = {
    "keys": "iter(OrderedDict(a=1))",
    "view": "iter(OrderedDict(a=1).keys())",
    "values": "iter(OrderedDict(a=1).values())",
    "items": "iter(OrderedDict(a=1).items())",
    "reversed": "reversed(OrderedDict(a=1))",
    "reversed items": "reversed(OrderedDict(a=1).items())",
    "dict": "iter({1: 2})",
    "sequence protocol": "iter(Sequence())",
}


@pytest.mark.parametrize("made", EXHAUSTED)
def test_an_exhausted_iterator_keeps_its_type(made: str) -> None:
    check_source(f"""
import torch
from collections import OrderedDict
class Sequence:
    def __getitem__(self, index): return [1, 2][index]
def args(): return [torch.ones(2)]
def f(x):
    it = {EXHAUSTED[made]}
    given = list(it)
    return it, given, x + 1
""")


SHORTENED = {
    "cleared": "l.clear()",
    "popped": "l.pop(); l.pop()",
    "one left": "del l[1:]",
    "grown again": "l.clear(); l.extend([5, 6])",
}


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("made", ["next(it); next(it); next(it)", "it = reversed(l); next(it)"])
@pytest.mark.parametrize("change", SHORTENED)
def test_an_iterator_behind_the_end_goes_on_once_its_list_has_grown(
    change: str, made: str, existing: bool
) -> None:
    check_source(
        f"""
import torch
from framesmith import frontend
@frontend.disable
def rest(l, it):
    short = list(l)
    l.extend([7, 8, 9, 10])
    return short, list(it)
def args(): return [torch.ones(2), [1, 2, 3, 4]]
def f(x, given):
    l = given if {existing} else [1, 2, 3, 4]
    it = iter(l)
    {made}
    {SHORTENED[change]}
    return rest(l, it), l, x + 1
""",
        change=lambda x, given: given.__setitem__(slice(None), [1, 2, 3, 4]),
    )


READ = {
    "list": "list(it)",
    "loop": "[item for item in it]",
    "next": "[next(it, 'end'), next(it, 'end')]",
    "zip": "list(zip(it, [1, 2]))",
    "enumerate": "list(enumerate(it))",
}


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("made", ["next(it); next(it); next(it)", "it = reversed(l); next(it)"])
@pytest.mark.parametrize("change", SHORTENED)
def test_an_iterator_that_is_behind_the_end_already(change: str, made: str, read: str) -> None:
    check_source(
        f"""
import torch
def args():
    l = [1, 2, 3, 4]
    it = iter(l)
    {made}
    {SHORTENED[change]}
    return [torch.ones(2), l, it]
def f(x, l, it):
    first = {READ[read]}
    l.extend([7, 8, 9, 10])
    return first, list(it), l, x + 1
"""
    )
