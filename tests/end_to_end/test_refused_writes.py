"""Operations in place that eager refuses: results larger than what is written to, and moves within one memory."""

import pytest
import torch
from tests.end_to_end.support import check_source

HEAD = """
import torch
def args(): return [torch.ones(1, 3, dtype=TYPE), torch.ones(2, 3, dtype=TYPE)]
"""
FLOATS = (
    "floor_divide_ remainder_ fmod_ pow_ atan2_ arctan2_ copysign_ eq_ ne_ lt_ gt_ le_ ge_ not_equal_ less_ greater_equal_ hypot_ "
    "nextafter_ heaviside_ xlogy_ clamp_min_ clamp_max_ igamma_ igammac_ add_ sub_ mul_ div_ copy_ fmax_"
).split()
INTEGERS = "bitwise_and_ bitwise_or_ bitwise_xor_ bitwise_left_shift_ bitwise_right_shift_ gcd_ lcm_".split()
STATEMENTS = [
    *((f"a.{name}(b)", "torch.float32") for name in FLOATS if hasattr(torch.Tensor, name)),
    *((f"a.{name}(b)", "torch.int64") for name in INTEGERS),
    *((f"a {sign}= b", "torch.int64") for sign in ("//", "%", "&", "|", "^", "<<", ">>", "**")),
    ("a.float_power_(b)", "torch.float64"),
    ("a.clamp_(min=b)", "torch.float32"),
    ("a.clamp_(b, b)", "torch.float32"),
    ("a.div_(b, rounding_mode='floor')", "torch.float32"),
    ("a.masked_scatter_(b > 0, b)", "torch.float32"),
    ("a = a[0]; a.fmod_(b[:1])", "torch.float32"),
    ("b.fmod_(a)", "torch.float32"),
    ("b[0].fmod_(a[0])", "torch.float32"),
    ("b.clamp_(a[:, :1])", "torch.float32"),
]


@pytest.mark.parametrize(("statement", "dtype"), STATEMENTS)
@pytest.mark.parametrize("given", ["a + 0", "a"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_result_that_is_larger_than_what_is_written_to(
    statement: str, dtype: str, given: str, backend: str
) -> None:
    body = f"    a = {given}\n    {statement}\n    return a, b\n"
    check_source(HEAD.replace("TYPE", dtype) + f"def f(a, b):\n{body}", backend=backend, calls=2)


@pytest.mark.parametrize(
    "statement",
    [
        "b.scatter_(0, torch.zeros_like(b, dtype=torch.long), b)",
        "b.scatter_add_(0, torch.zeros_like(b, dtype=torch.long), b)",
        "b.index_add_(0, torch.tensor([0, 1]), b)",
        "b.index_copy_(0, torch.tensor([1, 0]), b)",
        "b.index_put_((torch.tensor([0, 1]),), b)",
        "b.masked_scatter_(b > 0, b)",
        "b.put_(torch.tensor([0, 1, 2, 3, 4, 5]), b)",
        "b[b > 0] = b",
        "b = b.sum(); b[b > 0] = b",
        "b = b.sum(); b[b > 0] = b * 1",
    ],
)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_moves_within_one_memory(statement: str, backend: str) -> None:
    source = f"def f(a, b):\n    b = b * 2\n    {statement}\n    return a + 1, b\n"
    check_source(HEAD.replace("TYPE", "torch.float32") + source, backend=backend, calls=2)
