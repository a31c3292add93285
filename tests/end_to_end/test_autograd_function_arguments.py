"""`torch.autograd.Function.apply` of functions, which forward and backward call."""

import pytest
from tests.end_to_end.support import check_source

APPLY = """
import torch
from torch import nn
torch.manual_seed(0)

class Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, first, x, *others):
        ctx.first = first
        ctx.save_for_backward(x)
        return first(x) + len(others)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return (None, gradient * ctx.first(x)) + (None,) * {others}

def double(x):
    return x * 2

def triple(x):
    return x * 3

def args():
    return torch.randn(3, requires_grad=True), [0]

def f(x, calls):
    global double
    calls[0] += 1
    {lines}
"""
PROGRAMS = {
    "of torch": ("return Apply.apply(torch.sin, x)", 0, 0),
    "of torch, in Python": ("return Apply.apply(nn.functional.relu, x)", 0, 0),
    "of the program": ("return Apply.apply(double, x).cos()", 0, 0),
    "two": ("return Apply.apply(double, x) + Apply.apply(triple, x)", 0, 0),
    "behind the tensor": ("return Apply.apply(torch.cos, x, double, 3, triple)", 3, 0),
    "by a condition": ("return Apply.apply(double if calls[0] % 2 else triple, x)", 0, 0),
    "replaced between the calls": (
        "double, y = (lambda x: x * 5), Apply.apply(double, x); return y",
        0,
        None,
    ),
    "made in the call": ("return Apply.apply(lambda t: t * calls[0], x)", 0, None),
    "a method": ("return Apply.apply(x.mul, x)", 0, None),
    "a class": ("return Apply.apply(nn.Identity(), x)", 0, None),
}


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_function_may_be_an_argument(name, backend):
    lines, others, breaks = PROGRAMS[name]
    settings = {"backend": backend, "tolerance": 1e-6} if backend else {}
    check_source(APPLY.format(lines=lines, others=others), calls=4, breaks=breaks, **settings)


SCALARS = """
import numpy as np
import torch
torch.manual_seed(0)

class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.by = by
        return x * 2 if type(by) is np.{kind} else x

    @staticmethod
    def backward(ctx, gradient):
        return ctx.by * gradient.neg() * (type(ctx.by) is np.{kind}), None

def f(x, calls):
    calls[0] += 1
    return Reverse.apply(x, {value})

def args():
    return torch.randn(3, requires_grad=True), [0]
"""
VALUES = {
    "float64": "2.0 / (1.0 + np.exp(-calls[0])) - 1.0",
    "float32": "np.float32(0.1)",
    "int64": "np.int64(3)",
    "bool_": "np.bool_(True)",
}


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("kind", VALUES)
def test_a_scalar_of_numpy_stays_one(kind, backend):
    settings = {"backend": backend, "tolerance": 1e-6} if backend else {}
    # torch's arithmetic takes a bool of numpy for a float, which no node says
    breaks = None if kind == "bool_" else 0
    check_source(SCALARS.format(kind=kind, value=VALUES[kind]), calls=4, breaks=breaks, **settings)
