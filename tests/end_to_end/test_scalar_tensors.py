"""Factors that are tensors without dimensions (`alpha=`, `value=`): every bit is that of eager, and errors are."""

import pytest
import torch

from framesmith import frontend

PROGRAMS = {
    "addcmul": lambda a, b, d, v: torch.addcmul(a, b, d, value=v),
    "addcmul_": lambda a, b, d, v: a.clone().addcmul_(b, d, value=v),
    "addcdiv": lambda a, b, d, v: a.addcdiv(b, d, value=v),
    "addcdiv_": lambda a, b, d, v: a.clone().addcdiv_(b, d, value=v),
    "add": lambda a, b, d, v: torch.add(a, b, alpha=v),
    "add_": lambda a, b, d, v: a.clone().add_(b, alpha=v),
    "sub": lambda a, b, d, v: a.sub(b, alpha=v),
    "sub_": lambda a, b, d, v: a.clone().sub_(b, alpha=v),
}
FACTORS = [
    torch.tensor(0.1),
    torch.tensor(0.3, dtype=torch.float64),
    torch.tensor([0.1]),
    torch.tensor(0.1, requires_grad=True),
    torch.tensor(3),
]


def outcome(function, *args):
    try:
        return function(*args)
    except (RuntimeError, TypeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int64])
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_bit_is_that_of_eager(program: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    function = PROGRAMS[program]
    for size in (3, 301):
        a, b, d = [(torch.randn(size) * 9).to(dtype) for _ in range(3)]
        for factor in FACTORS:
            compiled = frontend.compile(function, backend="eager")
            expected, found = outcome(function, a, b, d, factor), outcome(compiled, a, b, d, factor)
            if isinstance(expected, torch.Tensor):
                assert torch.equal(found.nan_to_num(), expected.nan_to_num()), factor
                assert found.dtype == expected.dtype
            else:
                assert found == expected


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_factor_stays_in_the_graph(program: str) -> None:
    compiled = frontend.compile(PROGRAMS[program], backend="eager", fullgraph=True)
    compiled(torch.ones(3), torch.ones(3), torch.ones(3), torch.tensor(0.1))
