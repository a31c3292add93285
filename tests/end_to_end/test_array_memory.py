"""Memory that arrays share: results written to it by position, and numbers read from it after a write."""

import pytest
from tests.end_to_end.support import check_source

PROGRAM = """
import numpy as np, torch
def f(x, t, a, b):
    {}
def args():
    a = np.linspace(1.0, 2.0, 3)
    return torch.arange(3.0).double(), torch.from_numpy(a), a, a[:]
"""


def check_lines(text: str) -> None:
    """Run the lines as the body of `f(x, t, a, b)`, where `t` and `b` are over the memory of `a`."""
    check_source(PROGRAM.format(text.replace("\n", "\n    ")))


@pytest.mark.parametrize(
    "call",
    [
        "np.add(a, b, a)",
        "np.negative(a, b)",
        "np.clip(a, 0.0, 1.5, a)",
        "np.cumsum(a, 0, None, a)",
        "a.sum(0, None, b[:1].reshape(()))",
        "a.clip(0.0, 1.5, b)",
        "np.multiply(a[1:], 3, a[1:])",
        "np.divmod(a, 2.0, a, np.ones(3))",
        "np.nan_to_num(a, False)",
        "np.median(a, None, None, True)",
    ],
)
@pytest.mark.parametrize("made", ["pass", "a = b = np.ones(3)", "a = b = x.numpy()"])
def test_a_result_given_by_position_is_written_to(call, made):
    check_lines(f"{made}\n{call}\nreturn x + torch.from_numpy(a)")


@pytest.mark.parametrize(
    "write", ["t.add_(1)", "a[0] = 5.0", "torch.from_numpy(b).mul_(2)", "np.add(b, 1, b)", "b += 1"]
)
@pytest.mark.parametrize(
    "read",
    [
        "return x * b[0]",
        "return a[0], float(b[1])",
        "for v in b: x = x * v\nreturn x",
        "p, q, r = b\nreturn x * p",
        "return x + max(b)",
        "return x * 2 if b[0] > 1 else x * 3",
    ],
)
def test_a_number_read_after_a_write_to_its_memory_is_the_new_one(write, read):
    check_lines(f"{write}\n{read}")


@pytest.mark.parametrize("made", ["pass", "a = np.ones(3)", "a = x.numpy()"])
def test_a_loop_over_an_array_sees_what_is_written_meanwhile(made):
    check_lines(f"{made}\nfor v in a:\n    a[2] = 7.0\n    x = x + v\nreturn x")


def test_an_iterator_over_an_array_that_is_handed_over_goes_on():
    check_lines("it = iter(a)\nx = x * next(it)\nprint(next(it))\nreturn x * next(it), list(it)")
