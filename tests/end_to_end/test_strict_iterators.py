"""Existing `zip` and `map` with `strict=True`: one whose parts differ in length raises where the program gets there."""

import warnings

import pytest
import torch
from tests.end_to_end.worlds import load

from framesmith import frontend

PROGRAMS = {
    "a loop": "for i in z:\n            log.append(i)\n            x = x + 1",
    "a loop with a break": "for i in z:\n            print(end='')\n            log.append(i)\n            x = x + 1",
    "a list": "first = next(z)\n        x = x + first[0]\n        log.append(list(z))",
    "two at a time": "for i, j in zip(z, z):\n            log.append((i, j))",
}
MAKERS = [
    lambda: zip([1, 2], [1, 2], strict=True),
    lambda: zip([1, 3], [1], strict=True),
    lambda: zip([1, 3], [1, 2, 3], strict=True),
    lambda: zip([1, 3], [1], strict=False),
    lambda: map(lambda *parts: parts, [1, 2], [3, 4]),
]
if hasattr(map(abs, ()), "__setstate__"):  # 3.14 and newer
    MAKERS += [
        lambda: map(lambda *parts: parts, [1, 2], [3, 4], strict=True),
        lambda: map(lambda *parts: parts, [1, 2], [3], strict=True),
    ]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_raises_as_eagerly(program: str, order: int) -> None:
    source = f"log = []\ndef f(x, z):\n    try:\n        {PROGRAMS[program]}\n    except ValueError as error:\n        log.append(str(error))\n    return x\n"
    eager, compiled = load(source, "strict"), load(source, "strict")
    function = frontend.compile(compiled["f"], backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a bug of ours would be reported as a warning
        for make in MAKERS[::order]:
            assert function(torch.ones(1), make()).equal(eager["f"](torch.ones(1), make()))
            assert compiled["log"] == eager["log"]
