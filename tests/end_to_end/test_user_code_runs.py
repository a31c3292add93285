"""Code of the user runs exactly as often as in eager: neither tracing nor a guard nor a message of ours calls it.

Each program notes its calls in the global list `log`, which the comparison includes. The state changes once, so that guards
miss and are explained.
"""

import pytest
from tests.end_to_end.logged import check_log
from tests.end_to_end.support import check_source

CALLS = """
log = []
def note(what): log.append(what)
def nothing(): pass
"""
# What the class holds, and what the program does with an instance `a` (and another one, `b`).
PROGRAMS = {
    "getattribute": ("def __getattribute__(s, n): note(n); return object.__getattribute__(s, n)", "X * a.v"),
    "getattribute with a method": (
        "def m(s): return s.v\n    def __getattribute__(s, n): note(n); return super().__getattribute__(n)",
        "X * a.m()",
    ),
    "getattribute, only passed on": (
        "def __getattribute__(s, n): note(n); return object.__getattribute__(s, n)",
        "(X + 1, a)[0]",
    ),
    "getattribute, isinstance": (
        "def __getattribute__(s, n): note(n); return object.__getattribute__(s, n)",
        "X + isinstance(a, A)",
    ),
    "getattr": ("def __getattr__(s, n): note(n); return 5", "X * a.missing"),
    "setattr": ("def __setattr__(s, n, v): note(n); object.__setattr__(s, n, v)", "X * put(a, 7)"),
    "delattr": ("def __delattr__(s, n): note(n)", "X * take(a)"),
    "property": ("@property\n    def p(s): note('p'); return s.v", "X * a.p"),
    "class property": ("@property\n    def __class__(s): note('c'); return A", "X * a.v"),
    "eq": ("def __eq__(s, o): note('eq'); return False", "X + (a == b)"),
    "hash": (
        "def __hash__(s): note('hash'); return 1\n    def __eq__(s, o): note('eq'); return s is o",
        "X + len({a, b})",
    ),
    "hash, a key of a dict": (
        "def __hash__(s): note('hash'); return 1\n    def __eq__(s, o): note('eq'); return s is o",
        "X + D[a]",
    ),
    "hash, a dict is walked": (
        "def __hash__(s): note('hash'); return 1\n    def __eq__(s, o): note('eq'); return s is o",
        "X + sum(D.values()) + len(D)",
    ),
    "repr": ("def __repr__(s): note('repr'); return 'A'", "X * a.v"),
    "str": ("def __str__(s): note('str'); return 'A'", "(X, str(a))"),
    "bool": ("def __bool__(s): note('bool'); return True", "X + 1 if a else X"),
    "len": ("def __len__(s): note('len'); return 3", "X + len(a)"),
    "iter": ("def __iter__(s): note('iter'); return iter((1, 2))", "X + sum(a)"),
    "contains": ("def __contains__(s, i): note('in'); return True", "X + (1 in a)"),
    "getitem": ("def __getitem__(s, i): note('item'); return 4", "X + a[0]"),
    "call": ("def __call__(s): note('call'); return 4", "X + a()"),
    "format": ("def __format__(s, spec): note('format'); return 'A'", "(X, f'{a}')"),
    "index": ("def __index__(s): note('index'); return 1", "X + [1, 2][a]"),
    "torch function": (
        "@classmethod\n    def __torch_function__(c, f, t, a=(), k=None): note('tf'); return X",
        "torch.add(X, a)",
    ),
    "descriptor": ("d = Descriptor()", "X * a.d"),
    "descriptor store": ("d = Descriptor()", "X * put_d(a, 3)"),
    "del": ("def __del__(s): note('del')", "X * A().v"),
    "reduce": ("def __reduce__(s): note('reduce'); return (A, ())", "X * a.v"),
    "dir": ("def __dir__(s): note('dir'); return []", "X * a.v"),
    "dict property": ("@property\n    def __dict__(s): note('dict'); return {}", "X * a.v"),
    "subclass hook": (
        "@classmethod\n    def __subclasshook__(c, k): note('hook'); return True",
        "X + isinstance(1, A)",
    ),
}
BODY = """
class Descriptor:
    def __get__(s, o, t): note('get'); return 5
    def __set__(s, o, v): note('set')
class A:
    {body}
    v = 3
def put(o, v):
    o.w = v
    return 2
def put_d(o, v):
    o.d = v
    return 2
def take(o):
    del o.w
    return 2
a, b = A(), A()
D = {{}}
if 'hash' in {name!r}: D.update({{a: 1, b: 2}})
box = [a, b]
def swap():
    global a
    a = b
changes = [nothing, nothing, swap, nothing]
def f(): return {question}
"""
OTHERS = {
    "metaclass": """
class M(type):
    def __getattribute__(c, n): note(n); return super().__getattribute__(n)
    def __instancecheck__(c, o): note('instancecheck'); return True
    def __subclasscheck__(c, o): note('subclasscheck'); return True
    def __call__(c, *a): note('call'); return super().__call__(*a)
    def __repr__(c): note('repr'); return 'M'
class A(metaclass=M): k = 4
class B(metaclass=M): k = 5
K = A
def swap():
    global K
    K = B
def f(): return X * K.k, isinstance(3, K), issubclass(int, K), K() is None
""",
    "module": """
class L(torch.nn.Linear):
    def __getattr__(s, n): note(n); return super().__getattr__(n)
    def __setattr__(s, n, v): note(n); super().__setattr__(n, v)
    def __repr__(s): note('repr'); return 'L'
torch.manual_seed(0)
m, o = L(2, 2), L(2, 2)
log.clear()
def swap():
    global m
    m = o
def f():
    m.seen = 1
    return m(X)
""",
    "module with a getattribute": """
class L(torch.nn.Linear):
    def __getattribute__(s, n): note(n); return super().__getattribute__(n)
torch.manual_seed(0)
m, o = L(2, 2), L(2, 2)
log.clear()
def swap():
    global m
    m = o
def f(): return m(X)
""",
    "dict subclass": """
class A(dict):
    def __getitem__(s, k): note(k); return super().__getitem__(k)
    def __contains__(s, k): note('in'); return super().__contains__(k)
    def __len__(s): note('len'); return super().__len__()
    def __iter__(s): note('iter'); return super().__iter__()
    def keys(s): note('keys'); return super().keys()
d, o = A(p=1, q=2), A(p=3)
def swap():
    global d
    d = o
def f(): return X * d['p'] + ('q' in d) + len(d), [k for k in d]
""",
    "list subclass": """
class A(list):
    def __getitem__(s, k): note(k); return super().__getitem__(k)
    def __len__(s): note('len'); return super().__len__()
    def __iter__(s): note('iter'); return super().__iter__()
d, o = A([1, 2]), A([3])
def swap():
    global d
    d = o
def f(): return X * d[0] + len(d), [k for k in d]
""",
    "string subclass": """
class S(str):
    def __eq__(s, o): note('eq'); return str.__eq__(s, o)
    def __hash__(s): note('hash'); return str.__hash__(s)
    def __repr__(s): note('repr'); return 'S'
s, o = S('p'), S('q')
d = {'p': 1, 'q': 2}
def swap():
    global s
    s = o
def f(): return X + (s == 'p'), s.upper()
""",
    "int subclass": """
class I(int):
    def __eq__(s, o): note('eq'); return int.__eq__(s, o)
    def __add__(s, o): note('add'); return int.__add__(s, o)
    def __hash__(s): return int.__hash__(s)
    def __repr__(s): note('repr'); return 'I'
i, o = I(1), I(2)
def swap():
    global i
    i = o
def f(): return X + (i + 1), i == 1
""",
    "enumeration": """
class E(enum.Enum):
    P = 1
    Q = 2
    def __str__(s): note('str'); return 'E'
    def __repr__(s): note('repr'); return 'E'
    def __eq__(s, o): note('eq'); return s is o
    def __hash__(s): note('hash'); return 1
e = E.P
log.clear()
def swap():
    global e
    e = E.Q
def f(): return X + e.value, e is E.P
""",
    "named tuple": """
class T(collections.namedtuple('T', 'x y')):
    __slots__ = ()
    def __getitem__(s, i): note(i); return tuple.__getitem__(s, i)
    def __len__(s): note('len'); return 2
    def __iter__(s): note('iter'); return tuple.__iter__(s)
    def __eq__(s, o): note('eq'); return tuple.__eq__(s, o)
t, o = T(1, 2), T(3, 4)
def swap():
    global t
    t = o
def f(): return X + t.x, t[1]
""",
    "exception": """
class E(Exception):
    def __str__(s): note('str'); return 'E'
    def __repr__(s): note('repr'); return 'E'
    def __getattribute__(s, n): note(n); return super().__getattribute__(n)
swap = nothing
def f():
    try: raise E(1)
    except E: return X + 1
""",
    "data class": """
@dataclasses.dataclass
class A:
    v: int
    def __getattribute__(s, n): note(n); return super().__getattribute__(n)
a, o = A(1), A(2)
log.clear()
def swap():
    global a
    a = o
def f(): return X * a.v, a == o
""",
    "an argument of many": """
class A:
    def __init__(s): object.__setattr__(s, 'v', 2)
    def __getattribute__(s, n): note(n); return object.__getattribute__(s, n)
    def __eq__(s, o): note('eq'); return s is o
    def __hash__(s): note('hash'); return 1
    def __repr__(s): note('repr'); return 'A'
    def __del__(s): pass
one, two = A(), A()
swap = nothing
args = lambda: ([one, two], {'k': one}, one)
def f(l, d, o): return X * l[0].v + d['k'].v, o is one, l[1]
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_special_method_runs_as_often_as_in_eager(name):
    body, question = PROGRAMS[name]
    check_log(CALLS + BODY.format(body=body, question=question, name=name))


@pytest.mark.parametrize("name", OTHERS)
def test_code_of_a_class_runs_as_often_as_in_eager(name):
    check_log(CALLS + OTHERS[name] + "changes = [nothing, nothing, swap, nothing]\n")


KEYED = """
calls = []
class Key:
    def __init__(self, number):
        self.number = number
    def __hash__(self):
        calls.append("hash")
        return 1
    def __eq__(self, other):
        calls.append("eq")
        return self.number == other.number
    def __repr__(self):
        return f"Key({self.number})"
class Part(BASE):
    METHOD = BASE.METHOD
    def __len__(self):
        return BASE.__len__(self)
KEYS = [Key(number) for number in range(4)]
HELD = Part(dict.fromkeys(KEYS, 1) if BASE is dict else KEYS)
def f():
    return len(HELD), len(list(BASE.__iter__(HELD))), len(calls)
"""


@pytest.mark.parametrize("base", ["set", "frozenset", "dict"])
@pytest.mark.parametrize("method", ["__iter__", "__contains__", "__len__"])
def test_reading_a_subclass_hashes_no_member(base, method) -> None:
    if base == "dict" and method == "__iter__":
        method = "__getitem__"  # one with an `__iter__` of its own is copied item by item
    check_source(KEYED.replace("BASE", base).replace("METHOD", method))
