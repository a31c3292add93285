"""Entries that read, compute or hand over more values than one nested expression can hold."""

import pytest
import torch
from tests.end_to_end.support import check, check_source

PROGRAMS = {
    "objects whose numbers are read, handed over and changed": """
class Holder: pass
items = []
for n in range(210):
    items.append(Holder()); items[-1].inner = Holder(); items[-1].inner.value = n
def f(x):
    total = 0
    for item in items: total = item.inner.value + total
    print(end='')
    for item in items: item.inner.value += 1
    return x + total
""",
    "tensors that are read and replaced": """
items = {n: X + n for n in range(260)}
def f(x):
    for key in items: items[key] = items[key] * 2
    return x + items[0] + items[259]
""",
    "tensors behind a break": """
class Holder: pass
items = []
for n in range(260): items.append(Holder()); items[-1].value = X + n
def f(x):
    found = [item.value.sin() for item in items]
    print(end='')
    return x + sum(found)
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_hundreds_of_values(program: str) -> None:
    source = (
        "import torch\nX = torch.ones(2)\n" + PROGRAMS[program] + "def args(): return (torch.arange(2.0),)\n"
    )
    check_source(source)


@pytest.mark.parametrize("count", [40, 220])
def test_numbers_that_change_are_summed(count: int) -> None:
    def total(x, numbers):
        found = 0
        for number in numbers:
            found = number * 2 + found // 3
        return x.new_zeros(found % 7 + 1) if found > 3 else x

    def change(x, numbers):
        numbers[::2] = [number + 1 for number in numbers[::2]]

    check(total, torch.ones(2), [*range(count)], change=change, calls=4)
