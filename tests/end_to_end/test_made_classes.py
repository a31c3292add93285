"""Classes that a compiled function makes by a call: one graph, and a class of its own in each call where it is kept."""

import pytest
from tests.end_to_end.support import check_source

HEAD = """
import collections, dataclasses, enum, sys, typing, torch
def args():
    return (torch.arange(6.0).reshape(2, 3),)
"""


@pytest.mark.parametrize(
    "body",
    [
        "N = collections.namedtuple('N', 'a b'); n = N(x, 2)._replace(b=3); return n.a * n.b, n._asdict(), N._fields",
        "N = collections.namedtuple('N', ['a', 'b'], defaults=[3]); return N(x).b * x, N.__doc__, len(N._field_defaults)",
        "N = collections.namedtuple('N', 'a def a', rename=True); return x * N(1, 2, 3)._1, N.__module__, repr(N(1, 2, 3))",
        "N = collections.namedtuple('N', 'a', module='elsewhere'); return x + 1, repr(N), N.__module__",
        "N = collections.namedtuple('N', 'a b')\n    match N(1, x):\n        case N(a, b): return a * b",
        "N = typing.NamedTuple('N', [('a', int), ('b', typing.Any)]); return N(1, x).b * 2, N.__module__, N.__qualname__",
        "A = type('A', (), {'k': 3, '__doc__': 'text'}); return x * A().k, A.__module__, A.__doc__, list(vars(A))[:3]",
        "A = type('A', (dict,), {'k': 3}); a = A(z=1); return x * a['z'] * a.k, isinstance(a, dict), A.__mro__[1:]",
        "E = type('E', (ValueError,), {})\n    try: raise E('hi')\n    except E as error: return x * 2, str(error)",
        "E = enum.Enum('E', 'A B'); return x * E.A.value, len(E), E['B'].name, E(2) is E.B, [m.name for m in E], repr(E.A)",
        "E = enum.IntEnum('E', {'A': 3}); return x * E.A, E.__module__, E.A + 1",
        "E = enum.Flag('E', 'A B'); return x * (E.A | E.B).value, E.A in (E.A | E.B)",
        "A, B = [collections.namedtuple('N', 'a b') for _ in '12']; return x + 1, A is B, A == B, type(A(1, 2)) is A, A(1, 2) == B(1, 2), len({A, B})",
    ],
)
def test_a_class_made_by_a_call_is_in_the_graph(body):
    check_source(f"{HEAD}def f(x):\n    {body}\n", graphs=1, breaks=0)


@pytest.mark.parametrize(
    "call",
    [
        "collections.namedtuple('N', 'a a')",
        "collections.namedtuple('N', 'class')",
        "collections.namedtuple('N', 'a b', defaults=[1, 2, 3])",
        "collections.namedtuple('N')",
        "type('A', (int, str), {})",
        "type('A', (bool,), {})",
        "type('A', (), [])",
        "type(3, (), {})",
        "enum.Enum('E', 'A A')",
        "enum.IntEnum('E', {'A': 'b'})",
        "typing.NamedTuple('N', [('a', int), ('a', int)])",
    ],
)
def test_a_class_that_cannot_be_made_raises_as_in_eager(call):
    check_source(f"{HEAD}def f(x):\n    y = x + 1\n    {call}\n    return y\n")
    check_source(
        f"{HEAD}def f(x):\n    y = x + 1\n    try: {call}\n    except Exception as e: return y, type(e), str(e)\n"
    )


@pytest.mark.parametrize(
    ("make", "use"),
    [
        ("collections.namedtuple('N', 'a b')", "made(x + 1, 2)"),
        ("type('A', (), {'k': 3})", "made()"),
        ("type('L', (list,), {})", "made([x, 1])"),
        ("enum.Enum('E', 'A B')", "made.B"),
        ("enum.Flag('E', 'A B')", "made.A | made.B"),
        ("typing.NamedTuple('N', [('a', int)])", "made(x)"),
    ],
)
def test_each_call_has_a_class_of_its_own(make, use):
    program = """
seen = []
def make():
    made = {make}
    return made, {use}
def f(x):
    {body}
"""
    bodies = [
        "made, one = make(); seen.append(made); return type(one) is made, len(set(seen)), x * 2",
        "made, one = make(); seen.append(type(one)); return isinstance(one, made), len(set(seen)), x * 2",
        "made, one = make(); made.extra = 4; print(made.__name__); seen.append(made); return made.extra, type(one) is made, len(set(seen))",
        "(a, one), (b, other) = make(), make(); seen.extend([a, type(other)]); return a is b, type(one) is a, type(other) is b, len(set(seen))",
        "made, one = make(); print(x.sum() > 0); seen.append(made); y = x * 2; return y, type(one) is made, isinstance(one, seen[-1]), len(set(seen))",
    ]
    for body in bodies:
        source = (
            program.replace("{make}", make).replace("{use}", use).replace("def make():", "def make(x=3):")
        )
        check_source(HEAD + source.replace("{body}", body))


def test_an_exception_of_a_made_class_leaves_the_function():
    check_source(
        HEAD
        + """
def g(x):
    raise type("E", (KeyError,), {"code": 3})("text", x.dim())
def f(x):
    try: g(x)
    except KeyError as error: caught = error
    return x + 1, type(caught).__name__, caught.args, caught.code
"""
    )


def test_what_holds_a_tensor_or_a_class_of_the_user_is_made_natively():
    for make in ("collections.namedtuple('N', 'a b', defaults=[x])(1)", "type('A', (B,), {'k': 3})()"):
        check_source(
            f"""{HEAD}
class B:
    made = []
    def __init_subclass__(cls): B.made.append(cls.__name__)
def f(x):
    one = {make}
    return x + 1, type(one).__name__, len(B.made)
"""
        )


def test_the_module_is_that_of_the_function_that_calls():
    check_source(
        HEAD
        + """
there = {"__name__": "some.module", "collections": collections, "enum": enum}
exec("def make(): return collections.namedtuple('N', 'a'), enum.Enum('E', 'A'), type('T', (), {})", there)
make = there["make"]
def f(x):
    return x + 1, [made.__module__ for made in make()]
""",
        breaks=0,
    )


@pytest.mark.parametrize(
    "body",
    [
        "N = collections.namedtuple('N', 'a b', defaults=[3]); d = N._field_defaults; d['n'] = len(d); return x + 1, d",
        "N = collections.namedtuple('N', 'a b', defaults=[[3]]); n = N(1); n.b.append(x.dim()); return x + 1, n.b",
        "A = type('A', (), {'k': [1]}); A.k.append(2); return x + 1, A.k, len(A.k)",
        "A = type('A', (), {'k': {'a': 1}, 't': (1, 'b'), 'f': 2.5}); A.k['b'] = len(A.k); return x + 1, A.k, A.t, A.f",
        "E = enum.Enum('E', {'A': [1], 'B': (2, 3)}); E.A.value.append(2); return x + 1, E.A.value, E.B.value",
        "N = collections.namedtuple('N', 'a b'); make = N._make; return x + 1, type(make([1, 2])) is N, make, N._fields",
        "N = typing.NamedTuple('N', [('a', int)]); a = N.__annotations__; a['n'] = len(a); return x + 1, a",
        "E = enum.Enum('E', 'A B'); m = E.__members__; return x + 1, list(m), m['A'] is E.A, {E.A: 1, E.B: 2}[E.B], E.A in m.values()",
        "E = enum.Enum('E', 'A B'); kept.append((E, {E.A: 1}, [E.B])); e, d, m = kept.pop(); return x + 1, d[e.A], m[0] is e.B",
    ],
)
def test_what_a_class_holds_is_not_shared_between_calls(body):
    check_source(f"{HEAD}kept = []\ndef f(x):\n    {body}\n")
    check_source(
        f"{HEAD}kept = []\ndef f(x):\n    {body.replace('return x + 1', 'print(x.sum()); return x + 1')}\n"
    )
