"""Random programs over wild values: sizes 0 and 1, nan, inf, -0.0, empty containers, objects whose state changes.

Every program has `f`, the arguments of several calls (`args(k)`) and what is changed before a call (`change(k)`).
Many statements stand in a `try` of their own, so that one failure does not end the program.
"""

import random
from collections.abc import Sequence

from tests.end_to_end.fuzz.composing import BaseComposer, Statement, indented
from tests.end_to_end.fuzz.wild_statements import (
    BOOLEANS,
    CHANGES,
    CONTAINERS,
    FLOATS,
    HANDLERS,
    LOOPS,
    MANAGERS,
    NUMBERS,
    RAISING,
    SETUP,
    SIMPLE,
    STRINGS,
    TENSORS,
    VALUES,
)

CALLS = 5


TABLES = {
    "T": (TENSORS, ("x", "y", "x", "y", "obj.t", "h")),
    "N": (NUMBERS, ("n", "m", "0", "1", "-1", "2", "obj.k", "x.shape[0]", "len(items)")),
    "V": (FLOATS, ("v", "w", "v", "0.0", "-0.0", "1.5", "float('nan')", "float('inf')")),
    "S": (STRINGS, ("s", "s", "''", "'a'", "'k'", "obj.name")),
    "B": (BOOLEANS, ("flag", "not flag", "items", "table", "s", "obj")),
    "C": (CONTAINERS, ("items", "table", "[]", "list(table)", "(1, 2)")),
}
VARIABLES = {"t": ("x", "y", "h"), "n": ("n", "m"), "v": ("v", "w")}


class WildComposer(BaseComposer):
    """Most programs are short, so that one failure hides little and a difference is soon understood; some are long."""

    plain = 45

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice, dice.choice((4, 8, 8, 15, 15, 25, 50)))

    def part(self, kind: str, depth: int) -> str:
        """An expression of one kind, or a variable to assign to."""
        return self.expression(kind, depth) if kind in TABLES else self.one(VARIABLES[kind])

    def expression(self, kind: str, depth: int) -> str:
        """An expression of one kind."""
        table, leaves = TABLES[kind]
        if depth <= 0 or self.chance(35):
            return self.one(leaves)
        text = self.fill(self.one(table), depth - 1)
        return f"({text})" if kind == "B" else text

    def simple(self, loop: bool) -> list[str]:
        """A statement without a block, often guarded."""
        if loop and self.chance(12):
            return [self.one(("break", "continue"))]
        line = self.fill(self.one(SIMPLE), 2)
        if self.chance(30):
            return ["try:", "    " + line, "except Exception as e:", "    note(log, e)"]
        return [line]

    def compound(self) -> Sequence[Statement]:
        """`try` twice as often as the others."""
        return (
            self.branch,
            self.loop,
            self.attempt,
            self.attempt,
            self.managed,
            self.function,
            self.generator,
            self.match,
        )

    def branch(self, depth: int, loop: bool) -> list[str]:
        return self.branched(self.expression("B", 2), depth, loop)

    def loop(self, depth: int, loop: bool) -> list[str]:
        return [f"for {self.fill(self.one(LOOPS), 1)}:", *self.inner(depth, True)]

    def attempt(self, depth: int, loop: bool) -> list[str]:
        lines = ["try:", *self.inner(depth, loop)]
        if self.chance(60):
            lines += indented([self.fill(self.one(RAISING), 1)])
        final = self.chance(40)
        if not final or self.chance(60):
            lines += [self.one(HANDLERS), "    note(log, e)", *self.inner(depth, loop)]
            if self.chance(25):
                lines += indented(
                    [self.one(("raise", "raise Mine(3) from e", "raise KeyError('h') from None"))]
                )
            if self.chance(25):
                lines += ["else:", *self.inner(depth, loop)]
        return [*lines, "finally:", *self.inner(depth, loop)] if final else lines

    def managed(self, depth: int, loop: bool) -> list[str]:
        return [f"with {self.one(MANAGERS)}:", *self.inner(depth, loop)]

    def match(self, depth: int, loop: bool) -> list[str]:
        cases = (
            "case 0 | 1:",
            "case float() as q if q != q:",
            "case [first, *_]:",
            "case {'a': q}:",
            "case Obj(k=2):",
            "case str():",
            "case None:",
        )
        chosen = [self.one(cases), self.one(cases)]
        lines = [f"match {self.one(('n', 'v', 'items', 'table', 'obj', 's', 'table.get(s)'))}:"]
        for case in dict.fromkeys(chosen):
            lines += indented([case, *self.inner(depth, loop)])
        return [*lines, "    case _:", "        log.append('other')"]

    def function(self, depth: int, loop: bool) -> list[str]:
        name = self.name("g")
        head = "nonlocal x, n, v, h" if self.chance(60) else "nonlocal n"
        mine = ["h = u"] if "h" not in head else []
        locals_ = ["x, v = u, 2.5", *mine] if "x" not in head else []
        body = [
            head,
            *locals_,
            "y, m, w = u, 1, 0.5",
            *self.block(depth - 1),
            self.one(("return u", "return h", "n += 1; return u * 2")),
        ]
        call = self.one(
            (f"y = {name}($T)", f"y = {name}($T, w=$V)", f"log.append([{name}($T) for _ in range(2)][0])")
        )
        return [f"def {name}(u, m=1, *, w=0.5):", *indented(body), *self._guarded(self.fill(call, 1))]

    def generator(self, depth: int, loop: bool) -> list[str]:
        name = self.name("gen")
        body = [
            "nonlocal n, x",
            "v, w, m, y, h = 1.5, -0.0, 2, x, x",
            *self.block(depth - 1),
            "got = yield n",
            "log.append(got)",
            "yield x",
        ]
        use = self.one(
            (
                f"log.append(list({name}()))",
                f"it = {name}(); next(it); it.send($N); it.close()",
                f"for q in {name}(): log.append(q); break",
                f"x, *_ = reversed([*{name}()])",
            )
        )
        return [f"def {name}():", *indented(body), *self._guarded(self.fill(use, 1))]

    def _guarded(self, line: str) -> list[str]:
        return (
            ["try:", "    " + line, "except Exception as e:", "    note(log, e)"]
            if self.chance(40)
            else [line]
        )

    def arguments(self) -> list[str]:
        """One tuple of arguments."""
        size = self.one(("0", "1", "1", "2", "3", "3", "5"))
        other = size if self.chance(80) else self.one(("0", "1", "4"))
        grad = ", requires_grad=True" if self.chance(50) else ""
        numbers = ", ".join([self.one(VALUES) for _ in range(int(size))])
        return [
            f"torch.tensor([{numbers}], dtype=torch.float32{grad})",
            f"torch.arange({other}.0) - 1",
            self.one(("0", "1", "-1", "2", "3", "True", "2**53+1")),
            self.one(("0", "1", "2", "3")),
            self.one(VALUES),
            self.one((*VALUES, "2", "float(2**53)")),
            self.one(("''", "'a'", "'abc'")),
            self.one(("True", "False")),
            self.one(("[]", "[1]", "[0, 1.5, 'a']", "[3, 1, 2]", "[None]")),
            self.one(("{}", "{'a': 1}", "{'k': 2.5, 'a': 0}", "OrderedDict(b=1, a=2)", "{1: 'x'}")),
        ]

    def calls(self) -> list[list[str]]:
        """Each call like an earlier one but for a few arguments: what else changed would hide a guard that is missing."""
        found = [self.arguments()]
        while len(found) < CALLS:
            values, new = list(self.dice.choice(found)), self.arguments()
            if self.chance(40):
                values[:2] = new[:2]
            for _ in range(self.dice.randrange(3)):
                position = self.dice.randrange(len(values))
                values[position] = new[position]
            found.append(values)
        return found

    def program(self) -> str:
        """A whole program."""
        head = ["global counter", "log, h, obj = [], x, OBJ"]
        body = "\n".join(
            indented(
                [
                    *head,
                    *self.block(3, size=7),
                    "return x, y, h, n, m, v, w, s, items, table, log, obj, counter",
                ]
            )
        )
        calls = ",\n        ".join(f"({', '.join(one)})" for one in self.calls())
        changes = "\n".join(
            f"    if k == {k}: {self.one(CHANGES)}" for k in range(1, CALLS) if self.chance(60)
        )
        return (
            f"{SETUP}\ndef f(x, y, n, m, v, w, s, flag, items, table):\n{body}\n\n"
            f"def args(k):\n    return [\n        {calls}\n    ][k]\n\ndef change(k):\n    global LIMIT\n    pass\n{changes}\n"
        )
