"""`int`, `float`, `bool` and `complex` where torch takes a dtype."""

import pytest
import torch
from tests.end_to_end.support import check

CALLS = {
    "tensor": lambda x, kind: torch.tensor([1], dtype=kind),
    "zeros": lambda x, kind: torch.zeros(2, dtype=kind) + x,
    "full": lambda x, kind: torch.full((2,), 1, dtype=kind),
    "arange": lambda x, kind: torch.arange(3, dtype=kind),
    "zeros_like": lambda x, kind: torch.zeros_like(x, dtype=kind),
    "new_zeros": lambda x, kind: x.new_zeros(2, dtype=kind),
    "to": lambda x, kind: x.to(kind),
    "to by name": lambda x, kind: x.to(dtype=kind, copy=True),
    "to a device": lambda x, kind: x.to("cpu", kind),
    "view": lambda x, kind: x.view(kind),
    "sum": lambda x, kind: x.sum(dtype=kind),
    "cumsum": lambda x, kind: torch.cumsum(x, 0, dtype=kind),
    "softmax": lambda x, kind: torch.nn.functional.softmax(x, -1, dtype=kind),
    "promote_types": lambda x, kind: (
        x + 1 if torch.promote_types(kind, torch.float32) is torch.float32 else x
    ),
    "type": lambda x, kind: x.type(kind),
    "an index": lambda x, kind: x[torch.tensor([-1], dtype=kind)],
    "an operand": lambda x, kind: torch.add(x, kind),
}


@pytest.mark.parametrize("kind", [int, float, bool, complex, str, torch.nn.Linear])
@pytest.mark.parametrize("name", CALLS)
def test_a_class_as_dtype(name: str, kind: type) -> None:
    call = CALLS[name]
    check(lambda x: call(x, kind), torch.tensor([0.5, 2.0]), calls=2)


@pytest.mark.parametrize("kind", [int, float, bool, complex])
@pytest.mark.parametrize("name", list(CALLS)[:10])
def test_a_class_of_numbers_as_dtype_costs_no_break(name: str, kind: type) -> None:
    call = CALLS[name]
    try:
        call(torch.ones(2, dtype=torch.float64), kind)
    except RuntimeError:
        return  # the operator has no such dtype
    check(lambda x: call(x, kind), torch.ones(2, dtype=torch.float64), breaks=0, calls=2)


def test_an_overload_that_was_read_is_itself() -> None:
    check(lambda x: (torch.ops.aten.sum.default, x + 1), torch.ones(2), calls=2)
    check(lambda x: torch.ops.aten.sum.default.name(), torch.ones(2), calls=2)
    check(lambda x: torch.ops.aten.sum.default(x, dtype=int), torch.ones(2), calls=2)
