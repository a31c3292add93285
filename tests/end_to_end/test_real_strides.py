"""Strides of results that torch's fakes give otherwise than its kernels: what a program reads of them, and whether it gets a copy."""

import pytest
import torch
import torch.nn.functional as F
from tests.end_to_end.support import check

from framesmith import frontend

OPERATIONS = {
    "a normalization": lambda x: F.batch_norm(x, None, None, training=True),
    "a normalization outside of training": lambda x: F.batch_norm(x, torch.zeros(4), torch.ones(4)),
    "roll": lambda x: x.roll(1, 1),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "floor division": lambda x: x // x[:, :1],
    "reflected": lambda x: x[:1] // x,
    "in a row": lambda x: (x.roll(1, 1) // x[:, :1]) * 2,
    "div": lambda x: torch.div(x, x[:, :1], rounding_mode="floor"),
    "truncated": lambda x: torch.div(x, x[:, :1], rounding_mode="trunc"),
    "copysign": lambda x: torch.copysign(x, x[:, :1]),
    "xlogy": lambda x: torch.xlogy(x[:, :1], x),
    "xlog1py": lambda x: torch.special.xlog1py(x[:, :1], x),
    "with a number": lambda x: (x // 2, torch.copysign(x, -1.0)),
}
LAYOUTS = {
    "contiguous": lambda: torch.rand(2, 4, 6, 5) + 1,
    "reversed": lambda: (torch.rand(5, 6, 4, 2) + 1).permute(3, 2, 1, 0),
    "channels last": lambda: (torch.rand(2, 4, 6, 5) + 1).to(memory_format=torch.channels_last),
    "two exchanged": lambda: (torch.rand(2, 6, 4, 5) + 1).transpose(1, 2),
    "a step": lambda: (torch.rand(2, 4, 6, 10) + 1)[..., ::2],
}


def shape_of(value):
    return [(one.stride(), one.is_contiguous()) for one in (value if isinstance(value, tuple) else (value,))]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dynamic", [None, True])
def test_strides_that_a_program_reads(name, layout, dynamic):
    def program(x):
        return shape_of(OPERATIONS[name](x))

    x = LAYOUTS[layout]()
    compiled = frontend.compile(program, backend="eager", dynamic=dynamic)
    assert compiled(x) == program(x)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", ["floor division", "copysign", "roll", "a normalization"])
@pytest.mark.parametrize("layout", ["reversed", "channels last", "two exchanged"])
def test_whether_it_is_a_copy(name, layout, backend):
    def program(x):
        y = OPERATIONS[name](x)
        z = y.contiguous()
        z.add_(100)
        return y, z, z is y

    torch.manual_seed(0)
    check(program, LAYOUTS[layout](), backend=backend, tolerance=1e-5)


def test_gradients_go_through():
    x = (torch.rand(6, 4) + 1).t().requires_grad_()
    check(lambda x: torch.copysign(x, x[:, :1]).contiguous().sin(), x, backend="eager")
