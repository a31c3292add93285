"""Expressions over builtin values: traced, written again and run, they give what eager gives, errors included."""

import ast
import cmath
import collections
import enum
import itertools
import math
import operator
import re
import types

import pytest
import torch
from expressions import Evaluator
from support import Trace, assert_same, observed

from framesmith.graph import GraphBreak
from framesmith.variables.core import ObservedException

Point = collections.namedtuple("Point", "x y")


class Color(enum.Enum):
    RED = 1
    BLUE = "b"


def double(x):
    return x * 2


def odd(x):
    return x % 2


def add(a, b):
    return a + b


NAMES = dict(
    math=math,
    cmath=cmath,
    operator=operator,
    itertools=itertools,
    collections=collections,
    re=re,
    torch=torch,
    types=types,
    Point=Point,
    Color=Color,
    double=double,
    odd=odd,
    add=add,
)


def inputs():
    """Fresh inputs."""
    return dict(
        xs=[3, 1, 2, 1],
        words=["b", "a", "c"],
        t=(1, 2.5, "z"),
        d={"a": 1, "b": 2, 3: "c"},
        s={1, 5, 9},
        fs=frozenset({2, 4}),
        text="hello",
        n=7,
        f=2.5,
        p=Point(1, 2),
        size=torch.Size([2, 3]),
        q=collections.deque([1, 2, 3], 4),
        r=range(2, 20, 3),
        od=collections.OrderedDict([("k", 1), ("j", 2)]),
        dd=collections.defaultdict(list, {"k": [1]}),
        nested=[[1, 2], [3]],
        proxy=types.MappingProxyType({"m": 1}),
    )


def eager(text, inputs):
    scope = {**NAMES, **inputs}
    tree = ast.parse(text)
    *before, last = tree.body
    exec(compile(ast.Module(before, []), "t", "exec"), scope)
    return eval(compile(ast.Expression(last.value), "t", "eval"), scope)


def materialize(value):
    """Iterators as their types and (first) items, so that they can be compared."""
    if hasattr(type(value), "__next__"):
        return type(value), [materialize(item) for item in itertools.islice(value, 20)]
    if isinstance(value, set | frozenset):
        return type(value), sorted(map(repr, value))
    return tuple([materialize(item) for item in value]) if type(value) is tuple else value


def same(text, inputs=inputs):
    """Compare the result, the inputs after it, and whether the guards accept the inputs."""
    real, given = inputs(), inputs()
    try:
        expected = ("value", materialize(eager(text, real)))
    except Exception as error:
        expected = ("error", type(error).__name__, str(error))
    with Trace(**given) as trace:
        try:
            result = Evaluator(trace, NAMES)(text)
        except ObservedException as error:
            assert observed(trace.tx, error) == expected
            return
        assert expected[0] == "value", (expected, result)
        found = trace.finish(result)
    assert_same(materialize(found), expected[1])
    for name in real:
        assert_same(materialize(given[name]), materialize(real[name]))
    assert trace.failure(**inputs()) is None


EXPRESSIONS = """
len(xs), len(d), len(s), len(text), len(r), len(q), len(size)
len(5)
len(None)
xs[1:3], xs[::-1], xs[-1], xs[:], t[1:], text[::2], r[1:3], r[-1]
xs[10]
t[10]
text[10]
text["a"]
xs["a"]
xs[1.5]
r[100]
d["missing"]
d[[]]
{[]: 1}
xs + [4], [0] * 3, 3 * [0], t + (1,), t * 2, 2 * t, xs * -1
xs + (1,)
t + [1]
text + 1
text * 2, 2 * text, text * 0
text + "x"
xs * "a"
sorted(xs), sorted(words, reverse=True), sorted(xs, key=operator.neg), sorted(d.items(), key=str)
sorted([1, "a"])
sorted(xs, key=operator.neg)
min(xs), max(xs), min(3, 1, 2), max(words), min([], default=5), max(xs, key=operator.neg)
min([])
sum(xs), sum(xs, 10), sum([[1], [2]], []), sum([0.1] * 10), sum([])
sum(words)
sum(words, "")
any([0, 1]), all([0, 1]), any([]), all([])
list(xs), tuple(xs), set(xs), frozenset(xs), dict(a=1, b=2), dict([(1, 2)]), list(text), list(d), tuple(r)
list(5)
dict([1])
dict([(1, 2, 3)])
dict(5)
int("12"), int(2.7), int("ff", 16), float("1.5"), bool([]), bool("a"), complex(1, 2), str(1.5), int(), float(), str()
int("x")
int([])
float("x")
float([])
abs(-3), abs(-2.5), round(2.567, 2), round(2.5), round(7, -1), divmod(7, 2), divmod(7.5, 2), pow(2, 5), pow(2, 5, 7)
abs("a")
round("a")
divmod(1, 0)
pow(2, -1, 0)
7 // 0
1 / 0
n / 2, n // 2, n % 4, -n, ~n, +n, n ** 2, n << 2, n >> 1, n & 3, n | 8, n ^ 1
-text
repr(xs), repr(t), repr(d), repr(text), str(xs), repr(od), repr(dd), repr(q), repr(size), repr(r), repr(fs), repr({1}), repr(set())
repr((1,)), repr([]), repr({}), repr(d.keys()), repr(d.values()), repr(d.items()), repr(proxy), repr(None), repr(slice(1, 2))
ascii("é"), format(3.14159, ".2f"), format(5, "05d"), format("a", ">5"), hex(255), oct(8), bin(5), ord("a"), chr(98)
ord("ab")
f"{n}-{f:.1f}-{text!r:>10}-{xs}"
f"{n:{n}d}"
f"{xs:5}"
"%s %d %r" % (text, n, t), "%5.2f" % f, "%s" % xs
"%d" % "a"
"{} {x:>4} {0!r}".format(1, x="a")
text.upper(), text.find("l"), text.split("l"), text.replace("l", "L"), text.startswith("he"), text.partition("l"), text.center(9, "*")
text.nothing
text.index("z")
"-".join(words), ",".join(d2 := ["a"]), "".join([]), ", ".join(map(str, xs))
"-".join(xs)
"-".join(5)
text in words, "a" in words, "ell" in text, 3 in d, 5 in s, 5 in r, 2 in t, "z" not in t
5 in text
5 in n
list(enumerate(words)), list(enumerate(words, 5)), list(zip(xs, words)), list(zip(map(double, xs))), list(filter(odd, xs)), list(filter(None, [0, 1, ""]))
list(zip(xs, words, strict=True))
list(zip(words, xs, strict=True))
list(reversed(xs)), list(reversed(t)), list(reversed(text)), list(reversed(b"ab"))
a = reversed(text); next(a), a
a = itertools.compress(xs, [1, 0, 1, 1]); next(a), a
list(reversed(d)), list(reversed(r)), list(reversed(q)), list(reversed(d.items()))
next(iter(xs)), next(iter([]), 5)
next(iter([]))
next(xs)
iter(5)
a = iter(xs); next(a), next(a), a
a = iter(xs); list(a), next(a, 1), a
a = enumerate(words); next(a), a
a = zip(xs, words); next(a), a
a = map(double, xs); next(a), a
a = reversed(xs); next(a), a
a = iter(text); next(a), a
a = iter(r); next(a), a
a = iter(d); next(a), a
a = iter(d.items()); next(a), a
a = iter(q); next(a), a
xs == [3, 1, 2, 1], xs != t, t == (1, 2.5, "z"), xs < [4], t < (1, 3), [1, 2] < [1, 2, 3], d == {"a": 1}, s == {9, 5, 1}
xs < t
{} < {}
1 < "a"
None < None
s & {1, 2}, s | {7}, s - {1}, s ^ {1, 2}, fs | s, s & fs, s <= {1, 5, 9, 10}, s > {1}, fs == {2, 4}
s & [1]
s + s
d.keys() & {"a", "z"}, d.keys() | ["q"], d.keys() - {"a"}, d.keys() == {"a", "b", 3}, {"a"} & d.keys(), ["a"] & d.keys()
"a" in d.keys(), 2 in d.values(), ("a", 1) in d.items(), ("a", 9) in d.items(), len(d.keys()), d.keys().isdisjoint(["q"])
d | {"a": 5, "z": 6}, {"a": 0} | d, od | {"z": 1}, {"z": 1} | od
d | [1]
d.get("a"), d.get("q"), d.get("q", 5), d.copy(), list(d.items()), dict(d), dict.fromkeys([1, 2], 0), dict(d, z=1)
d.pop("q")
d.popitem(), d
d.setdefault("q", []), d
d.update([("x", 1)], y=2), d
d.clear(), d
dd["new"], dd["k"], dd
dd.default_factory
od.move_to_end("k"), od, list(od)
od.popitem(last=False), od
od == {"k": 1, "j": 2}, od == collections.OrderedDict(j=2, k=1)
proxy["m"], list(proxy), proxy.get("z"), len(proxy), "m" in proxy, dict(proxy), proxy == {"m": 1}
types.MappingProxyType(d)["a"]
p.x, p.y, p[0], p[1:], p == (1, 2), p + (3,), len(p), list(p), p
p.z
size[0], size[1:], size + (1,), (1,) + size, size * 2, size.numel(), list(size), size == (2, 3), torch.Size([4, 5])
q.append(9), q
q.appendleft(0), q.popleft(), q.rotate(1), q.maxlen, q[0], 2 in q, q
collections.deque([1, 2]), collections.deque(maxlen=2), collections.deque(xs, 2)
q["a"]
q == collections.deque([1, 2, 3]), q < collections.deque([2])
collections.OrderedDict(a=1), collections.defaultdict(int, a=1), collections.OrderedDict([("b", 1)])
xs.append(xs), len(xs), 1
xs.sort(), xs
xs.sort(key=operator.neg), xs
xs.reverse(), xs.insert(1, 9), xs.pop(), xs.remove(3), xs.extend("ab"), xs
xs.remove(77)
xs.index(77)
[].pop()
t.index(99)
xs[1] = 9; xs
xs[1:2] = [7, 8]; xs
xs[::2] = [7]; xs
xs[9] = 1; xs
xs[1:2] = 5; xs
del xs[0]; xs
del xs[9]; xs
del d["a"]; d
d["a"] = 5; d
d["new"] = xs; d
r.start, r.stop, r.step, r.index(5), r.count(5), r == range(2, 19, 3), range(3), list(range(5, 0, -2))
range(1.5)
range(1, 2, 0)
r.index(4)
slice(1, 2).start, slice(5).stop, slice(1, 9, 2).indices(4), slice(1) == slice(1)
hash(5), hash("a") == hash("a"), hash((1, 2)), hash(1.0)
hash([])
math.sqrt(2), math.floor(2.5), math.pi, math.gcd(4, 6), math.prod([1, 2, 3]), math.isnan(float("nan")), math.inf
math.sqrt(-1)
math.sqrt("a")
cmath.sqrt(-1)
operator.add(1, 2), operator.itemgetter(1)(xs), operator.itemgetter(0, 2)(t), operator.attrgetter("x")(p), operator.methodcaller("upper")(text)
operator.iadd(xs, [1]), xs
operator.contains(xs, 3), operator.getitem(xs, 0), operator.not_(0), operator.truth(1), operator.is_(None, None), operator.countOf(xs, 1)
operator.index(1.5)
list(itertools.chain(xs, words)), list(itertools.chain.from_iterable(nested)), list(itertools.islice(xs, 2)), list(itertools.islice(xs, 1, None, 2))
list(itertools.product([1, 2], "ab")), list(itertools.permutations([1, 2, 3], 2)), list(itertools.combinations(xs, 2)), list(itertools.product([0, 1], repeat=2))
list(itertools.combinations_with_replacement([1, 2], 2)), list(itertools.accumulate(xs)), list(itertools.accumulate(xs, max)), list(itertools.accumulate(xs, initial=5))
list(itertools.zip_longest(xs, words, fillvalue="-")), list(itertools.starmap(add, [(1, 2), (3, 4)])), list(itertools.pairwise(xs)), list(itertools.compress(xs, [1, 0, 1]))
list(itertools.takewhile(odd, xs)), list(itertools.dropwhile(odd, xs)), list(itertools.filterfalse(odd, xs)), list(itertools.repeat(1, 3)), list(itertools.islice(itertools.count(3), 2)), list(itertools.islice(itertools.cycle(words), 5))
a = itertools.chain(xs, words); next(a), a
a = itertools.islice(xs, 0, 4, 2); next(a), a
a = itertools.islice(xs, 1, 4, 2); a
a = itertools.product([1, 2], "ab"); next(a), a
a = itertools.permutations(xs, 2); next(a), next(a), a
a = itertools.accumulate(xs); next(a), next(a), a
a = itertools.pairwise(xs); next(a), a
a = itertools.zip_longest([1], words); next(a), next(a), a
a = itertools.takewhile(odd, xs); next(a), a
a = itertools.dropwhile(odd, [1, 2, 3, 5]); next(a), a
a = itertools.repeat(1, 3); next(a), a
a = itertools.islice(itertools.cycle(words), 7); next(a), next(a), a
c = itertools.cycle(words); next(c), next(c), list(itertools.islice(c, 6))
a = itertools.groupby([1, 1, 2], None); g = next(a); g[0], list(g[1]), next(a)[0], next(a, 5)
a = itertools.groupby(xs, odd); g = next(a); h = next(a); g[0], list(g[1]), h[0], list(h[1])
a = itertools.groupby(xs, odd); a
t2 = itertools.tee(xs); next(t2[0]), next(t2[0]), next(t2[1]), t2
t2 = itertools.tee(xs, 3); list(t2[1]), t2
isinstance(xs, list), isinstance(p, tuple), type(xs) is list, isinstance(n, (int, str))
Color.RED.name, Color.RED.value, Color.BLUE.value, Color.RED == Color.RED, Color.RED is Color.BLUE, {Color.RED: 1}[Color.RED]
n.bit_length(), f.is_integer(), n.real, f.imag, (5).to_bytes(2, "big"), int.from_bytes(b"ab", "big"), "a".encode(), b"ab".decode(), b"ab"[0], list(b"ab")
n.missing
n()
None()
n[0]
re.match("h(.)l", text).group(1), re.sub("l", "L", text), re.compile("l+").findall(text), bool(re.search("q", text))
(1, True, 1.0), {1: "a", True: "b"}, {1, True}, [1, 1.0] == [True, 1]
(float("nan") == float("nan")), [math.nan] == [math.nan], (0.0, -0.0)
str.upper("a"), list.append(xs, 5), xs, dict.get(d, "a"), list.__len__(xs), xs.__getitem__(0), "a".__add__("b"), xs.__add__([1])
xs.__add__(5), (1).__add__("a"), xs.__eq__(5)
print
s.add(5), s.add(100), s.discard(5), s
s.remove(77)
s.update([3], (4,)), len(s)
s.union([3]), s.intersection([1], [1, 2]), s.difference([1]), s.issubset([1, 5, 9]), s.isdisjoint([2])
list(s), list(fs), sorted(s), tuple(s | {3}), list({3, 1, 2}), list({"b", "a"}), list(set("hello"))
next(iter(s)), list(enumerate(s))
s.copy() is s, fs.copy() is fs, frozenset(fs) is fs, tuple(t) is t, list(xs) is xs
nested[0].append(9), nested
a = [1]; b = [a, a]; b[0].append(2); b, b[0] is b[1]
a = []; a.append(a); len(a), a[0] is a
callable(len), callable(5)
iter(xs) is iter(xs), (a := iter(xs)) is iter(a)
"abc"[1:], "abc"[-1], b"abc"[1:], "abc" < "abd", "a" == b"a"
"a".join
slice(1, 2, 3)
...
NotImplemented
"""


@pytest.mark.parametrize("text", [line for line in EXPRESSIONS.strip().splitlines()])
def test_expression_gives_what_eager_gives(text):
    same(text)


BREAKS = ["print(1)", "open('f')", "input()", "eval('1')", "exec('1')"]


@pytest.mark.parametrize("text", BREAKS)
def test_call_that_needs_the_real_interpreter_breaks_the_graph(text):
    with Trace(**inputs()) as trace, pytest.raises(GraphBreak):
        Evaluator(trace, NAMES)(text)
