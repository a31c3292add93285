"""Slices of objects with `__index__`: the order in which they are asked."""

import pytest
from tests.end_to_end.support import check_source

HEAD = """
import torch
class I:
    def __init__(self, n, log): self.n = n; self.log = log
    def __index__(self):
        self.log.append(self.n)
        if self.n == 99: raise KeyError(self.n)
        return self.n
def args(): return [torch.ones(2)]
"""
USES = {
    "list": "[1, 2, 3, 4][i(0):i(3):i(2)]",
    "tuple": "(1, 2, 3, 4)[i(0):i(3):i(2)]",
    "range": "range(9)[i(1):i(7):i(2)]",
    "str": "'abcd'[i(0):i(3):i(2)]",
    "stored": "l.__setitem__(slice(i(0), i(4), i(2)), [8, 9])",
    "deleted": "l.__delitem__(slice(i(0), i(3), i(2)))",
    "step of zero": "[1][i(5):i(6):i(0)]",
    "error in the start": "[1][i(99):i(6):i(3)]",
    "error in the step": "[1][i(2):i(6):i(99)]",
    "indices": "slice(i(0), i(3), i(2)).indices(i(10))",
    "indices without step": "slice(i(0), i(3)).indices(i(10))",
    "indices of a negative length": "slice('a').indices(-1)",
    "indices of a bad length": "slice(i(0), 'a').indices('b')",
    "indices with a step of zero": "slice('a', 'b', i(0)).indices(i(5))",
    "indices with a bad start": "slice('a', i(3), i(2)).indices(i(5))",
}


@pytest.mark.parametrize("use", USES)
def test_a_slice_asks_step_start_stop(use: str) -> None:
    check_source(f"""{HEAD}
def f(x):
    log, l = [], [1, 2, 3, 4]
    def i(n): return I(n, log)
    try: found = {USES[use]}
    except (TypeError, ValueError, KeyError) as error: found = repr(error)
    return found, log, l, x + 1
""")
