"""A graph that begins in a block, leaves it and then raises: what came before the operation has happened, and its own handler catches."""

import contextlib
import copy

import pytest
import torch

from framesmith import frontend

BLOCKS = {
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "autocast off": lambda: torch.autocast("cpu", enabled=False),
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "enable_grad": torch.enable_grad,
    "suppress": contextlib.nullcontext,
}
BACKENDS = {
    "eager": "eager",
    "aot_eager": "aot_eager",
    "callable": lambda module, examples: module.forward,
}


def fails_behind(x, index, log, block):
    with block():
        print(end="")  # breaks the graph
    log.append("behind")
    return x[index]


def handler_of_the_block(x, index, log, block):
    try:
        with block():
            print(end="")
    except IndexError:
        log.append("wrong")
    x = x + 1
    return x[index]


def handled_behind(x, index, log, block):
    with block():
        y = x * 2
        print(end="")
        y = y @ y
    log.append(str(y.dtype))
    try:
        return x[index]
    except IndexError:
        log.append("handled")
    return x * 3


def in_two_blocks(x, index, log, block):
    with block():
        with block():
            print(end="")
        log.append("one")
        with block():
            y = x[index]
    return y


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "program",
    [fails_behind, handler_of_the_block, handled_behind, in_two_blocks],
    ids=lambda one: one.__name__,
)
def test_what_came_before_has_happened(program, backend, block):
    def run(function):
        seen = []
        for place in (0, 7, 1, 7):
            log = []
            try:
                result = function(torch.ones(3, 3), torch.tensor([place]), log, BLOCKS[block])
            except IndexError as error:
                result = str(error)
            seen.append((result if isinstance(result, str) else (result.dtype, result.tolist()), log))
            seen.append((torch.is_autocast_enabled("cpu"), torch.is_grad_enabled()))
        return seen

    assert run(frontend.compile(program, backend=BACKENDS[backend])) == run(program)


@pytest.mark.parametrize(
    "backend",
    [
        lambda module, examples: torch.fx.Interpreter(module).run,
        lambda module, examples: copy.deepcopy(module),
        lambda module, examples: torch.fx.GraphModule(module, module.graph),
    ],
    ids=["interpreter", "copy", "module of its own"],
)
def test_a_copy_of_the_graph_that_raises_writes_and_draws_once(backend):
    def program(x, index):
        x.add_(1)
        noise = torch.rand(1)
        try:
            return x[index], noise
        except IndexError:
            return x * 0, noise

    compiled = frontend.compile(program, backend=backend)
    torch.manual_seed(0)
    x = torch.zeros(3)
    with pytest.raises(IndexError):  # loud: the values of the copy's run are not known
        compiled(x, torch.tensor([7]))
    drawn = torch.rand(1)
    assert x.tolist() == [1.0, 1.0, 1.0]
    torch.manual_seed(0)
    assert torch.equal(torch.rand(2)[1:], drawn)
