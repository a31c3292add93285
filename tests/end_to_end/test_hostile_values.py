"""Values whose every special method is written by the user and noted: the trace, the guards and the exits touch them no
more often than eager does, wherever they stand, and also where an entry meets one in the place of a plain value."""

import os

import pytest
from tests.end_to_end.logged import check_log

SPECIAL = """
log = []
def spied(base, *left_out):
    def wrapper(name, own):
        def method(self, *args, **kwargs):
            log.append((base.__name__, name, args[0] if name == '__getattribute__' else ''))
            return own(self, *args, **kwargs)
        return method
    space = {}
    for name in NAMES:
        own = getattr(base, name, None)
        if name not in left_out and own is not None:
            space[name] = wrapper(name, own)
    space['__class__'] = property(lambda self: log.append('__class__') or type(self))
    return type('Spied' + base.__name__, (base,), space)
NAMES = ('__getattribute__', '__setattr__', '__delattr__', '__eq__', '__ne__', '__hash__', '__repr__', '__str__', '__format__',
    '__len__', '__bool__', '__iter__', '__contains__', '__getitem__', '__call__', '__lt__', '__add__', '__radd__', '__index__',
    '__int__', '__float__', '__dir__', '__reduce__', '__reduce_ex__', '__sizeof__', '__keys__', 'keys', 'items', 'values')
class Plain:
    def __eq__(self, other): return self is other
    def __hash__(self): return 1
    def __len__(self): return 2
    def __bool__(self): return True
    def __iter__(self): return iter((1, 2))
    def __contains__(self, item): return True
    def __getitem__(self, key): return 4
    def __call__(self): return 4
    v = 3
class Meta(type):
    def __getattribute__(c, n): log.append(('meta', n)); return super().__getattribute__(n)
    def __instancecheck__(c, o): log.append('instancecheck'); return super().__instancecheck__(o)
    def __eq__(c, o): log.append('meta eq'); return c is o
    def __hash__(c): log.append('meta hash'); return 1
    def __repr__(c): log.append('meta repr'); return 'M'
    def __len__(c): log.append('meta len'); return 1
    def __bool__(c): log.append('meta bool'); return True
class Ruled(metaclass=Meta): v = 3
class OfRuled(metaclass=Meta):
    def __init__(self): self.v = 3
class Module(torch.nn.Module): pass
class Error(Exception): pass
def nothing(): pass
def broken(): torch._dynamo.graph_break()
class Holder: pass
holder = Holder()
"""
KINDS = {
    "object": ("spied(Plain)()", "Plain()"),
    "dict": ("spied(dict)(p=1)", "{'p': 1}"),
    "ordered dict": ("spied(collections.OrderedDict)(p=1)", "{'p': 1}"),
    "list": ("spied(list)([1])", "[1]"),
    "tuple": ("spied(tuple)((1,))", "(1,)"),
    "set": ("spied(set)({1})", "{1}"),
    "frozenset": ("spied(frozenset)({1})", "frozenset({1})"),
    "str": ("spied(str)('p')", "'p'"),
    "int": ("spied(int)(1)", "1"),
    "float": ("spied(float)(1.5)", "1.5"),
    "deque": ("spied(collections.deque)([1])", "collections.deque([1])"),
    "module": ("spied(Module)()", "Module()"),
    "exception": ("spied(Error)(1)", "Error(1)"),
    "class": ("Ruled", "Plain"),
    "instance of a class": ("OfRuled()", "Plain()"),
    "partial": ("spied(functools.partial)(nothing)", "functools.partial(nothing)"),
    "namespace": ("spied(type(enum)('m').__class__)('m')", "enum"),
    "property": ("spied(property)(nothing)", "property(nothing)"),
    "tensor": ("X.as_subclass(spied(torch.Tensor, *TENSOR))", "X.clone()"),
}
# What a program does with the value `a`; `X` is a tensor.
USES = {
    "returned": "return X + 1, a",
    "in a list": "return X + 1, [a, a]",
    "in a dict": "return {'k': a, 'x': X + 1}",
    "none": "return X + 1 if a is not None else X",
    "same": "return X + (a is a) + (a is holder)",
    "type": "return X + 1, type(a)",
    "over a break": "y = X + 1; broken(); return y * 2, a",
    "in a list over a break": "y = [X + 1, a]; broken(); return y[0] * 2, y",
    "called with": "g = lambda b: (X + 1, b)\n    return g(a)",
    "called with, with a break": "def g(b):\n        broken()\n        return X + 1, b\n    return g(a)",
    "in a closure": "def g(): return X + 1, a\n    return g()",
    "in a closure that leaves": "def g(): return X + 1, a\n    y = X * 2\n    return y, g",
    "as a default": "def g(b=a): return X + 1, b\n    return g()",
    "stored in an attribute": "holder.a = a\n    return X + 1",
    "stored in an attribute, break": "holder.a = a\n    broken()\n    return X + 1, holder.a",
    "stored in a global": "global kept\n    kept = a\n    return X + 1",
    "stored in a list": "l = []\n    l.append(a)\n    return X + len(l), l",
    "in a generator": "g = (b for b in (a, X + 1))\n    return list(g)",
    "in a star": "def g(*b, **k): return b, k\n    return g(a, X + 1, k=a)",
    "in a try": "try:\n        y = X + 1\n        raise ValueError\n    except ValueError:\n        return y, a",
    "in a with": "with torch.no_grad():\n        y = X + 1\n        broken()\n    return y, a",
    "in a with, break inside": "with torch.enable_grad():\n        b = a\n        broken()\n        y = X + 1\n    return y, b",
    "deleted": "b = a\n    del b\n    return X + 1",
    "dropped": "[a]\n    return X + 1",
    "overwritten": "b = [a]\n    b = None\n    return X + 1",
    "swapped": "b, c = a, X\n    b, c = c, b\n    return b + 1, c",
    "zipped": "return [(p, q) for p, q in zip([a, a], [X, X + 1])]",
    "printed beside": "print('x'); return X + 1, a",
    "unknown call": "id(a); return X + 1, a",
}
TENSOR = "TENSOR = [n for n in NAMES if n not in ('__bool__', '__len__', '__iter__')]\n"


PLACES = {
    "argument": ("a", "", "args = lambda: (BOX,)"),
    "item": ("l", "    a = l[0]\n", "args = lambda: ([BOX],)"),
    "global": ("", "    a = BOX\n", ""),
    "attribute": ("", "    a = box.a\n", ""),
}


def program(kind, use, place):
    """`f` with the value at a place; the changes put another such value there, a plain one, and the first again."""
    spied, plain = KINDS[kind]
    parameter, first, given = PLACES[place]
    return f"""{SPECIAL}{TENSOR}
one, two, plain = {spied}, {spied}, {plain}
BOX = one
box = Holder()
box.a = one
def put(value):
    def change():
        global BOX
        BOX = box.a = value
    return change
def f({parameter}):
{first}    {USES[use]}
{given}
log.clear()
changes = [nothing, put(two), nothing, put(plain), put(one), nothing]
"""


NOT_COMPARED = {"namespace", "tensor"}
WHOLE = bool(os.environ.get("FRAMESMITH_MATRIX"))


@pytest.mark.parametrize("kind", KINDS)
def test_code_of_a_value_runs_as_often_as_in_eager(kind):
    """By default each use of a kind stands at one place, a third of them in one run; the matrix has them all."""
    start = list(KINDS).index(kind)
    for number, use in enumerate(USES):
        for turn, place in enumerate(PLACES):
            if WHOLE or ((number + start) % 3 == 0 and (number // 3 + turn) % 4 == 0):
                check_log(program(kind, use, place), results=kind not in NOT_COMPARED)


@pytest.mark.parametrize("place", PLACES)
def test_a_metaclass_is_not_asked_when_an_instance_is_stored_in_a_global(place):
    """What the namespace holds is searched by type: `in` and sets of types would ask the metaclass."""
    check_log(program("instance of a class", "stored in a global", place))
