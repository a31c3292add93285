"""Classes that change between calls: bases, special methods put on and taken off, descriptors over attributes, hooks."""

import pytest
from tests.end_to_end.perturbed import check_changes
from tests.end_to_end.support import check_source

from framesmith import frontend

INSTANCE = "class A:\n    n = 3\n    def __init__(self): self.v = 2\na, b = A(), A()\n"
_TAKE = "def take(): del {cls}.{name}\n"
# special method: (value, program); it is put on the class after the first call, then taken off.
SPECIAL = {
    "__str__": ("lambda s: 'text'", "str(a)[:3] == 'tex'"),
    "__repr__": ("lambda s: 'text'", "repr(a)[:3] == 'tex'"),
    "__format__": ("lambda s, spec: 'text'", "f'{a}'[:3] == 'tex'"),
    "__bool__": ("lambda s: False", "1 if a else 0"),
    "__len__": ("lambda s: 0", "1 if a else 0"),
    "__eq__": ("lambda s, o: True", "a == b"),
    "__ne__": ("lambda s, o: False", "a != b"),
    "__hash__": ("lambda s: 1", "len({a, b})"),
    "__iter__": ("lambda s: iter((1, 2))", "attempt(lambda: sum(a))"),
    "__getitem__": ("lambda s, i: (4, 5)[i]", "attempt(lambda: sum(a))"),
    "__contains__": ("lambda s, i: True", "attempt(lambda: 1 in a)"),
    "__call__": ("lambda s: 5", "attempt(lambda: a())"),
    "__add__": ("lambda s, o: 5", "attempt(lambda: a + b)"),
    "__radd__": ("lambda s, o: 5", "attempt(lambda: 1 + a)"),
    "__iadd__": ("lambda s, o: s", "attempt(lambda: grow(a))"),
    "__neg__": ("lambda s: 5", "attempt(lambda: -a)"),
    "__lt__": ("lambda s, o: True", "attempt(lambda: a < b)"),
    "__index__": ("lambda s: 1", "attempt(lambda: [7, 8][a])"),
    "__int__": ("lambda s: 9", "attempt(lambda: int(a))"),
    "__float__": ("lambda s: 9.0", "attempt(lambda: float(a))"),
    "__enter__": ("lambda s: 5", "attempt(lambda: enter(a))"),
    "__getattr__": ("lambda s, n: 5", "getattr(a, 'zz', 1)"),
    "__getattribute__": ("lambda s, n: 5", "a.v"),
    "__setattr__": ("lambda s, n, v: None", "store(a)"),
    "__delattr__": ("lambda s, n: None", "remove(a)"),
    "__call__ callable": ("lambda s: 5", "callable(a)"),
    "__reversed__": ("lambda s: iter((1, 2))", "attempt(lambda: list(reversed(a)))"),
    "__next__": ("lambda s: 5", "attempt(lambda: next(a))"),
    "__abs__": ("lambda s: 5", "attempt(lambda: abs(a))"),
    "__round__": ("lambda s: 5", "attempt(lambda: round(a))"),
    "__match_args__": ("('v',)", "attempt(lambda: matched(a))"),
    "__class_getitem__": ("classmethod(lambda c, k: 5)", "attempt(lambda: A[1] == 5)"),
    "__init__": ("lambda s: None", "hasattr(A(), 'v')"),
    "__new__": ("staticmethod(lambda c: 5)", "A() == 5"),
    "__del__": ("lambda s: None", "A().v"),
    "__copy__": ("lambda s: 5", "copy.copy(a) == 5"),
    "__deepcopy__": ("lambda s, m: 5", "copy.deepcopy(a) == 5"),
    "__length_hint__": ("lambda s: 5", "operator.length_hint(a, 1)"),
    "__dir__": ("lambda s: ['q']", "'q' in dir(a)"),
    "v": ("property(lambda s: 77)", "a.v"),
    "n": ("property(lambda s: 77)", "a.n"),
}
HELPERS = """
import copy, operator
def attempt(call):
    try: return call()
    except (TypeError, AttributeError) as e: return 'no'
def grow(v):
    v += 1
    return 1
def enter(v):
    with v as w: return w
def store(v): v.v = v.v + 1; return v.v
def remove(v):
    try: del v.v
    except AttributeError: return 'gone'
    return hasattr(v, 'v')
def matched(v):
    match v:
        case A(w): return w
    return 'none'
"""

OTHERS = {
    "subclasses": """
class B: pass
class C(B): name = 'c'
class Other: pass
kept = []
def add(): kept.append(type('D', (B,), {'name': 'd'}))
def add_below(): kept.append(type('E', (C,), {'name': 'e'}))
def turn(): kept[0].__bases__ = (C,)
changes = [add, add_below, turn]
def f():
    found, todo = [], B.__subclasses__()
    while todo:
        one = todo.pop()
        todo += one.__subclasses__()
        found.append(one.name)
    return X + len(found), found, B.__subclasses__() is B.__subclasses__(), type.__subclasses__(C)[:0]
""",
    "resolution order": """
class P: pass
class Q: pass
class A(P): pass
def turn(): A.__bases__ = (Q,)
changes = [turn]
def f(): return X + len(A.mro()), [one.__name__ for one in A.mro()], type.mro(A) == list(A.__mro__), int.mro()
""",
    "wrong calls of the methods of a class": """
class A: pass
def change(): A.n = 1
changes = [change]
def attempt(g):
    try: return g()
    except TypeError as error: return str(error)
def f(): return X + 1, attempt(lambda: A.mro(1)), attempt(lambda: A.__subclasses__(1)), attempt(lambda: type.mro(1)), attempt(lambda: type.__subclasses__())
""",
    "bases": """
class P: k = 1
class Q: k = 2
class A(P): pass
def turn(): A.__bases__ = (Q,)
changes = [turn]
a = A()
def f(): return X + a.k
""",
    "bases and isinstance": """
class P: pass
class Q: pass
class A(P): pass
def turn(): A.__bases__ = (Q,)
changes = [turn]
a = A()
def f(): return X + isinstance(a, P), issubclass(A, Q), isinstance(a, Q)
""",
    "bases and super": """
class P:
    def m(self): return 1
class Q:
    def m(self): return 2
class A(P):
    def m(self): return super().m()
def turn(): A.__bases__ = (Q,)
changes = [turn]
a = A()
def f(): return X + a.m()
""",
    "bases and a plain value below": """
class P: k = 1
class Q: k = 2
class A(P): k = 5
class B(A): pass
def turn(): B.__bases__ = (Q,)
changes = [turn]
a = B()
def f(): return X + a.k, B.k, B.__mro__[1].__name__, B.__bases__[0].__name__
""",
    "class of an object": """
class A: k = 1
class B: k = 2
a = A()
def turn(): a.__class__ = B
changes = [turn]
def f(): return X + a.k
""",
    "metaclass check": """
class M(type): pass
class A(metaclass=M): pass
class B: pass
b = B()
def put(): M.__instancecheck__ = lambda cls, o: True
def take(): del M.__instancecheck__
def sub(): M.__subclasscheck__ = lambda cls, o: True
changes = [put, take, sub]
def f(): return X + isinstance(b, A), issubclass(B, A)
""",
    "metaclass call": """
class M(type): pass
class A(metaclass=M): pass
def put(): M.__call__ = lambda cls: 5
changes = [put]
def f(): return X, A() == 5
""",
    "metaclass attribute": """
class M(type): pass
class A(metaclass=M): k = 1
def put(): M.k = property(lambda cls: 5)
def get(): M.__getattr__ = lambda cls, n: 7
changes = [put, get]
def f(): return X + A.k, getattr(A, 'zz', 1)
""",
    "descriptor protocol added": """
class D: pass
class A: d = D()
a = A()
def put(): D.__get__ = lambda s, o, t: 5
def sets(): D.__set__ = lambda s, o, v: None
def own(): vars(a)['d'] = 9
changes = [put, own, sets]
def f(): return X, a.d == 5, a.d == 9
""",
    "set added": """
class D:
    def __get__(self, o, t): return 5
class A: d = D()
a = A(); vars(a)['d'] = 7
def put(): D.__set__ = lambda s, o, v: None
def take(): del D.__set__
changes = [put, take]
def f(): return X + a.d
""",
    "property over a class attribute": """
class A: k = 1
a = A()
def put(): A.k = property(lambda s: 5)
changes = [put]
def f(): return X + a.k
""",
    "property over an instance attribute": """
class A: pass
a = A(); a.k = 1
def put(): A.k = property(lambda s: 5)
def take(): del A.k
changes = [put, take]
def f(): return X + a.k
""",
    "property over a named tuple's field": """
T = collections.namedtuple('T', 'x y')
t = T(1, 2)
def put(): T.x = property(lambda s: 7)
changes = [put]
def f(): return X + t.x
""",
    "method over a named tuple's field": """
class T(typing.NamedTuple):
    x: int
    y: int
t = T(1, 2)
def put(): T.count = lambda s, v: 7
def iters(): T.__iter__ = lambda s: iter((8, 9))
def lens(): T.__len__ = lambda s: 11
def item(): T.__getitem__ = lambda s, i: 12
changes = [put, iters, lens, item]
def f(): return X + t.count(1), list(t), len(t), t[0]
""",
    "enum value": """
class E(enum.Enum): A = 1
def put(): E.A._value_ = 5
changes = [put]
def f(): return X + E.A.value
""",
    "enum value underscored": """
class E(enum.Enum): A = 1
def put(): E.A._value_ = 5
changes = [put]
def f(): return X + E.A._value_
""",
    "enum name": """
class E(enum.Enum): A = 1
def put(): E.A._name_ = 'other'
changes = [put]
def f(): return X, E.A.name
""",
    "flag value": """
class E(enum.Flag): A, B = 1, 2
def put(): E.A._value_ = 4
def gone(): del E.A._value_
def back(): E.A._value_ = 1
changes = [put, gone, back]
def f():
    try: return X + (E.A | E.B)._value_, E.A in E.B, bool(E.A & E.B)
    except AttributeError as error: return X, str(error)
""",
    "enum text": """
class E(enum.Enum): A, B = 1, 2
def put(): E.A._value_ = 4
def gone(): del E.A._value_
def back(): E.A._value_ = 1
changes = [put, gone, back]
def f():
    try: return X, repr(E.A), E.A.value
    except AttributeError as error: return X, str(error)
""",
    "enum method": """
class E(enum.Enum): A = 1
def put(): E.extra = property(lambda s: 5)
def more(): E.__bool__ = lambda s: False
changes = [put, more]
def f(): return X, getattr(E.A, 'extra', 1), bool(E.A)
""",
    "method replaced": """
class A:
    def m(self): return 1
a = A()
def put(): A.m = lambda s: 2
def code(): A.m.__code__ = (lambda s: 3).__code__
changes = [put, code]
def f(): return X + a.m()
""",
    "static method replaced": """
class A:
    @staticmethod
    def m(): return 1
    @classmethod
    def c(cls): return 1
a = A()
def put(): A.m = staticmethod(lambda: 2)
def cls(): A.c = classmethod(lambda c: 4)
changes = [put, cls]
def f(): return X + a.m() + A.c()
""",
    "tensor attribute": """
def put(): torch.Tensor.fs_probe = 5
def take(): torch.Tensor.__dict__.get('fs_probe') and delattr(torch.Tensor, 'fs_probe')
changes = [put, take]
def f(): return X + 1 if hasattr(X, 'fs_probe') else X - 1
""",
    "leaf": """
v = [torch.ones(2, requires_grad=True) * 1]
def leaf(): v[0] = torch.ones(2, requires_grad=True)
def back(): v[0] = torch.ones(2, requires_grad=True) * 3
changes = [leaf, back]
def f(): return v[0].add_(1).detach()
""",
    "leaf by a view": """
v = [torch.ones(2, requires_grad=True) * 1]
def leaf(): v[0] = torch.ones(2, requires_grad=True)
changes = [leaf]
def f():
    v[0][0] = 5.0
    return v[0].detach()
""",
    "leaf by out": """
v = [torch.ones(2, requires_grad=True) * 1]
def leaf(): v[0] = torch.ones(2, requires_grad=True)
changes = [leaf]
def f():
    v[0].mul_(2).relu_()
    return v[0].detach()
""",
    "dataclass eq": """
@dataclasses.dataclass
class A: k: int = 1
a, b = A(), A(2)
def put(): A.__eq__ = lambda s, o: True
changes = [put]
def f(): return X, a == b
""",
    "list subclass": """
class L(list): pass
l = L([1, 2])
def put(): L.__len__ = lambda s: 7
def get(): L.__getitem__ = lambda s, i: 9
def it(): L.__iter__ = lambda s: iter((5,))
def has(): L.__contains__ = lambda s, v: True
changes = [put, get, it, has]
def f(): return X, len(l), l[0], [v for v in l], 77 in l, bool(l)
""",
    "dict subclass": """
class L(dict): pass
l = L(a=1)
def miss(): L.__missing__ = lambda s, k: 7
def keys(): L.keys = lambda s: ['a']
changes = [miss, keys]
def attempt(k):
    try: return l[k]
    except KeyError: return 'no'
def f(): return X, attempt('a'), attempt('b'), dict(**l)
""",
    "int subclass": """
class I(int): pass
i = I(3)
def add(): I.__add__ = lambda s, o: 100
def radd(): I.__radd__ = lambda s, o: 50
def eq(): I.__eq__ = lambda s, o: False
changes = [add, radd, eq]
def f(): return X, i + 1, 1 + i, i == 3
""",
    "str subclass": """
class S(str): pass
s = S('ab')
def up(): S.upper = lambda s: 'no'
def st(): S.__str__ = lambda s: 'other'
changes = [up, st]
def f(): return X, s.upper(), str(s), f'{s}'
""",
    "exception class": """
class Q(Exception): pass
class P(Exception): pass
class E(Q): pass
def turn(): E.__bases__ = (P,)
def st(): E.__str__ = lambda s: 'other'
changes = [turn, st]
def f():
    try: raise E('x')
    except P as e: return X, 'p', str(e)
    except E as e: return X, 'e', str(e)
""",
    "context manager": """
class C:
    def __enter__(self): return 1
    def __exit__(self, *a): return False
c = C()
def enter(): C.__enter__ = lambda s: 5
def leave(): C.__exit__ = lambda s, *a: True
changes = [enter, leave]
def f():
    try:
        with c as v:
            y = X + v
            raise ValueError
    except ValueError: return y, 'raised'
    return y, 'kept'
""",
    "iterator class": """
class C:
    def __init__(self): self.i = 0
    def __iter__(self): return self
    def __next__(self):
        self.i += 1
        if self.i > 3: raise StopIteration
        return self.i
def stop(s): raise StopIteration
def nxt(): C.__next__ = stop
changes = [nxt]
def f(): return X, list(C())
""",
    "partial subclass": """
class C:
    def __call__(self): return 1
c = C()
def call(): C.__call__ = lambda s: 2
changes = [call]
def f(): return X + functools.partial(c)()
""",
}
HOOKS = {
    "forward hook": "def put(): h.append(m.register_forward_hook(lambda m, i, o: o + 1))",
    "forward pre-hook": "def put(): h.append(m.register_forward_pre_hook(lambda m, i: (i[0] + 1,)))",
    "hook with keywords": "def put(): h.append(m.register_forward_pre_hook(lambda m, i, k: ((i[0] + 1,), k), with_kwargs=True))",
    "hook always called": "def put(): h.append(m.register_forward_hook(lambda m, i, o: o + 1, always_call=True))",
    "backward hook": "def put(): h.append(m.register_full_backward_hook(lambda m, i, o: (i[0] * 2,)))",
    "backward pre-hook": "def put(): h.append(m.register_full_backward_pre_hook(lambda m, o: (o[0] * 2,)))",
    "global forward hook": "def put(): h.append(torch.nn.modules.module.register_module_forward_hook(lambda m, i, o: o + 1))",
    "global forward pre-hook": "def put(): h.append(torch.nn.modules.module.register_module_forward_pre_hook(lambda m, i: (i[0] + 1,)))",
    "global backward hook": "def put(): h.append(torch.nn.modules.module.register_module_full_backward_hook(lambda m, i, o: (i[0] * 2,)))",
    "global backward pre-hook": "def put(): h.append(torch.nn.modules.module.register_module_full_backward_pre_hook(lambda m, o: (o[0] * 2,)))",
    "tensor hook": "def put(): h.append(x.register_hook(lambda g: g * 2))",
    "parameter hook": "def put(): h.append(m.weight.register_hook(lambda g: g * 2))",
    "accumulation hook": "def put(): h.append(m.weight.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2)))",
    "forward replaced": "def put(): m.forward = lambda x: x * 7; h.append(Undo(lambda: delattr(m, 'forward')))",
    "class call replaced": "class L(torch.nn.Linear): pass\nm.__class__ = L\ndef put(): L.__call__ = lambda s, x: x * 7; h.append(Undo(lambda: delattr(L, '__call__')))",
    "training": "def put(): m.eval(); h.append(Undo(m.train))\nm.forward = lambda x: torch.nn.functional.linear(x, m.weight) * (2 if m.training else 3)",
}
HOOK_PROGRAM = """
class Undo:
    def __init__(self, remove): self.remove = remove
m = torch.nn.Linear(2, 2, bias=False)
with torch.no_grad(): m.weight.fill_(1.0)
x = torch.ones(2, requires_grad=True)
class H: pass
h = H()
h.append = lambda hook: setattr(h, 'hook', hook)
def take(): h.hook.remove()
def f():
    x.grad = m.weight.grad = None
    y = g(x)
    y.sum().backward()
    return y.detach(), x.grad.clone(), m.weight.grad.clone()
def g(x): return m(x)
"""


@pytest.mark.parametrize("name", SPECIAL)
def test_a_special_method_put_on_later_is_seen(name):
    value, question = SPECIAL[name]
    name = name.split()[0]
    put = f"def put(): A.{name} = {value}\n"
    take = f"def take(): del A.{name}\n" if name != "n" else "def take(): A.n = 4\n"
    program = f"def f(): return X, {question}\nchanges = [put, take, put]\n"
    check_changes(HELPERS + INSTANCE + put + take + program)


@pytest.mark.parametrize("name", OTHERS)
def test_a_change_of_a_class_is_seen(name):
    check_changes(OTHERS[name])


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_registered_later_is_seen(name):
    check_changes(HOOK_PROGRAM + HOOKS[name] + "\nchanges = [put, take, put, take]\n")


def test_a_property_read_before_and_after_its_class_is_written() -> None:
    program = "def f(x):\n    A.scale = a.twice\n    A.scale = a.twice\n    return x * A.scale\n"
    check_source(
        f"import torch\n{INSTANCE}A.twice = property(lambda self: self.n * 2)\n{program}def args(): return [torch.ones(2)]\n"
    )


def test_a_dictionary_that_a_class_holds_is_that_of_an_instance() -> None:
    check_changes(
        "class State: pass\nstate = State()\nstate.scale = 1\nclass Shared: names = vars(state)\n"
        "def f(): return X * Shared.names['scale']\n"
        "def put(value):\n    for _ in range(20): state.scale = value\n"
        "changes = [lambda: put(1), lambda: put(2), lambda: put(3)]\n"
    )


HELD = {
    "a dictionary that is read": ("dict(a=1, b=2)", "sum(C.held.values())", "C.held['a'] = 7"),
    "a dictionary that is asked": (
        "dict(a=1)",
        "(1 if 'z' in C.held else 2) * len(C.held)",
        "C.held['z'] = 7",
    ),
    "slots": ("Slots()", "C.held.n", "C.held.n = 7"),
    "slots below slots": ("Slots(Slots())", "C.held.n.n", "C.held.n.n = 7"),
    "a class": ("A()", "C.held.m()", "C.held.__class__ = B"),
}


@pytest.mark.parametrize("name", HELD)
def test_what_a_class_holds_is_replaced_by_an_equal_object_which_changes_then(name: str) -> None:
    value, program, change = HELD[name]
    check_changes(
        "class Slots:\n    __slots__ = ('n',)\n    def __init__(self, n=3): self.n = n\n"
        "class A:\n    def m(self): return 1\nclass B:\n    def m(self): return 2\n"
        f"class C: held = {value}\n"
        f"def f(): return X * ({program})\n"
        f"def replace(): C.held = {value}\n"
        f"def change(): {change}\n"
        "changes = [replace, change, replace, change]\n"
    )


ABSTRACT = """
class A:
    pass
def f():
    global calls
    calls += 1
    A.__abstractmethods__ = frozenset({"g"}) if calls == 2 else frozenset()
    return make()
def make():
    try:
        return type(A()).__name__
    except TypeError as error:
        return str(error)
calls = 0
"""


def test_a_class_that_becomes_abstract_has_no_instances() -> None:
    check_source(ABSTRACT)


def test_a_class_that_becomes_abstract_between_calls_has_no_instances() -> None:
    class A:
        pass

    def make(x):
        try:
            return x, isinstance(A(), A)
        except TypeError as error:
            return x, str(error)

    compiled = frontend.compile(make, backend="eager")
    for names in ((), ("g",), ()):
        A.__abstractmethods__ = frozenset(names)
        assert compiled(1) == make(1)
