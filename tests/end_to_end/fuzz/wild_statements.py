"""The vocabulary of the wild programs: what stands before them, and templates by kind.

`$T` a tensor, `$N` an integer, `$V` a float, `$S` a string, `$B` something used for its truth, `$C` a container;
`$t`, `$n`, `$v` variables of those kinds that may be assigned to.
"""

SETUP = """
import collections, contextlib, dataclasses, enum, functools, math, torch
from typing import NamedTuple
import torch.nn.functional as F
from collections import OrderedDict
from framesmith import frontend

nan, inf = float("nan"), float("inf")
counter, LIMIT = 0, 2

class Mine(Exception):
    pass

class Base:
    scale = 2
    def __init__(self, k):
        self.k, self.name, self.t, self.parts = k, "a", torch.ones(1), []
    def step(self, u):
        self.k = (self.k + 1) % 5
        return u * self.scale
    def __eq__(self, other):
        return isinstance(other, Base) and self.k == other.k
    def __hash__(self):
        return 1

class Obj(Base):
    @property
    def twice(self):
        return self.k * 2
    @twice.setter
    def twice(self, new):
        self.k = new // 2 if isinstance(new, int) else 1
    def step(self, u):
        return super().step(u) + self.bonus
    def __getattr__(self, name):
        if name == "bonus":
            return 1
        raise AttributeError(name)
    def __len__(self):
        return len(self.parts)
    def __getitem__(self, i):
        return self.parts[i]
    def __contains__(self, item):
        return item is None or item in self.parts
    def __enter__(self):
        self.parts.append("in")
        return self
    def __exit__(self, kind, error, trace):
        self.parts.append(kind.__name__ if kind else None)
        return kind is Mine
    def __repr__(self):
        return f"Obj({self.k})"

OBJ = Obj(2)

class Slotted:
    __slots__ = ("a", "t")

@dataclasses.dataclass
class Point:
    a: float
    parts: list = dataclasses.field(default_factory=list)

class Pair(NamedTuple):
    left: object
    right: object = -0.0

class Color(enum.Enum):
    RED = 1
    NAN = float("nan")

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u):
        ctx.save_for_backward(u)
        return u * u
    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]

def spread(*rest, a=0, **named):
    return len(rest), a, sorted(named)

def twice(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        function(*args, **kwargs)
        return function(*args, **kwargs)
    return call

@twice
def bump(log, k=1):
    log.append(k)
    return k + 1

def sign(v):  # that of a NaN depends on how warm the interpreter is
    return math.copysign(1, v) if v == v else 0.0

def note(log, e):
    log.append((type(e).__name__, str(e)[:60].split("\\n")[0]))

def risky(u, k):
    if u.shape[0] > k:
        raise Mine(k)
    return u + k

def stay(u):
    return u

@frontend.disable
def native(u):
    return u

@contextlib.contextmanager
def scope(log):
    log.append("in")
    try:
        yield 3
    finally:
        log.append("out")
"""

VALUES = ("0.0", "-0.0", "nan", "inf", "-inf", "1.5", "-1.0", "1e-40", "3.0")

TENSORS = (
    "($T + $N)", "($T * $V)", "($T - $T)", "($N / ($T + 1))", "$T.relu()", "torch.sin($T)", "$T.abs()", "-$T", "$T.clone()", "$T.detach()",
    "obj.step($T)", "torch.where($T > 0, $T, 0.0)", "($T if $B else $T)", "stay($T)", "native($T)", "$T[:$N]", "$T[1:]", "$T.view(-1)", "$T.reshape(-1, 1).sum(1)",
    "torch.cat([$T, $T])", "torch.stack([$T, $T]).sum(0)", "$T.unsqueeze(0)[0]", "$T.cumsum(0)", "$T.flip(0)", "torch.zeros_like($T)", "torch.full((x.shape[0],), $V)",
    "$T.expand(x.shape[0])", "torch.nan_to_num($T)", "$T.clamp(min=$V)", "$T.sum().reshape(1)", "$T.softmax(0)", "risky($T, $N)", "sum([$T, $T])", "$T.copysign($T)",
    "F.pad($T, (0, 1))", "$T.masked_fill($T != $T, 0.5)", "$T[$T > 0]", "(lambda u, k=$N: u * k)($T)", "$T.to(torch.float64).float()", "torch.arange(float(x.shape[0]))", "x.new_tensor([$V])",
    "Square.apply($T)", "torch.outer($T, $T).diagonal()", "torch.add($T, $T, alpha=$N)", "$T.roll($N)", "$T.sort()[0]", "$T.mean(0, keepdim=True)", "torch.zeros($N % 3)", "$T.split(1)[0]", "$T.index_select(0, torch.arange($N))", "x.new_zeros(x.shape[0])",
    "$T.to(torch.int64)", "($T > 0)", "Pair($T).left", "$T[..., -1:]", "$T[::2]", "torch.lerp($T, $T, 0.5)", "$T.square().sqrt()", "F.dropout($T, 0.5)", "torch.rand(x.shape[0])", "$T.new_full((x.shape[0],), $V)", "torch.maximum($T, $T)", "$T.view(1, -1)[0]", "torch.tensor(items[:1], dtype=torch.float32)",
)  # fmt: skip
NUMBERS = (
    "($N + $N)", "($N - $N)", "($N * $N) % 7", "len($C)", "max($N, $N)", "min($N, 3)", "$T.shape[0]", "x.numel()", "x.dim()", "($T.size(0) + 1)", "int(bool($B))", "abs($N)",
    "sum(range($N % 4))", "($N & 3)", "obj.twice", "obj.scale", "len(obj)", "LIMIT", "(counter % 9)", "native($N)", "hash(1)", "($N // max(m, 1))", "hash($N)", "len($S)", "round($V)",
    "x.stride(0)", "(x.shape[0] * 2) // 2", "(x.shape[0] % 2)", "$S.count('a')", "int($T.sum().item() > 1)", "bump(log, $N)", "len({$N, $N})", "spread(*items, a=$N)[1]", "functools.reduce(lambda a, b: a + b, [$N, $N])", "x.storage_offset()", "Pair($N).left", "Color.RED.value", "sum(1 for q in $C if q)", "($N if 0 <= $N < 3 else $N)", "(lambda k=$N: k)()", "len(Point($V).parts)",
)  # fmt: skip
FLOATS = (
    "($V + $V)", "($V - $V)", "($V * $V)", "($V * 0)", "-$V", "abs($V)", "sign($V)", "max($V, $V)", "float($N)", "($V + $N)", "min($V, 0.0)", "$T.sum().item()",
    "($V if $B else $V)", "round($V, 1)", "float(str($V))", "($V / 2)", "(x.shape[0] / 2)", "math.fmod($V, 2.0)", "native($V)", "sum([$V, $V])", "Point($V).a", "Pair($V).right", "Color.NAN.value", "float(format($V))", "math.fsum([$V, $V])", "$T.max().item()", "($V ** 2)", "divmod($V, 2.0)[1]", "sorted([$V, $V])[0]",
)  # fmt: skip
STRINGS = (
    "($S + $S)", "f'{v}'", "format($V)", "f'{n:03d}'", "format($N, '>4')", "f'{w:.2f}'", "format($V, '.3g')", "str($V)", "repr($N)", "('%s' % ($V,))", "$S.upper()", "','.join(map(str, $C))", "$S[::-1]", "$S[:1]", "'{:>5}'.format($N)", "type($V).__name__", "repr(obj)", "str($C)", "f'{tuple(x.shape)}'", "f'{m!r:>4}'", "$S.replace('a', 'b')",
)  # fmt: skip
BOOLEANS = (
    "$N < $N", "$N == $N", "$V < $V", "$V == $V", "$V != $V", "$N == $V", "not $B", "$B and $B", "$B or $B", "$S == $S", "$S in $C", "x is y", "h is x", "$C", "hasattr(obj, 'z')", "hasattr(obj, 'extra')", "isinstance($V, int)", "math.isnan($V)", "$T.sum() > $V",
    "x.shape == y.shape", "x.shape[0] > 1", "x.requires_grad", "x.numel() == 0", "bool(obj)", "obj == Obj(2)", "None in obj", "torch.is_grad_enabled()", "'a' in table", "any($C)", "all(q is None for q in items)", "items == []", "len(x)", "x.is_contiguous()", "$N in (0, 1, 2)",
    "(x != x).any()", "callable(getattr(obj, 'step'))", "issubclass(Obj, Base)", "v is w", "n is True", "x.is_leaf", "max(v, w) is v", "v in [w, v]", "[v] == [w]", "{v: 1} == {v: 1}", "Pair(v) == Pair(w)", "Point(v) == Point(v)", "Point($V) == Point($V)", "Color.RED is Color(1)", "$N in {$N, $N}", "set($C) <= {0, 1}", "s is obj.name", "hasattr(Slotted(), 'a')", "'extra' in vars(obj)", "x.grad is None", "x.is_floating_point()",
)  # fmt: skip
CONTAINERS = (
    "[q for q in $C]", "list($C)", "tuple($C)", "[$N, $V]", "{**table, 'z': $N}", "sorted([$N, $N])", "[*items, $S]", "list(range($N % 4))", "list(zip($C, $C))", "dict.fromkeys($C)", "list(reversed(list($C)))", "{q: 1 for q in ('a', 'b')}", "list(map(str, $C))", "[q for q in $C if q]", "list(enumerate($C))", "items[:$N]", "list(table.values())", "obj.parts", "{$N, 1}", "collections.Counter($S)", "$S.split('a')", "collections.deque($C, maxlen=2)", "frozenset(q for q in ($N, $V) if q == q)", "set(map(str, $C))", "Pair($N, $V)", "[[q, r] for q in $C for r in (1, 2)]", "dict(enumerate($C))", "table.keys() & {'a', 'b'}", "list(filter(None, $C))", "tuple(items) + ($N,)", "dict(zip('ab', $C))", "list(map(max, [[$N, $N]]))",
)  # fmt: skip
LOOPS = (
    "q in range($N % 4)", "q in [*$C]", "i, q in enumerate([*$C])", "q, r in table.items()", "q in list(table)", "x in [$T, $T]", "row in $T", "n in (0, 1)", "v in ($V, -0.0)", "q, r in zip($C, $C)", "q in obj.parts[:3]", "q in reversed(items)", "i in range(x.shape[0])",
)  # fmt: skip
MANAGERS = (
    "torch.no_grad()", "torch.enable_grad()", "obj", "obj as o", "scope(log)", "scope(log) as n", "contextlib.suppress(Mine)", "contextlib.suppress(Exception)", "contextlib.nullcontext(2) as m", "scope(log), torch.no_grad()",
)  # fmt: skip
HANDLERS = (
    "except Mine as e:", "except Exception as e:", "except (KeyError, IndexError) as e:", "except RuntimeError as e:", "except (ArithmeticError, ValueError, TypeError, Mine) as e:",
)  # fmt: skip
RAISING = (
    "raise Mine($N)", "raise KeyError($S)", "log.append(items[$N])", "log.append(table[$S])", "1 // ($N % 2)", "log.append(x[$N].item())", "torch.linalg.inv(torch.zeros(2, 2) * $N)", "y = torch.linalg.cholesky(torch.eye(2) * $V)", "log.append(F.embedding(torch.tensor([$N]), torch.eye(2)))", "x.add_(1)", "assert $B, $S", "obj.missing", "undefined_name", "log.append(int($S))", "y = x.view(2, -1)", "y = x + torch.ones(4)", "math.sqrt($V)", "log.append(x.sum().item())", "h.backward()", "torch.tensor([1.0, 2.0])[torch.tensor([$N])]", "items.remove($N)", "next(iter($C))", "int($V)", "torch.multinomial(torch.zeros(2), 1)", "Slotted().a", "Color(9)", "a, b = $C", "Point()", "torch.linalg.solve(torch.zeros(2, 2) * $V, torch.eye(2))", "F.one_hot(torch.tensor([$N]), 2)", "y.scatter_(0, torch.tensor([$N]), $V)", "x.sum().backward()", "x[torch.tensor([$N])]", "bump(log, $S)", "return x, log",
)  # fmt: skip
SIMPLE = (
    "$t = $T", "$t = $T", "$t = $T", "$n = $N", "$n += 1", "$v = $V", "$v = $V", "$v += 1", "s = $S", "x, y = y, x", "h = x[1:]", "h = x.view(-1)", "h = x[:]",
    "h.mul_(2)", "y.add_(1)", "y[0] = $V", "y[:1] = 3", "y[y != y] = 0", "h += 1", "y.copy_(y)", "y.fill_($V)", "y.zero_()", "y.clamp_(min=0)", "y[1:].add_(1)", "y.view(-1)[:1].mul_(3)", "y.data.add_(1)", "y.unsqueeze_(0).squeeze_(0)", "h = y[::2]", "h = y.detach()", "h = y.expand(2, -1)[0]", "h = y.t()",
    "items.append($N)", "items.append($V)", "items.insert(0, $S)", "items.pop()", "items.clear()", "items.extend($C)", "items.reverse()", "items[:1] = [$N]", "del items[0]", "items = items + [$V]", "items.sort()", "log.append(items.index($N))", "items *= 2",
    "table['a'] = $N", "table[$S] = $V", "table.pop('a', None)", "table.update(b=$N)", "table.setdefault('l', []).append($N)", "del table['a']", "table = {**table}", "log.append(list(table))", "log.append(table.popitem())", "log.append(dict(sorted(table.items(), key=str)))",
    "obj.k = $N", "obj.name = $S", "obj.t = $T", "obj.twice = $N", "obj.extra = $V", "del obj.extra", "obj.parts.append($N)", "obj.parts.clear()", "Obj.scale = $N", "log.append(vars(obj).get('extra'))", "setattr(obj, 'z', $N)", "log.append(getattr(obj, $S, None))", "log.append(obj[$N])", "del obj.z",
    "log.append($V)", "log.append($N)", "log.append($S)", "log.append(bool($B))", "log.append($C)", "log.append($T)", "log.append(x.tolist())", "log.append(($V, $N, $S))", "log.append({$V: 1})", "log.append({$N, $N})", "log.append(tuple(x.shape))", "log.append(x.shape)", "log.append(h._base is y)", "log.append(divmod($N, 3))", "log.append([*$S])",
    "print($S, $N)", "print(f'{w} {m}', $V)", "print(x.shape)", "print($C)", "counter += $N", "frontend.graph_break()", "log.append(float(y.sum()))", "log.append((y > 0).tolist())",
    "(x * 2).sum().backward()", "log.append(torch.autograd.grad((x * x).sum(), x)[0])", "x.grad = None", "log.append(x.grad)", "y = y.detach().requires_grad_()", "x = x.detach()", "log.append((x.requires_grad, x.is_leaf, h.requires_grad))",
    "*_, n = [$N, $N]", "n, m = m, n", "(n := $N)", "assert $B", "log.append([i for i in range($N % 4) if i != $N])", "log.append({q: $N for q in 'ab'})", "log.append(sum(q * $N for q in range(3)))", "log.append(next((q for q in items if q), $N))", "log.append(list(map(lambda q: (q, n), items)))",
    "log.append(torch.tensor([$V, $V]))", "log.append(torch.tensor($N))", "log.append(torch.full((2,), $V))", "log.append(sign($V))", "log.append(complex($V, $V))", "log.append(max([$V, $V]))", "log.append(sorted([$V, 1.0, $V]))", "log.append($V in [$V])", "torch.mul(y, $N, out=y)", "y.data = $T.detach()", "h = y.view(-1); h[0] = $V", "x.data.mul_(0)", "h.requires_grad_(True)", "y.index_fill_(0, torch.tensor([$N]), $V)", "y.masked_fill_(y > 0, $V)", "y[y > 0] = $V", "y[...] = $T", "y[0:0] = $T", "h = y.chunk(2)[0]", "h = y[None][0]; h.add_(1)", "y.t_()", "y.requires_grad_(False)", "x.retain_grad()", "h = x.detach(); h.add_(1)",
    "if x.requires_grad: x.register_hook(lambda g: g * 2)", "torch.manual_seed($N & 3)", "log.append(Pair($T, $V))", "slotted = Slotted(); slotted.a = $N; log.append(slotted)", "log.append(dataclasses.replace(Point($V), parts=items))", "log.append(dataclasses.asdict(Point($V)))", "obj.parts = [$T, $V]", "Obj.z = $N", "type(obj).scale = $N", "obj.__dict__['k'] = $N", "log.append(spread(*$C, a=$N, **{'b': $N}))", "log.append((lambda *a, k=$N: (a, k))(*items))",
    "log.append([*map(str, (q := $N, n))])", "m = [m := $N][0]", "del m; m = $N", "log.append({**table, **{'a': $V}})", "first, *rest = [$N, *items]; log.append(rest)", "log.append(functools.partial(bump, log)($N))", "log.append([k for k in table if k])", "table |= {'z': $N}", "items += ($N,)", "items[-1:] = []", "log.append(items.copy() == items)", "log.append((items, items))", "alias = items; alias.append($V)", "log.append(collections.Counter(map(str, $C)))", "log.append((hash(v) == hash(v), hash(v) == hash(w), hash((v, n)) == hash((w, n))))", "log.append($V == $N)",
)  # fmt: skip
CHANGES = (
    "OBJ.k = 0", "OBJ.extra = 5", "vars(OBJ).pop('extra', None)", "Obj.scale = -0.0", "Base.scale = 3", "OBJ.parts.append(None)", "OBJ.__class__ = type('Sub', (Obj,), {'bonus': 7, '__module__': 'program'})", "LIMIT = 0", "Obj.z = 4", "OBJ.name = ''",
    "OBJ.t = torch.zeros(0)", "OBJ.k = True", "Obj.__bool__ = lambda self: False", "OBJ.scale = 9", "OBJ.k = 2.0", "Base.bonus = 3", "globals().pop('LIMIT', None)", "OBJ.t = torch.tensor([nan], requires_grad=True)", "Obj.twice = 6", "OBJ.step = lambda u: u - 1",
)  # fmt: skip
