"""Products of sizes, and tensors made of them, that stay symbolic: no entry for each size."""

import math

import pytest
import torch
from tests.end_to_end.support import check
from torch._dynamo.backends.registry import lookup_backend

from framesmith import frontend

SIZES = (5, 7, 9, 1, 0, 12, 3)
PROGRAMS = {
    "prod": lambda x: (x + 1, math.prod(x.shape), x.reshape(math.prod(x.shape))),
    "prod of a part": lambda x: (x + 1, math.prod(x.shape[1:], start=2), math.prod([x.size(1), 2.5, -1])),
    "prod of an iterator": lambda x: x * math.prod(size + 1 for size in x.shape),
    "numel": lambda x: (x + 1, x.shape.numel(), x.shape[1:].numel(), x.shape[:0].numel()),
    "tensor": lambda x: (x + 1, torch.tensor(x.size(1)), torch.as_tensor(x.size(1)) * 2),
    "tensor of a list": lambda x: (x + 1, torch.tensor([x.size(1), 2, 0]), torch.tensor((x.size(1), 0.5))),
    "tensor of sizes": lambda x: (x + 1, torch.tensor(x.shape), torch.tensor([x.shape, x.shape[::-1]])),
    "dtype": lambda x: (x + 1, torch.tensor([x.size(1)], dtype=torch.float32, device="cpu")),
    "quotient": lambda x: (
        x + 1,
        torch.tensor(x.size(1) / 3),
        torch.tensor(x.size(1) ** 0.5, dtype=torch.half),
    ),
    "mixed": lambda x: (x + 1, torch.tensor([x.sum(), x.size(1)])),
    "new": lambda x: (x + 1, x.new_tensor([x.size(1), 2]), x.long().new_tensor(x.size(1), dtype=None)),
}


@pytest.mark.parametrize("program", list(PROGRAMS.values()), ids=list(PROGRAMS))
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_few_graphs(program, backend):
    made = 0

    def counting(module, inputs):
        nonlocal made
        made += 1
        return lookup_backend(backend)(module, inputs)

    compiled = frontend.compile(program, backend=counting, fullgraph=True)
    for size in SIZES:
        x = torch.rand(2, size, 8)
        assert repr(compiled(x)) == repr(program(x))
    # The first, one for sizes that differ, and those for 0 and 1.
    assert made <= 4


KNOWN = {
    "prod": lambda x: (
        x,
        math.prod([]),
        math.prod([2, 3.5]),
        math.prod((True, 4), start=3),
        math.prod(range(1, 5)),
    ),
    "prod of tensors": lambda x: (math.prod([x, 2, x]), math.prod(x)),
    "prod of texts": lambda x: (x, math.prod(["ab"], start=2)),
    "numel": lambda x: (x, torch.Size([]).numel(), torch.Size([2, 3]).numel()),
    "whole": lambda x: (
        x,
        torch.tensor([x.size(0), 300], dtype=torch.int32),
        torch.tensor(x.size(0), dtype=torch.bool),
    ),
    "leaf": lambda x: (x, torch.tensor(x.size(0) * 0.5, requires_grad=True)),
}


@pytest.mark.parametrize("program", list(KNOWN.values()), ids=list(KNOWN))
def test_others_are_as_in_eager(program):
    check(program, torch.rand(3, 2), change=lambda x: x.resize_(x.size(0) + 1, 2).fill_(2.0))


@pytest.mark.parametrize("items", [[2, "a", None], [{}], 5, [object()]])
def test_what_has_no_product(items):
    def program(x):
        try:
            return x, math.prod(items)
        except TypeError as error:
            return x, str(error)

    x = torch.ones(2)
    assert frontend.compile(program, backend="eager")(x) == program(x)
