"""What a program looked up and did not use: presence and absence are facts, whatever became of the value."""

import pytest
from tests.end_to_end.perturbed import check_changes

INSTANCE = """
class A: pass
a = A(); a.z = 1
def put(): a.z = 2
def drop(): a.__dict__.pop('z', None)
changes = [drop, put, drop]
"""
INSTANCES = {
    "hasattr": "def f(): return X + 1 if hasattr(a, 'z') else X - 1",
    "hasattr of an argument": "args = lambda: (a,)\ndef f(b): return X + 1 if hasattr(b, 'z') else X - 1",
    "try": "def f():\n    try: a.z\n    except AttributeError: return X - 1\n    return X + 1",
    "getattr with a default": "def f(): getattr(a, 'z', None); return X + (getattr(a, 'z', None) is None)",
    "getattr, unused": "def f():\n    v = getattr(a, 'z', X)\n    return X + 1 if v is X else X",
    "stored elsewhere": "out = []\ndef f():\n    out.append(getattr(a, 'z', 7))\n    return X + 1",
    "vars": "def f(): return X + 1 if 'z' in vars(a) else X - 1",
    "dict": "def f(): return X + 1 if 'z' in a.__dict__ else X - 1",
    "dict get": "def f():\n    v = a.__dict__.get('z', X)\n    return X + 1 if v is X else X",
    "len of vars": "def f(): return X + len(vars(a))",
    "dir": "def f(): return X + 1 if 'z' in dir(a) else X - 1",
    "delete": "def f():\n    try: del a.z\n    except AttributeError: return X - 1\n    return X + 1",
    "returned": "def f():\n    try: return a.z\n    except AttributeError: return 5",
    "in a tuple": "def f():\n    try: return (X + 1, a.z)\n    except AttributeError: return 5",
    "nested": "def f():\n    try: a.z; a.y\n    except AttributeError as e: return X + 1, e.name",
    "object getattribute": "def f():\n    try: object.__getattribute__(a, 'z')\n    except AttributeError: return X - 1\n    return X + 1",
    "getattr hook": "A.__getattr__ = lambda s, n: X\ndef f():\n    v = a.z\n    return X + 1 if v is X else X",
    "match": "A.__match_args__ = ('z',)\ndef f():\n    match a:\n        case A(v): return X + 1\n        case _: return X",
    "match keyword": "def f():\n    match a:\n        case A(z=v): return X + 1\n        case _: return X",
}

OTHERS = {
    "global": """
G = 1
def put(): globals().update(G=2)
def drop(): del globals()['G']
changes = [drop, put, drop]
def f():
    try: G
    except NameError: return X - 1
    return X + 1
""",
    "global only passed on": """
G = 1
def put(): globals().update(G=2)
def drop(): globals().pop('G')
changes = [drop, put, drop]
def f():
    try: v = (G, X + 1)
    except NameError: return X - 1
    return v[1]
""",
    "global absent": """
def put(): globals().update(G=2)
def drop(): globals().pop('G')
changes = [put, drop, put]
def f():
    try: G
    except NameError: return X - 1
    return X + 1
""",
    "global over a builtin": """
def put(): globals().update(len=lambda v: 5)
def drop(): globals().pop('len')
changes = [put, drop, put]
def f(): v = len; return X + 1, v([1])
""",
    "builtin": """
import builtins
def put(): builtins.fs_probe = 1
def drop(): builtins.__dict__.pop('fs_probe', 0)
put()
changes = [drop, put, drop]
def f():
    try: fs_probe
    except NameError: return X - 1
    return X + 1
""",
    "builtin absent": """
import builtins
def put(): builtins.fs_probe2 = 1
def drop(): builtins.__dict__.pop('fs_probe2', 0)
changes = [put, drop]
def f():
    try: fs_probe2
    except NameError: return X - 1
    return X + 1
""",
    "cell": """
def make():
    c = 1
    def f():
        try: c
        except NameError: return X - 1
        return X + 1
    def put():
        nonlocal c
        c = 3
    def drop():
        nonlocal c
        del c
    return f, put, drop
f, put, drop = make()
changes = [drop, put, drop]
""",
    "cell empty": """
def make():
    def f():
        try: c
        except NameError: return X - 1
        return X + 1
    def put():
        nonlocal c
        c = 3
    def drop():
        nonlocal c
        del c
    if 0: c = 1
    return f, put, drop
f, put, drop = make()
changes = [put, drop, put]
""",
    "cell of an inlined function": """
def make():
    c = 1
    def g():
        try: c
        except NameError: return X - 1
        return X + 1
    def put():
        nonlocal c
        c = 3
    def drop():
        nonlocal c
        del c
    return g, put, drop
g, put, drop = make()
def f(): return g() * 2
changes = [drop, put, drop]
""",
    "cell of a function handed in": """
def make():
    c = 1
    def g():
        try: c
        except NameError: return X - 1
        return X + 1
    def put():
        nonlocal c
        c = 3
    def drop():
        nonlocal c
        del c
    return g, put, drop
g, put, drop = make()
args = lambda: (g,)
def f(h): return h() * 2
changes = [drop, put, drop]
""",
    "slot": """
class A: __slots__ = ('z',)
a = A(); a.z = 1
def put(): a.z = 2
def drop(): del a.z
changes = [drop, put, drop]
def f(): return X + 1 if hasattr(a, 'z') else X - 1
""",
    "slot empty": """
class A: __slots__ = ('z',)
a = A()
def put(): a.z = 2
def drop(): del a.z
changes = [put, drop, put]
def f():
    try: a.z
    except AttributeError: return X - 1
    return X + 1
""",
    "function attribute": """
def g(): pass
g.z = 1
def put(): g.z = 2
def drop(): del g.z
changes = [drop, put, drop]
def f(): return X + 1 if hasattr(g, 'z') else X - 1
""",
    "function attribute absent": """
def g(): pass
def put(): g.z = 2
def drop(): del g.z
changes = [put, drop, put]
def f(): return X + 1 if hasattr(g, 'z') else X - 1
""",
    "function attribute of an argument": """
def g(): pass
def put(): g.z = 2
def drop(): del g.z
changes = [put, drop, put]
args = lambda: (g,)
def f(h): return X + 1 if hasattr(h, 'z') else X - 1
""",
    "function defaults": """
def g(a, b=1): return b
def one(): g.__defaults__ = None
def two(): g.__defaults__ = (5, 6)
def three(): g.__kwdefaults__ = {}
changes = [two, one, three, two]
def f():
    try: return X + g(3)
    except TypeError: return X - 100
""",
    "function keyword default": """
def g(*, b=1): return b
def one(): g.__kwdefaults__ = None
def two(): g.__kwdefaults__ = {'b': 5}
changes = [two, one, two]
def f():
    try: return X + g()
    except TypeError: return X - 100
""",
    "function doc": """
def g(): 'doc'
def drop(): g.__doc__ = None
changes = [drop]
def f(): return X + 1 if g.__doc__ else X
""",
    "method attribute": """
class A:
    def m(self): pass
a = A()
def put(): A.m.z = 2
def drop(): del A.m.z
changes = [put, drop, put]
def f(): return X + 1 if hasattr(a.m, 'z') else X - 1
""",
    "partial attribute": """
p = functools.partial(print)
def put(): p.z = 2
def drop(): del p.z
changes = [put, drop, put]
def f(): return X + 1 if hasattr(p, 'z') else X - 1
""",
    "module attribute": """
import types
m = types.ModuleType('m'); m.z = 1
def put(): m.z = 2
def drop(): del m.z
changes = [drop, put, drop]
def f(): return X + 1 if hasattr(m, 'z') else X - 1
""",
    "module attribute absent": """
import types
m = types.ModuleType('m')
def put(): m.z = 2
def drop(): del m.z
changes = [put, drop, put]
def f():
    try: m.z
    except AttributeError: return X - 1
    return X + 1
""",
    "module getattr": """
import types
m = types.ModuleType('m')
def put(): m.__getattr__ = lambda name: 5
def drop(): del m.__getattr__
changes = [put, drop, put]
def f(): return X + 1 if hasattr(m, 'z') else X - 1
""",
    "class attribute": """
class B: z = 1
class A(B): pass
def put(): B.z = 2
def drop(): del B.z
changes = [drop, put, drop]
def f(): return X + 1 if hasattr(A, 'z') else X - 1
""",
    "class attribute absent": """
class B: pass
class A(B): pass
def put(): B.z = 2
def drop(): del B.z
changes = [put, drop, put]
def f():
    try: A.z
    except AttributeError: return X - 1
    return X + 1
""",
    "class attribute through an instance": """
class B: z = 1
class A(B): pass
a = A()
def put(): B.z = 2
def drop(): del B.z
changes = [drop, put, drop]
def f(): return X + 1 if hasattr(a, 'z') else X - 1
""",
    "class attribute set to None": """
class A: z = 1
a = A()
def put(): A.z = None
def drop(): A.z = 3
changes = [put, drop, put]
def f():
    v = a.z
    return X + 1 if v is None else X - 1
""",
    "class attribute in a tuple": """
class A: z = 1
a = A()
def put(): A.z = 2
def drop(): del A.z
changes = [drop, put, drop]
def f():
    try: t = (a.z, X + 1)
    except AttributeError: return X - 1
    return t[1]
""",
    "callable": """
class A: pass
a = A()
def put(): A.__call__ = lambda self: 5
def drop(): del A.__call__
changes = [put, drop]
def f(): return X + 1 if callable(a) else X
""",
    "isinstance": """
class A: pass
class B: pass
a = [A()]
def one(): a[0] = B()
changes = [one]
def f(): return X + 1 if isinstance(a[0], A) else X
""",
    "isinstance of an unread global": """
class A: pass
class B: pass
K = A
a = A()
def one(): globals().update(K=B)
changes = [one]
def f(): return X + 1 if isinstance(a, K) else X
""",
    "issubclass by registration": """
class A(abc.ABC): pass
class B: pass
def one(): A.register(B)
changes = [one]
def f(): return X + 1 if issubclass(B, A) else X
""",
    "namespace": """
import types
a = types.SimpleNamespace(z=1)
def put(): a.z = 2
def drop(): a.__dict__.pop('z', None)
changes = [drop, put]
def f(): return X + 1 if hasattr(a, 'z') else X
""",
    "module parameter": """
m = torch.nn.Linear(2, 2, bias=False)
def put(): m.register_parameter('z', None)
def drop(): del m._parameters['z']
changes = [put, drop]
def f(): return X + 1 if hasattr(m, 'z') else X
""",
    "module child": """
m = torch.nn.Sequential(torch.nn.ReLU())
def put(): m.add_module('z', torch.nn.ReLU())
def drop(): del m.z
changes = [put, drop]
def f(): return X + 1 if hasattr(m, 'z') else X
""",
    "module child present": """
m = torch.nn.Sequential(torch.nn.ReLU())
m.add_module('z', torch.nn.ReLU())
def put(): m.add_module('z', torch.nn.ReLU())
def drop(): del m.z
changes = [drop, put]
def f(): return X + 1 if hasattr(m, 'z') else X
""",
    "tensor attribute": """
t = torch.ones(2)
def put(): t.z = 2
def drop(): del t.z
changes = [put, drop, put]
def f(): return X + 1 if hasattr(t, 'z') else X
""",
    "tensor attribute present": """
t = torch.ones(2); t.z = 1
def put(): t.z = 2
def drop(): del t.z
changes = [drop, put]
def f(): return X + 1 if hasattr(t, 'z') else X
""",
    "parameter attribute": """
t = torch.nn.Parameter(torch.ones(2))
def put(): t.z = 2
def drop(): del t.z
changes = [put, drop, put]
def f(): return X + 1 if hasattr(t, 'z') else X
""",
    "dataclass field": """
@dataclasses.dataclass
class A: z: int = 1
a = A()
def drop(): del A.z; del a.z
changes = [drop]
def f(): return X + 1 if hasattr(a, 'z') else X
""",
    "exception attribute": """
e = ValueError(1)
def put(): e.z = 1
def drop(): del e.z
changes = [put, drop]
def f(): return X + 1 if hasattr(e, 'z') else X
""",
    "import from": """
import sys, types
m = sys.modules.setdefault('fs_probe_m', types.ModuleType('fs_probe_m')); m.z = 1
def drop(): m.__dict__.pop('z', 0)
def put(): m.z = 2
changes = [drop, put]
def f():
    try:
        from fs_probe_m import z
    except ImportError: return X - 1
    return X + 1
""",
    "weak reference": """
class A: pass
a = [A()]
r = weakref.ref(a[0])
def drop(): a.clear()
changes = [drop]
def f(): return X + 1 if r() is None else X
""",
}


@pytest.mark.parametrize("name", INSTANCES)
def test_presence_of_an_instance_attribute_is_a_fact(name):
    check_changes(INSTANCE + INSTANCES[name])


@pytest.mark.parametrize("name", OTHERS)
def test_presence_is_a_fact(name):
    check_changes(OTHERS[name])


@pytest.mark.parametrize("name", ["_forward_hooks", "_forward_pre_hooks", "_backward_hooks"])
def test_a_deleted_table_of_hooks_is_missed(name):
    check_changes(
        "torch.manual_seed(0)\nnet = torch.nn.Linear(2, 2)\ndef f():\n    try: return net(X)\n    except AttributeError as error: return str(error)\n"
        f"kept = net.{name}\ndef drop(): del net.{name}\ndef put(): net.{name} = kept\nchanges = [drop, put, drop]"
    )
