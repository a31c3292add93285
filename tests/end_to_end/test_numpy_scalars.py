"""numpy's scalars beside tensors: torch takes some for Python's numbers, and others for something else, or refuses them."""

import operator

import numpy as np
import pytest
import torch

from framesmith import frontend

TYPES = (
    "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "longdouble", "complex64", "complex128", "str_", "datetime64",
)  # fmt: skip


def stored(x, key, value):
    x = x.clone()
    x[key] = value
    return x


USES = {
    "x + b": lambda x, b: x + b,
    "b - x": lambda x, b: b - x,
    "x * b": lambda x, b: x * b,
    "x // b": lambda x, b: x // (b + b),
    "x & b": lambda x, b: x & b,
    "x < b": lambda x, b: x < b,
    "in place": lambda x, b: x.clone().sub_(b),
    "+=": lambda x, b: operator.iadd(x.clone(), b),
    "alpha": lambda x, b: x.double().add_(1, alpha=b),
    "alpha of a bool": lambda x, b: x.add(1, alpha=np.bool_(b)),
    "function": lambda x, b: torch.mul(b, x),
    "fill": lambda x, b: (x.clone().fill_(b), x.masked_fill(x == 1, b)),
    "new": lambda x, b: (torch.full((2,), b), torch.full_like(x, b), torch.arange(b)),
    "data": lambda x, b: torch.tensor([b, 1]),
    "new data": lambda x, b: x.new_tensor([b]),
    "clamp": lambda x, b: x.clamp(min=b),
    "size": lambda x, b: torch.zeros(b, 2),
    "sizes": lambda x, b: torch.zeros((b, 2)),
    "list of sizes": lambda x, b: torch.zeros([b, 2]),
    "index": lambda x, b: x[b],
    "slice": lambda x, b: x[:b],
    "list of indices": lambda x, b: x[[b]],
    "stored": lambda x, b: stored(x, 0, b),
    "stored at": lambda x, b: stored(x, b, 1),
    "stored in all": lambda x, b: stored(x, ..., b),
    "dim": lambda x, b: x.view(1, 2, 2).sum(dim=b),
    "keepdim": lambda x, b: x.view(2, 2).sum(0, keepdim=b),
    "split": lambda x, b: x.split(b),
    "truth": lambda x, b: x * 2 if b else x,
}


def described(function, *arguments):
    try:
        result = function(*arguments)
    except Exception as error:
        return type(error), str(error)
    results = result if isinstance(result, tuple) else (result,)
    return [(one.dtype, one.shape, repr(one.tolist())) for one in results]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", TYPES)
def test_a_scalar_is_what_it_is_for_eager(name, backend):
    kind = getattr(np, name)
    scalars = [kind(1, "D")] if kind is np.datetime64 else [kind(1), kind(0)]
    for use, function in USES.items():
        for dtype in (torch.bool, torch.int64, torch.float32):
            x, compiled = torch.tensor([0, 1, 2, 3]).to(dtype), frontend.compile(function, backend=backend)
            for scalar in scalars:
                expected = described(function, x, scalar)
                assert described(compiled, x, scalar) == expected, (use, dtype, scalar)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int32])
def test_a_factor_and_a_size_are_in_the_graph(kind):
    def f(x, factor, size):
        return (x * factor).view(size, -1) + torch.zeros(size, 1)

    x, size = torch.ones(4), np.int64(2)
    compiled = frontend.compile(f, backend="eager", fullgraph=True)
    assert torch.equal(compiled(x, kind(3), size), f(x, kind(3), size))


NAMES = {"torch": torch, "F": torch.nn.functional}
ASKED = {
    "torch.split(x, s)": True,
    "torch.split(x, [s, 4 - s])": True,
    "x.split([s, 4 - s])": True,
    "x.split(s)": True,
    "torch.tensordot(x, x, s)": True,
    "torch.unravel_index(x.long(), (s, 4))": True,
    "torch.broadcast_shapes((s,), ()), x": True,
    "torch.norm(x, dim=s - s)": True,
    "torch.norm(x, s)": True,
    "torch.unique(x, dim=s - s)": True,
    "torch.cdist(x[None], x[None], s)": True,
    "F.adaptive_avg_pool2d(x.view(1, 2, 2), s)": True,
    "F.adaptive_max_pool2d(x.view(1, 2, 2), (s, s))": True,
    "F.max_pool1d(x[None], s)": True,
    "F.max_unpool1d(x[None], x.long()[None], 2, output_size=(1, s * 8))": True,
    "F.pad(x, (s, 0))": True,
    "F.interpolate(x[None, None], s * 2)": True,
    "F.interpolate(x[None, None], size=(s * 2,))": True,
    "F.softmax(x, s - s)": True,
    "F.one_hot(x.long(), s + 4)": True,
    "F.layer_norm(x, (s * 4,))": True,
    "x.unflatten(0, (s, -1))": True,
    "torch.nn.AdaptiveAvgPool2d(s)(x.view(1, 2, 2))": False,
    "torch.ops.aten.sum.dim_IntList(x, s - s)": False,
    "torch.ops.aten.add.Scalar(x, s)": False,
    "torch.ops.aten.clamp(x, s)": False,
    "torch.ops.aten.view(x, [s, -1])": False,
    "torch.ones((), requires_grad=s == 1)": False,
    "torch.ones(2, requires_grad=s)": False,
}


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.float64, np.float32, np.bool_])
@pytest.mark.parametrize("text", ASKED)
def test_code_that_asks_for_the_type_sees_it(text, kind):
    function = eval(f"lambda x, s: ({text})", NAMES)
    compiled = frontend.compile(function, backend="eager")
    made = eval(f"lambda x, kind, s: (lambda s: ({text}))(kind(s))", NAMES)
    constant = frontend.compile(made, backend="eager")
    for value in (1, 1, 2, 4, 1):
        x, s = torch.arange(4.0), kind(value)
        expected = described(function, x, s)
        assert described(compiled, x, s) == expected, value
        assert described(constant, x, kind, value) == expected, value


@pytest.mark.parametrize("text", [text for text, is_whole in ASKED.items() if is_whole])
def test_code_that_asks_for_the_type_is_in_the_graph(text):
    function = eval(f"lambda x, s: ({text})", NAMES)
    compiled = frontend.compile(function, backend="eager", fullgraph=True)
    expected = described(function, torch.arange(4.0), np.int64(1))
    if isinstance(expected, list):
        assert described(compiled, torch.arange(4.0), np.int64(1)) == expected
