"""Hooks registered for all modules run for the modules of the program, not for what was captured."""

import pytest
import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils.checkpoint import checkpoint

from framesmith import frontend

LAYER = torch.nn.Linear(3, 3)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


PROGRAMS = {
    "vmap": lambda x: torch.vmap(lambda row: row * 2)(x),
    "gradient": lambda x: torch.func.grad(lambda y: (y * y).sum())(x),
    "checkpoint": lambda x: checkpoint(lambda y: y.sin(), x, use_reentrant=False),
    "function": lambda x: Doubled.apply(x),
    "a layer": lambda x: LAYER(x).relu(),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "the module itself"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_hooks_of_all_modules(program, backend, when):
    taken = (lambda module, examples: module) if backend == "the module itself" else backend
    compiled = frontend.compile(PROGRAMS[program], backend=taken)
    x = torch.ones(2, 3, requires_grad=True)
    if when == "after":
        compiled(x)
    noted: list[str] = []
    handles = [
        register_module_forward_hook(lambda module, args, result: noted.append(type(module).__name__)),
        register_module_forward_pre_hook(lambda module, args: noted.append(type(module).__name__)),
    ]
    try:
        for _ in range(2):
            noted.clear()
            result = compiled(x)
            if result.requires_grad:
                result.sum().backward()
            assert noted == (["Linear", "Linear"] if program == "a layer" else [])
    finally:
        for handle in handles:
            handle.remove()


def test_a_hook_that_a_backend_registers_is_called():
    noted = []

    def backend(module, examples):
        module.register_forward_hook(lambda module, args, result: noted.append(len(args)))
        return module

    assert frontend.compile(lambda x: x + 1, backend=backend)(torch.ones(2)).tolist() == [2.0, 2.0]
    assert noted == [1]
