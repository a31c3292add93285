"""Programs with several callables of the same code, `fs`, and the number of graphs that they take together.

None: whatever it takes, as long as the results are right. What differs between the callables is in the name.
"""

_BLOCK = """
class Block(torch.nn.Module):
    def __init__(s, i=0, d=2):
        super().__init__()
        torch.manual_seed(i)
        s.l, s.i = torch.nn.Linear(d, d), i
        s.register_buffer('n', torch.zeros(()))
    def forward(s, x): return FORWARD
"""


def _blocks(forward: str, make: str = "[Block(i) for i in range(4)]", *more: str) -> str:
    return "\n".join((_BLOCK.replace("FORWARD", forward), f"fs = {make}", *more))


def _each(forward: str, statement: str, *more: str) -> str:
    return _blocks(forward, "[Block(i) for i in range(4)]", *more, f"for b in fs: {statement}")


def _closures(body: str, fs: str) -> str:
    return f"def make(k, w=0, **o):\n    def f(x): return {body}\n    return f\nfs = {fs}\n"


_THREE = "[Block(i) for i in range(3)]"

MODULES: dict[str, tuple[str, int | None]] = {
    "nothing": (_blocks("torch.relu(s.l(x))", "[Block(i) for i in range(24)]"), 1),
    "an int": (_blocks("s.l(x) * s.i"), 2),
    "a float": (_blocks("s.l(x) * (s.i + .5)"), 2),
    "a decision on an int": (_blocks("s.l(x) if s.i % 2 else s.l(x).sin()"), 3),
    "a flag": (_each("s.l(x) if s.k == 'a' else s.l(x).sin()", "b.k = 'ab'[b.i % 2]"), 2),
    "buffers that count": (_blocks("(s.n.add_(1), s.l(x) * s.n)[1]"), 1),
    "attributes that count": (_blocks("(setattr(s, 'i', s.i + 1), s.l(x) * s.i)[1]"), 2),
    "widths": (_blocks("s.l(x)", "[Block(i, 2 + i % 3) for i in range(6)]", "args = lambda i: (torch.ones(3, 2 + i % 3),)"), 3),
    "sizes of arguments": (_blocks("s.l(x)", _THREE, "args = lambda i: (torch.ones(3 + i, 2),)"), 2),
    "a hook": (_blocks("s.l(x)", _THREE, "fs[1].register_forward_hook(lambda m, a, o: o * 2)"), 2),
    "a hook that comes and goes": (
        _blocks("s.l(x)", _THREE, "changes = [lambda: fs[2].register_forward_hook(lambda m, a, o: o * 2),",
                "           lambda: fs[2]._forward_hooks.clear()]"), 2),
    "a hook of a child": (_blocks("s.l(x)", _THREE, "fs[1].l.register_forward_pre_hook(lambda m, a: (a[0] * 2,))"), 2),
    "a hook of a parameter": (_blocks("s.l(x)", _THREE, "fs[1].l.weight.register_hook(lambda g: g * 3)"), 1),
    "parameters that are shared": (
        _blocks("s.l(x) + s.o(x)", _THREE, "for b in fs: b.o = torch.nn.Linear(2, 2)", "fs[1].o = fs[1].l",
                "fs[2].o.weight = fs[1].l.weight"), None),
    "a parameter of another block": (_blocks("s.l(x)", _THREE, "fs[2].l.weight = fs[1].l.weight"), 1),
    "the mode": (_blocks("torch.dropout(s.l(x), .5, s.training) * 0", _THREE, "changes = [lambda: fs[1].eval()]"), 2),
    "frozen parameters": (_blocks("s.l(x)", _THREE, "fs[1].l.weight.requires_grad_(False)"), 2),
    "the type of numbers": (_blocks("s.l(x.to(s.l.weight.dtype))", _THREE, "fs[1].double()"), 2),
    "a forward of its own": (_blocks("s.l(x)", _THREE, "fs[1].forward = lambda x: x * 5"), 2),
    "a child": (_blocks("s.l(x)", _THREE, "def c(): fs[1].l = torch.nn.Identity()", "changes = [c]"), None),
    "the number of children": (
        _each("sum(m(x) for m in s.ms)", "b.ms = torch.nn.ModuleList([b.l, b.l][: 1 + b.i % 2])"), 2),
    "a name": (_each("s.l(x) * len(s.k)", "b.k = 'k' * b.i"), 4),
    "a name that is printed": (_each("(print(s.k), s.l(x))[1]", "b.k = 'k' * b.i"), None),
    "an index into a cache": (_each("s.c.setdefault(s.i, x + 1) * s.l(x)", "b.c = C", "C = {}"), None),
    "memory that is shared": (
        _blocks("(s.a.mul_(2), s.b + x)[1]", _THREE, "for b in fs: b.a, b.b = torch.ones(2), torch.ones(2)",
                "fs[1].b = fs[1].a", "fs[2].b = fs[2].a[:]"), None),
    "the order of a dict": (_each("sum(v * i for i, v in enumerate(s.d.values())) * x",
                                  "b.d = {k: ord(k) for k in ('ab' if b.i % 2 else 'ba')}"), None),
    "lists that are one": (
        _blocks("(s.a.append(1), x * len(s.b))[1]", _THREE, "for b in fs: b.a, b.b = [], []", "fs[1].b = fs[1].a"), None),
    "a parameter or a tensor": (
        _blocks("x * s.t", _THREE, "for b in fs: b.t = torch.ones(2)", "del fs[1].t", "fs[1].t = torch.nn.Parameter(torch.ones(2))"), 2),
    "a nan": (_each("x * (1 if s.q == s.q else 2)", "b.q = float('nan') if b.i % 2 else 1.0"), None),
    "types of numbers": (_each("x * s.q", "b.q = [True, 1, 1.0, 2][b.i]"), None),
    "None or a tensor": (_each("x + 1 if s.q is None else x + s.q", "b.q = None if b.i % 2 else torch.ones(2)"), 2),
    "the default dtype": (
        _blocks("s.l(x)", _THREE, "def c(): torch.set_default_dtype(torch.float64)",
                "def d(): torch.set_default_dtype(torch.float32)", "changes = [c, d]"), None),
    "a callable": (_each("s.q(x)", "b.q = [torch.nn.ReLU(), torch.nn.Sigmoid(), torch.nn.ReLU(), torch.sin][b.i]"), 3),
    "an enum": (_each("x + 1 if s.q is E.a else x - 1", "b.q = [E.a, E.b][b.i % 2]", "class E(enum.Enum): a = 1; b = 2"), 2),
    "a configuration": (
        _each("x * s.q.k", "b.q = C(b.i + .5)", "@dataclasses.dataclass", "class C: k: float"), 2),
    "a key by value": (
        _each("x * T[s.q]", "b.q = C(b.i)", "@dataclasses.dataclass(frozen=True)", "class C: k: int", "T = {C(i): i for i in range(4)}"),
        None),
    "a cached function's argument": (_blocks("x * T(s.i)", _THREE, "@functools.lru_cache", "def T(i): return i * 2"), None),
    "a parent behind a weak reference": (
        _each("x * s.p().i", "b.p = weakref.ref(Q[b.i])", "Q = [Block(i) for i in range(4)]"), 2),
    "a neighbour": (_each("x * s.p[0].i", "b.p = (fs[b.i - 1],)"), 2),
    "where it is in a list": (_each("x * len([q for q in s.p if q is s])", "b.p = [fs[0], fs[1]]"), None),
    "a compiled child": (
        _each("s.c(x) + 1", "b.c = frontend.compile(Block(b.i + 7).l, backend='eager')", "from framesmith import frontend"), None),
    "what a class has, shadowed": (
        "class B(torch.nn.Module):\n    k = 2.0\n    def forward(s, x): return x * s.k\nfs = [B() for _ in range(4)]\nfs[2].k = 3.0\n", 2),
    "nothing, and the class changes": (
        ("class B(torch.nn.Module):\n    k = 2.0\n    def forward(s, x): return x * s.k\n"
        "fs = [B() for _ in range(4)]\ndef c(): B.k = 4.0\nchanges = [c]"), 2),
    "subclasses": (
        ("class B(torch.nn.Module):\n    def forward(s, x): return s.g(x)\n    def g(s, x): return x + 1\n"
        "class C(B):\n    def g(s, x): return x + 2\nfs = [B(), C(), B(), C()]"), 2),
    "the class of one, changed": (
        ("class B(torch.nn.Module):\n    def forward(s, x): return x + 1\nclass C(B):\n    def forward(s, x): return x + 2\n"
        "fs = [B(), B(), B()]\ndef c(): fs[1].__class__ = C\nchanges = [c]"), 2),
    "a property": (
        ("class B(torch.nn.Module):\n    def __init__(s, k):\n        super().__init__(); s._k = k\n    @property\n    def k(s): return s._k\n"
        "    @k.setter\n    def k(s, v): s._k = v\n    def forward(s, x):\n        s.k = s.k + 1\n        return x * s.k\n"
        "fs = [B(i) for i in range(4)]"), 2),
}  # fmt: skip

FUNCTIONS: dict[str, tuple[str, int | None]] = {
    "tensors": (_closures("(x * w).sin()", "[make(i, torch.full((2,), i + 1., requires_grad=True)) for i in range(10)]"), 1),
    "tensors and numbers": (_closures("(x * w).sin() + k", "[make(i + 2, torch.full((2,), i + 1.)) for i in range(10)]"), 2),
    "functions": (_closures("k(x) * w", "[make(f, 2.) for f in (torch.sin, torch.cos, torch.sin)]"), 2),
    "functions of the same code": (_closures("k(x) * w", "[make((lambda j: lambda x: x + j)(i), 2.) for i in range(4)]"), 2),
    "modules": (_closures("k(x)", "[make((torch.manual_seed(i), torch.nn.Linear(2, 2))[1]) for i in range(4)]"), 1),
    "one tensor twice": (_closures("x * w + k", "(lambda t: [make(t, t), make(t, t.clone()), make(t, t)])(torch.ones(2))"), 2),
    "its argument": (_closures("x * w", "[make(0, X), make(0, X.clone()), make(0, X)]"), 2),
    "a variable that is stored": (
        ("def make(n):\n    c = torch.zeros(2)\n    def f(x):\n        nonlocal n, c\n        n += 1; c = c + x\n        return c * n\n"
        "    return f\nfs = [make(i) for i in range(5)]"), 2),
    "a variable that two share": (
        ("def make():\n    n = 0\n    def f(x):\n        nonlocal n\n        n += 1\n        return x * n\n"
        "    def g(x):\n        nonlocal n\n        n += 10\n        return x * n\n    return [f, g]\nfs = [*make(), *make()]"), None),
    "themselves": (
        ("def make(g):\n    def f(x): return g(x)\n    return f\ndef h(x): return x + 1\n"
        "a = make(h); b = make(a); c = make(b)\nfs = [a, b, c, make(a), make(b)]"), None),
    "itself": (
        "def make(k):\n    def f(x, n=2): return x * k if n == 0 else f(x, n - 1) + k\n    return f\nfs = [make(i + 1.) for i in range(4)]", 2),
    "nothing yet": (
        ("def make(fill):\n    def f(x):\n        try: return x * w\n        except NameError: return x - 1\n"
        "    if fill: w = 3.\n    return f\nfs = [make(True), make(False), make(True), make(False)]"), 2),
    "defaults": (
        "def make(k):\n    def f(x, n=k, *, m=[k]): return x * n + m[0]\n    return f\nfs = [make(i + 1.) for i in range(5)]", 2),
    "a break": (_closures("(w + x, print('p', k))[0] * w", "[make(i, torch.full((2,), i + 1.)) for i in range(5)]"), None),
    "breaks": (
        ("def make(k, w):\n    def f(x):\n        y = x + w\n        print('p')\n        z = y * k\n        print('q')\n        return z - w\n"
        "    return f\nfs = [make(torch.full((2,), i + 2.), torch.full((2,), i + 1.)) for i in range(5)]"), 3),
    "a break in a loop": (
        ("def make(k, w):\n    def f(x):\n        for i in range(4):\n            x = x + w\n            print(i)\n            x = x * k\n"
        "        return x\n    return f\nfs = [make(i + 2., torch.full((2,), i + 1.)) for i in range(5)]"), 5),
    "a break in a generator": (
        ("def make(k, w):\n    def g(x):\n        for i in range(2):\n            print(i)\n            yield x * k\n    def f(x):\n"
        "        with torch.no_grad():\n            for y in g(x):\n                x = x + y * w\n        return x\n    return f\n"
        "fs = [make(i + 2., torch.full((2,), i + 1.)) for i in range(5)]"), None),
    "a function that is returned": (
        ("def make(k):\n    def f(x):\n        def inner(y): return y * k + x\n        return inner(x), inner\n    return f\n"
        "fs = [make(i + 2.) for i in range(4)]"), 2),
    "an error": (
        ("def make(k):\n    log = []\n    def f(x):\n        log.append(k)\n        if k == 2: raise ValueError(k)\n        return x * k, list(log)\n"
        "    return f\nfs = [make(i) for i in range(4)]"), None),
    "an error of the graph": (
        ("def make(k):\n    log = []\n    def f(x):\n        log.append(k)\n"
        "        try: y = torch.linalg.cholesky(x[0] * torch.eye(2) * k)\n        except Exception: y = torch.zeros(2); log.append('e')\n"
        "        return y + k, list(log)\n    return f\nfs = [make(float(k)) for k in (1, -1, 2, -2)]"), None),
    "methods": (
        ("class O:\n    def __init__(s, k): s.k = k; s.w = torch.full((2,), k + 1.); s.log = []\n    def m(s, x):\n        s.k += 1\n"
        "        s.log.append(x)\n        return x * s.w + s.k\nos = [O(i) for i in range(5)]\nfs = [o.m for o in os]"), None),
    "callable objects": (
        "class O:\n    def __init__(s, k): s.k = k\n    def __call__(s, x): return x * s.k\nfs = [O(i) for i in range(5)]", 2),
    "objects with slots": (
        ("class O:\n    __slots__ = ('k', 'w')\n    def __init__(s, k): s.k = k; s.w = X * k\n    def m(s, x): return x * s.k + s.w\n"
        "fs = [O(i).m for i in range(5)]"), 2),
    "decorated functions": (
        ("def deco(fn):\n    @functools.wraps(fn)\n    def w(x): return fn(x) + 1\n    return w\ndef mk(i):\n    @deco\n"
        "    def g(x): return x * i\n    return g\nfs = [mk(i) for i in range(5)]"), 2),
    "decorated methods": (
        ("def deco(fn):\n    def w(s, x): return fn(s, x) + 1\n    return w\nclass A:\n    def __init__(s, k): s.k = k\n    @deco\n"
        "    def a(s, x): return x * s.k\n    @deco\n    def b(s, x): return x - s.k\nfs = [A(2).a, A(3).a, A(4).b, A(5).b, A(6).a]"), None),
    "functions with other defaults": (
        ("def call(g):\n    def f(x): return g(x, 5)\n    return f\ndef new():\n    def g(a, b=1, c=2): return a * b + c\n    return g\n"
        "gs = [new() for _ in range(4)]\ngs[1].__defaults__ = (7, 8, 9)\ngs[2].__defaults__ = (4,)\nfs = [call(g) for g in gs]"),
        2,
    ),
    "globals": (
        ("co = compile('def g(x):\\n    global c\\n    c += 1\\n    return x * K * c\\ndef h(f):\\n    return lambda x: f(x) - K', 'm', 'exec')\n"
        "spaces = []\nfor k in (2., 3., 4.):\n    n = {'K': k, 'c': 0}; exec(co, n); spaces.append(n)\n"
        "fs = [n['g'] for n in spaces] + [spaces[0]['h'](n['g']) for n in spaces]"), None),
    "globals that are stored": (
        "n = 0\ndef make(k):\n    def f(x):\n        global n\n        n += k\n        return x * n\n    return f\nfs = [make(i) for i in range(4)]", None),
    "partials": ("def g(k, x): return x * k\nfs = [functools.partial(g, i) for i in range(4)]", 2),
    "generators of methods": (
        ("class O:\n    def __init__(s, k): s.k = k\n    def g(s):\n        for i in range(s.k): yield i\n"
        "    def m(s, x): return x + sum(s.g())\nfs = [O(i).m for i in range(5)]"), None),
    "how many arguments": (
        ("def make(k):\n    def f(*a, **o): return a[0] * k + len(a)\n    return f\nfs = [make(i + 2.) for i in range(4)]\n"
        "args = lambda i: (X,) * (i % 2 + 1)"), None),
    "super": (
        ("class A:\n    def m(s, x): return x * s.k\nclass B(A):\n    def __init__(s, k): s.k = k\n    def m(s, x): return super().m(x) + 1\n"
        "fs = [B(i).m for i in range(4)]"), 2),
    "annotations": (
        "def make(k):\n    def f(x: k): return x * f.__annotations__['x']\n    return f\nfs = [make(i + 1) for i in range(4)]", 2),
    "attributes of functions": (
        "def make(k):\n    def f(x):\n        f.n = getattr(f, 'n', 0) + k\n        return x * f.n\n    return f\nfs = [make(i + 1) for i in range(4)]", None),
    "closures that are replaced": (
        ("def make(k):\n    def f(x): return x * k\n    def put(v):\n        nonlocal k\n        k = v\n    f.put = put\n    return f\n"
        "fs = [make(2.) for i in range(4)]\nchanges = [lambda: fs[1].put(torch.ones(2)), lambda: fs[2].put(4.), lambda: fs[3].put(None) or fs[3].put(2)]"), None),
}  # fmt: skip
