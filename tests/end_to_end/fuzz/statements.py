"""Random programs: statements composed at random over a few variables of known kinds.

Every program ends: loops have small bounds. Variables: `x`, `y` tensors of three floats; `n`, `m` integers; `items` a list of
tensors; `table` a dict; `log` a list of notes; `obj` an instance. All exist from the start, so no statement meets an unbound one.
"""

from collections.abc import Sequence

from tests.end_to_end.breaks.programs import PRELUDE
from tests.end_to_end.fuzz.composing import BaseComposer, Statement, indented

SETUP = """
class Obj:
    scale = 2
    def __init__(self, t, k):
        self.t, self.k = t, k
    def step(self, v):
        self.k += 1
        self.t = self.t + v
        return self.t * self.scale
    @property
    def half(self):
        return self.t / 2
    def __len__(self):
        return self.k % 4
    def __getitem__(self, i):
        if i > 2:
            raise IndexError(i)
        return self.t + i

class Mine(Exception):
    pass

counter = 0

def helper(v, k=1, *rest, **named):
    if k > 2:
        return v - k
    return v * k + sum(rest) + len(named)

def loud(v):
    print("loud")
    return v + 1

def numbers(k):
    for i in range(k):
        yield i

def guarded(log, v):
    try:
        yield v
        yield v + 1
    finally:
        log.append("closed")
"""


LOOPS = (
    "n in range(3)", "y in items[:3]", "n, y in enumerate(items[:2])", "m, n in zip([1, 2], [3, 4, 5])", "y in obj",
    "k, v in list(table.items())", "n in numbers(3)", "x in guarded(log, y)", "n in reversed([1, 2])",
)  # fmt: skip
MANAGERS = (
    "torch.no_grad()", "Manager(log)", "Manager(log, True)", "managed(log) as m", "contextlib.suppress(Mine)",
    "Manager(log), managed(log)", "contextlib.nullcontext(3) as n", "torch.enable_grad()",
)  # fmt: skip
HANDLERS = (
    ["except Mine as e:"], ["except (KeyError, IndexError) as e:"], ["except Exception as e:"],
    ["except Mine as e:", "except LookupError as e:"],
)  # fmt: skip
RAISES = ("raise", "raise Mine(9) from e", "raise KeyError('h')")


class Composer(BaseComposer):
    """Programs over a few variables that keep their kinds."""

    plain = 35

    def part(self, kind: str, depth: int) -> str:
        """T (tensor), N (number), C (condition), t and n (variables)."""
        if kind == "T":
            return self.tensor(depth)
        if kind == "N":
            return self.number(depth)
        return self.condition(depth) if kind == "C" else self.one({"t": ("x", "y"), "n": ("n", "m")}[kind])

    def tensor(self, depth: int) -> str:
        """A tensor of three floats."""
        leaves = ("x", "y", "x", "y", "items[0]", "items[-1]", "table['t']", "obj.t", "obj.half")
        if depth <= 0 or self.chance(25):
            return self.one(leaves)
        return self.fill(self.one(TENSORS), depth - 1)

    def number(self, depth: int) -> str:
        """A small integer."""
        leaves = ("n", "m", "0", "1", "2", "3", "-1", "len(items) % 5", "obj.k % 7", "len(log) % 6")
        if depth <= 0 or self.chance(40):
            return self.one(leaves)
        return self.fill(self.one(NUMBERS), depth - 1)

    def condition(self, depth: int) -> str:
        """Something used for its truth."""
        return self.fill(self.one(CONDITIONS), depth - 1)

    def simple(self, loop: bool) -> list[str]:
        """A statement without a block."""
        if self.chance(4):
            return [self.fill(self.one(LEAVING), 1)]
        if loop and self.chance(15):
            return [self.one(("break", "continue"))]
        return [self.fill(self.one(SIMPLE), 2)]

    def compound(self) -> Sequence[Statement]:
        """Loops and `try` twice as often as the others."""
        return (
            self.branch,
            self.loop,
            self.loop,
            self.fuelled,
            self.attempt,
            self.attempt,
            self.managed,
            self.function,
            self.match,
        )

    def branch(self, depth: int, loop: bool) -> list[str]:
        return self.branched(self.condition(2), depth, loop)

    def loop(self, depth: int, loop: bool) -> list[str]:
        lines = [f"for {self.one(LOOPS)}:", *self.inner(depth, True)]
        return [*lines, "else:", *self.inner(depth, loop)] if self.chance(20) else lines

    def fuelled(self, depth: int, loop: bool) -> list[str]:
        fuel = self.name("fuel")
        return [
            f"{fuel} = 0",
            f"while {fuel} < 3 and ({self.condition(1)}):",
            f"    {fuel} += 1",
            *self.inner(depth, True),
        ]

    def attempt(self, depth: int, loop: bool) -> list[str]:
        lines = ["try:", *self.inner(depth, loop)]
        if self.chance(50):
            lines += indented([self.fill(self.one(LEAVING), 1)])
        final = self.chance(50)
        if not final or self.chance(50):
            for head in HANDLERS[self.dice.randrange(len(HANDLERS))]:
                lines += [head, "    log.append(repr(e))", *self.inner(depth, loop)]
                lines += indented([self.one(RAISES)]) if self.chance(20) else []
            if self.chance(30):
                lines += ["else:", *self.inner(depth, loop)]
        return [*lines, "finally:", *self.inner(depth, loop)] if final else lines

    def managed(self, depth: int, loop: bool) -> list[str]:
        return [f"with {self.one(MANAGERS)}:", *self.inner(depth, loop)]

    def match(self, depth: int, loop: bool) -> list[str]:
        first, second = self.inner(depth, loop), self.inner(depth, loop)
        cases = [
            "    case 0 | 1:",
            *indented(first),
            "    case k if k > 2:",
            *indented(second),
            "    case _:",
            "        log.append('m')",
        ]
        return [f"match {self.number(2)}:", *cases]

    def function(self, depth: int, loop: bool) -> list[str]:
        name = self.name("g")
        body = ["nonlocal x, n, total", "y, m = v, 1", *self.block(depth - 1), "total += 1", "return v"]
        return [f"def {name}(v):", *indented(body), f"y = {name}({self.tensor(1)})"]

    def program(self) -> str:
        """A whole program."""
        head = [
            "global counter",
            "y, n, m, total = x * 2, 1, 2, 0",
            "items, table, obj = [x, y, x], {'t': y}, Obj(y, 1)",
            "alias = items",
        ]
        bump = ["def bump():", "    nonlocal total, x", "    total += n", "    x = x + total"]
        tail = ["return x, y, n, m, items, alias, table, log, obj, total, counter"]
        body = "\n".join(indented([*head, *bump, *self.block(3, size=6), *tail]))
        return f"{PRELUDE}{SETUP}\ndef f(x, log):\n{body}\n\ndef args():\n    return torch.tensor([0.5, -1.0, 2.0], requires_grad=True), []\n"


TENSORS = (
    "($T + $T)", "($T - $T)", "($T * $N)", "($N - $T)", "$T.relu()", "$T.sin()", "$T.abs()", "helper($T, $N)", "helper($T, $N, 1, 2, q=$N)",
    "obj.step($T)", "torch.where($T > 0, $T, $T)", "($T if $C else $T)", "(lambda v: v + $N)($T)", "sum([v * $N for v in items[:3]], $T)",
    "loud($T)", "native($T)", "obj[1]", "torch.stack([$T, $T]).sum(0)", "[*items, $T][-1]", "{'a': $T}['a']", "max([(1, 0), (0, 1)])[1] * $T",
)  # fmt: skip
NUMBERS = (
    "($N + $N) % 5", "($N - $N)", "($N * $N) % 7", "($N | $N)", "max($N, $N)", "int($t.sum().item() > 0)", "sum(i for i in range($N % 4))",
    "x.shape[0] + $N", "native(2)", "len([v for v in items if v is x])", "abs($N)", "divmod($N, 3)[1]", "int('1') + $N", "(counter + $N) % 9",
)  # fmt: skip
CONDITIONS = (
    "$N < $N", "$N == $N", "$N >= $N", "$t.sum() > $N", "items", "log", "obj", "not obj", "'k' in table", "x is y", "items[0] is x",
    "isinstance(n, int)", "table.get('k')", "$N and $N", "not $C", "$C or $C", "$N in (1, 2)",
)  # fmt: skip
SIMPLE = (
    "$t = $T", "$t = $T", "$t = $T", "$n = $N", "$n = $N", "$n += $N", "x, y = y, $T", "items.append($T)", "items[0] = $T",
    "items[len(items) // 2:] = [$T]", "table['t'] = $T", "table['k'] = table.get('k', 0) + $N", "table.setdefault($N, []).append($N)",
    "log.append($N)", "log.append(('c', bool($C)))", "obj.t = $T", "obj.k = $N", "obj.extra = $T", "$t.clone().mul_(2)", "print('p', $N)",
    "print('p', $N)", "frontend.graph_break()", "log.append(f'''{$N} {n!r}''')", "log.append(round($t.sum().item(), 3))",
    "log.extend(sorted([3, $N, 1], key=lambda k: -k))", "counter += $N", "items.insert(0, items.pop())", "items.reverse()", "del items[2:]",
    "bump()", "log.append(total)", "log.append([1, 2][$N])", "log.append({0: 'a', 1: 'b'}.get($N))", "*_, y = items", "log.append(torch.is_grad_enabled())",
    "items = items + [$T]", "alias = [items, items]", "log.append((alias is items, len(alias)))", "gen = numbers(3); next(gen); log.append(list(gen))",
    "log.append([k for k in table if isinstance(k, int)])", "log.append(next(iter(log), None) is None)", "assert $N < 9, 'big'",
)  # fmt: skip
LEAVING = (
    "raise Mine($N)",
    "raise Mine($N)",
    "log.append([1, 2][$N])",
    "log.append({0: 'a'}[$N])",
    "return $T, log",
    "failing($T)",
    "1 // ($N % 2)",
    "raise KeyError('k', $N)",
)
