"""Programs for the matrix of graph breaks: position x kind of break x live state, as source text.

A position is a program with `$` where the break stands (the indentation is kept) and `x` the tensor at hand; `log` is a
list that gets notes. A kind is the statement (or statements) put there. What is live is set up before and used after.
"""

import itertools
import textwrap
from dataclasses import dataclass

PRELUDE = """
import contextlib, functools, itertools, torch
from framesmith import frontend

@frontend.disable
def native(value):
    return value

@frontend.disable
def failing(value):
    raise KeyError("native", 7)

class Item:
    def __init__(self, n):
        self.n = n
    @property
    def prop(self):
        return self.n

class Manager:
    def __init__(self, log, swallow=False):
        self.log, self.swallow = log, swallow
    def __enter__(self):
        self.log.append("enter")
        return self
    def __exit__(self, kind, value, tb):
        self.log.append(("exit", kind and kind.__name__))
        return self.swallow

@contextlib.contextmanager
def managed(log):
    log.append("in")
    try:
        yield 3
    finally:
        log.append("out")
"""

KINDS = {
    "print": "print('p', len(log))",
    "call": "native(1)",
    "call with tensor": "x = native(x) + 1",
    "graph_break": "frontend.graph_break()",
    "item": "log.append(x.sum().item())",
    "item branch": "if x.sum().item() > 1:\n    x = x * 2\nelse:\n    x = x - 1",
    "tensor if": "if x.sum() > 0:\n    x = x + 3\nelse:\n    x = x - 3",
    "tensor while": "while x.sum() < 5:\n    x = x + 2",
    "caught error": "try:\n    failing(x)\nexcept KeyError as e:\n    log.append(e.args)\n    x = x + 1",
    "native attribute": "native.tag = len(log)",
}
THROWING = {"raised error": "failing(x)"}

POSITIONS = {
    "straight line": "x = x + 1\n$\nx = x * 2",
    "if arm": "if len(log) == 0:\n    x = x + 1\n    $\n    x = x * 2\nelse:\n    x = x - 1\n    $\nx = x + 5",
    "for list": "for t in [x, x + 1]:\n    y = t * 2\n    $\n    x = x + y",
    "for range": "for i in range(3):\n    x = x + i\n    $\n    x = x * 2",
    "for zip": "for i, s in zip([1, 2, 3], 'ab'):\n    x = x + i\n    $\n    log.append(s)",
    "for dict items": "for k, v in {'a': 1, 'b': 2}.items():\n    x = x + v\n    $\n    log.append(k)",
    "for enumerate": "for i, v in enumerate([5, 6]):\n    x = x + v * i\n    $\n    log.append(i)",
    "for user iterator": "class It:\n    def __init__(self): self.k = 0\n    def __iter__(self): return self\n    def __next__(self):\n        self.k += 1\n        if self.k > 2: raise StopIteration\n        return self.k\nfor i in It():\n    x = x + i\n    $\n    x = x * 2",
    "for generator": "def gen():\n    for i in range(3):\n        yield x0 + i\nx0 = x\nfor t in gen():\n    x = x + t\n    $\n    x = x + 1",
    "while": "n = 0\nwhile n < 3:\n    n += 1\n    x = x + n\n    $\n    x = x * 2",
    "nested loops": "for i in range(3):\n    for j in range(3):\n        if j == 1:\n            continue\n        x = x + j\n        $\n        if i == 1:\n            break\n    else:\n        log.append('else')\n    x = x * 2\nelse:\n    log.append('done')",
    "try body": "try:\n    x = x + 1\n    $\n    x = x * 2\nexcept KeyError as e:\n    log.append(e.args)\n    x = x - 1\nx = x + 3",
    "try finally": "try:\n    x = x + 1\n    $\n    x = x * 2\nfinally:\n    log.append('finally')\n    x = x + 1",
    "except handler": "try:\n    raise ValueError('v')\nexcept ValueError as e:\n    x = x + 1\n    $\n    log.append(str(e))\n    x = x * 2\nx = x + 1",
    "handler then reraise": "try:\n    try:\n        x = x + 1\n        raise ValueError('v')\n    except ValueError as e:\n        $\n        x = x * 2\n        raise\nexcept ValueError as f:\n    log.append(repr(f.__context__))\n    x = x + 1",
    "else clause": "try:\n    x = x + 1\nexcept ValueError:\n    pass\nelse:\n    $\n    x = x * 2\nfinally:\n    log.append('f')",
    "finally clause": "try:\n    x = x + 1\nfinally:\n    $\n    x = x * 2\nx = x + 1",
    "finally during exception": "try:\n    try:\n        raise ValueError('v')\n    finally:\n        x = x + 1\n        $\n        x = x * 2\nexcept ValueError as e:\n    log.append(str(e))",
    "with no_grad": "with torch.no_grad():\n    x = x + 1\n    $\n    x = x * 2\n    log.append(torch.is_grad_enabled())\nlog.append(torch.is_grad_enabled())\nx = x + 1",
    "with autocast": "with torch.autocast('cpu', dtype=torch.bfloat16):\n    y = torch.mm(x[None], x[:, None])\n    $\n    z = torch.mm(x[None], x[:, None])\nx = x + y.float().sum() + z.float().sum()\nlog.append((y.dtype, z.dtype))",
    "with user manager": "with Manager(log) as m:\n    x = x + 1\n    $\n    x = x * 2\nx = x + len(m.log)",
    "with swallowing manager": "with Manager(log, True):\n    x = x + 1\n    $\n    raise ValueError('w')\nx = x + 1",
    "with contextmanager": "with managed(log) as n:\n    x = x + n\n    $\n    x = x * 2\nx = x + 1",
    "with ExitStack": "with contextlib.ExitStack() as stack:\n    stack.enter_context(Manager(log))\n    x = x + 1\n    $\n    stack.callback(log.append, 'cb')\n    x = x * 2",
    "with suppress": "with contextlib.suppress(ValueError):\n    x = x + 1\n    $\n    raise ValueError\nx = x * 2",
    "with two managers": "with Manager(log) as a, torch.no_grad(), managed(log) as b:\n    x = x + b\n    $\n    x = x * 2\nx = x + 1",
    "match arm": "match len(log):\n    case 0:\n        x = x + 1\n        $\n        x = x * 2\n    case n:\n        x = x - n\n        $\nx = x + 1",
    "callee": "def g(x):\n    x = x + 1\n    $\n    return x * 2\nx = g(x) + 1",
    "two levels deep": "def h(x):\n    x = x + 1\n    $\n    return x * 2\ndef g(x):\n    y = h(x * 2)\n    return y + x\nx = g(x) + 1",
    "five levels deep": "def g(x, n):\n    x = x + n\n    if n:\n        y = g(x, n - 1)\n        return y + x\n    $\n    return x * 2\nx = g(x, 4) + 1",
    "method": "class A:\n    k = 2\n    def go(self, x):\n        x = x + self.k\n        $\n        self.k = 3\n        return x * self.k\na = A()\nx = a.go(x) + a.k",
    "nonlocal closure": "n = 1\ndef g():\n    nonlocal n, x\n    n += 1\n    x = x + n\n    $\n    n += 1\n    x = x * n\ng()\nx = x + n",
    "property": "class A:\n    @property\n    def p(self):\n        nonlocal x\n        x = x + 1\n        $\n        return x * 2\nx = A().p + 1",
    "getattr": "class A:\n    def __getattr__(self, name):\n        nonlocal x\n        x = x + 1\n        $\n        return x * 2\nx = A().thing + 1",
    "init": "class A:\n    def __init__(self, x):\n        self.x = x + 1\n        $\n        self.y = self.x * 2\na = A(x)\nx = a.y + a.x",
    "operator method": "class A:\n    def __init__(self, x): self.x = x\n    def __add__(self, other):\n        x = self.x + other\n        $\n        return x * 2\nx = A(x) + 3",
    "subscript method": "class A:\n    def __init__(self, x): self.x = x\n    def __getitem__(self, k):\n        x = self.x + k\n        $\n        return x * 2\nx = A(x)[3]",
    "negation method": "class A:\n    def __init__(self, x): self.x = x\n    def __neg__(self):\n        x = self.x + 1\n        $\n        return x * 2\nx = -A(x)",
    "declining operator": "class A:\n    def __init__(self, x): self.x = x\n    def __add__(self, other):\n        x = self.x + 1\n        $\n        self.x = x\n        return NotImplemented\n    def __iadd__(self, other):\n        x = self.x + other\n        $\n        return x * 2\nclass B:\n    def __radd__(self, other):\n        return other.x * 3\na = A(x)\nx = a + B()\na += 2\nx = x + a",
    "partial": "def g(a, x, b=1):\n    x = x + a\n    $\n    return x * b\nx = functools.partial(g, 2, b=3)(x) + 1",
    "decorated": "def deco(f):\n    @functools.wraps(f)\n    def w(*a, **k):\n        r = f(*a, **k)\n        return r + 1\n    return w\n@deco\ndef g(x, k=1):\n    x = x + k\n    $\n    return x * 2\nx = g(x, k=4) + 1",
    "inside generator": "def gen(x):\n    for i in range(2):\n        x = x + i\n        $\n        yield x * 2\nfor t in gen(x):\n    x = x + t",
    "while generator is suspended": "def gen():\n    for i in range(3):\n        got = yield x0 + i\n        log.append(got)\nx0 = x\ng = gen()\nx = x + next(g)\n$\nx = x + g.send('s')\nx = x + next(g)",
    "map callback": "def g(t):\n    x = t + 1\n    $\n    return x * 2\nx = sum(map(g, [x, x + 1]))",
    "sorted key": "def key(n):\n    nonlocal x\n    x = x + n\n    $\n    return -n\nlog.extend(sorted([1, 3, 2], key=key))",
    "reduce callback": "def g(a, b):\n    x = a + b\n    $\n    return x * 2\nx = functools.reduce(g, [x, x + 1, x * 2])",
    "min key": "def key(n):\n    nonlocal x\n    x = x * n\n    $\n    return -n\nlog.append(min([1, 3, 2], key=key))",
    "class body": "class A:\n    y = x + 1\n    $\n    z = y * 2\nx = A.z + A.y",
    "recursion": "def g(x, n):\n    if n == 0:\n        return x\n    x = x + n\n    $\n    return g(x, n - 1) * 2\nx = g(x, 3)",
    "module forward": "class M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.w = torch.nn.Parameter(torch.ones(3) * 2)\n    def forward(self, x):\n        x = x * self.w\n        $\n        return x + self.w\nif 'm' not in native.__dict__:\n    native.m = M()\nx = native.m(x) + 1",
    "star frame": "def g(*args, **kw):\n    x = args[0] + kw['k']\n    $\n    return x * len(args), args, kw\nx, a, kw = g(x, 1, k=2)\nlog.append(sorted(kw))\nx = x + len(a)",
    "default argument": "def mk(x):\n    x = x + 1\n    $\n    return x\ndef g(y, d=mk(x)):\n    return y + d\nx = g(x) * 2",
    "comprehension source": "def g(i):\n    x = x0 + i\n    $\n    return x * 2\nx0 = x\nx = sum([g(i) for i in range(3)])",
    "dict comprehension": "def g(i):\n    x = x0 + i\n    $\n    return x * 2\nx0 = x\nd = {i: g(i) for i in range(2)}\nx = d[0] + d[1]",
    "expression stack": "def g(x):\n    x = x + 1\n    $\n    return x * 2\nx = x + (x * 2 + g(x) * 3) - [x, g(x), {'a': x}][1]",
    "exit of manager": "class E:\n    def __enter__(self): return self\n    def __exit__(self, *a):\n        nonlocal x\n        x = x + 1\n        $\n        x = x * 2\nwith E():\n    x = x + 5\nx = x + 1",
    "enter of manager": "class E:\n    def __enter__(self):\n        nonlocal x\n        x = x + 1\n        $\n        return x * 2\n    def __exit__(self, *a): pass\nwith E() as y:\n    x = x + y\nx = x + 1",
    "iterator next": "class It:\n    k = 0\n    def __iter__(self): return self\n    def __next__(self):\n        nonlocal x\n        self.k += 1\n        if self.k > 2: raise StopIteration\n        x = x + 1\n        $\n        return x * 2\nfor t in It():\n    x = x + t",
}  # fmt: skip

LIVE = {
    "nothing": ("", ""),
    "aliased lists": (
        "a = [x]; b = a; c = {'a': a}",
        "a.append(x); log.append((b is a, c['a'] is b, len(c['a']))); x = x + b[-1]",
    ),
    "cells": (
        "n = 1\ndef up():\n    nonlocal n\n    n += 1\n    return n",
        "log.append(up()); x = x + n * up()",
    ),
    "iterators": (
        "it = iter([1, 2, 3]); next(it); z = zip('ab', [1, 2]); next(z)",
        "x = x + next(it); log.append(next(z))",
    ),
    "object": (
        "o = Item(x); p = [o, o]; o.me = o",
        "o.n = o.n + x; x = x + p[1].n; log.append((p[0] is p[1], o.me is o))",
    ),
    "tensors": ("y = x * 3; v = x[:2]; w = y.view(3, 1)", "x = x + y.sum() + v.sum() + w.sum()"),
    "tuple and string": (
        "s = 'k' + str(len(log)); t = (x, (s, 2), None)",
        "log.append((s, t[1])); x = x + t[0]",
    ),
    "bound method": ("m = log.append; f = Item(4).__init__; g = functools.partial(max, 1)", "m(g(2)); f(1)"),
    "open manager": ("cm = managed(log); cm.__enter__()", "cm.__exit__(None, None, None)"),
}


@dataclass(frozen=True)
class Program:
    """A program of the matrix."""

    position: str
    kind: str
    live: str

    @property
    def name(self) -> str:
        """Its name in test ids."""
        return f"{self.position}-{self.kind}-{self.live}".replace(" ", "_")

    @property
    def source(self) -> str:
        """The text: `f(x, log)` and `args()`."""
        before, after = LIVE[self.live]
        body = placed(POSITIONS[self.position], (KINDS | THROWING)[self.kind])
        lines = "\n".join(part for part in (before, body, after, "return x, log") if part)
        return f"{PRELUDE}\ndef f(x, log):\n{textwrap.indent(lines, '    ')}\n\ndef args():\n    return torch.tensor([0.5, -1.0, 2.0], requires_grad=True), []\n"


def placed(position: str, kind: str) -> str:
    """The kind's statements in place of each `$`; a callee whose break assigns `x` has it as a local or nonlocal already."""
    lines = []
    for line in position.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        lines += [indent + part for part in kind.split("\n")] if line.strip() == "$" else [line]
    return "\n".join(lines)


def all_programs() -> list[Program]:
    """Every position with every kind, nothing else live; then every live state at rotating kinds; a native error everywhere."""
    plain = [Program(p, k, "nothing") for p in POSITIONS for k in KINDS]
    states = [state for state in LIVE if state != "nothing"]
    kinds = itertools.cycle(["print", "call with tensor", "item branch", "graph_break", "caught error"])
    mixed = [Program(p, next(kinds), s) for p in POSITIONS for s in states]
    thrown = [Program(p, k, s) for p in POSITIONS for k in THROWING for s in ("nothing", "aliased lists")]
    return plain + mixed + thrown


def default_programs() -> list[Program]:
    """About a sixth of all, spread evenly over positions, kinds and states."""
    return [program for number, program in enumerate(all_programs()) if number % 7 == number // 70 % 7]
