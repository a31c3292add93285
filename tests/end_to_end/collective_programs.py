"""Programs of two processes, each run eagerly and compiled; the first process prints what it found as JSON.

`python -m tests.end_to_end.collective_programs FILE BACKEND...`: FILE is where the processes meet.
"""

import json
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.nn
from tests.end_to_end import work_programs
from torch import multiprocessing, nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel

from framesmith import frontend

Program = Callable[[torch.Tensor], Any]
PROGRAMS: dict[str, Program] = {}
PLAIN: dict[str, Program] = {}
"""Those that are one graph."""


def plain(program: Program) -> Program:
    """Add a program that is one graph."""
    PLAIN[program.__name__] = PROGRAMS[program.__name__] = program
    return program


def broken(program: Program) -> Program:
    """Add a program that breaks the graph."""
    PROGRAMS[program.__name__] = program
    return program


@plain
def all_reduce(x):
    y = x * 2
    dist.all_reduce(y)
    return y + 1


@plain
def all_reduce_of_the_argument(x):
    given = dist.all_reduce(x, dist.ReduceOp.MAX)
    return given, x * 2


@plain
def product(x):
    dist.all_reduce(tensor=x, op=dist.ReduceOp.PRODUCT, group=dist.group.WORLD)
    return x


@plain
def functional_all_reduce(x):
    return functional.all_reduce(x * 2, "sum", dist.group.WORLD) + 1


@plain
def broadcast(x):
    dist.broadcast(x, 1)
    return x * 2


@plain
def all_gather(x):
    found = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(found, x * 2)
    return torch.cat(found)


@plain
def all_gather_into_tensor(x):
    flat, rows = x.new_empty(8), x.new_empty(4, 2)
    dist.all_gather_into_tensor(flat, x)
    dist.all_gather_into_tensor(rows, x.reshape(2, 2) + 1)
    return flat, rows


@plain
def reduce_scatter_tensor(x):
    part = x.new_empty(2)
    dist.reduce_scatter_tensor(part, x)
    return part


@plain
def all_to_all_single(x):
    found = torch.empty_like(x)
    dist.all_to_all_single(found, x)
    return found


@plain
def ranks(x):
    group = dist.group.WORLD
    assert group is not None
    return x * (dist.get_rank() + 1) + dist.get_world_size() + group.size(), dist.get_rank(group)


@plain
def an_unused_result(x):
    functional.all_reduce(x, "sum", dist.group.WORLD)
    dist.all_reduce(x)
    return x


@plain
def a_mean_of_statistics(x):
    with torch.no_grad():
        total = torch.stack([x.sum(), x.square().sum(), x.new_tensor(x.numel())])
        dist.all_reduce(total)
    mean = total[0] / total[2]
    return (x - mean) / (total[1] / total[2] - mean**2).sqrt()


@broken
def barrier(x):
    y = x + 1
    dist.barrier()
    return y * 2


@broken
def objects(x):
    found = [None, None]
    dist.all_gather_object(found, {"rank": dist.get_rank()})
    return x + found[1]["rank"]


@broken
def with_a_gradient(x):
    y = x.requires_grad_() * 2
    with torch.no_grad():
        z = y.detach()
        dist.all_reduce(z)
    return (y + z).detach()


for _program in work_programs.ENDED:
    plain(_program)
for _program in work_programs.LASTING:
    broken(_program)


def text_of(function: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """The class and the first line of what a call raises."""
    try:
        return repr(function(*args, **kwargs))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


@broken
def a_strided_view(x):
    dist.all_reduce(x[::2])
    return x


@broken
def a_transposed_input(x):
    y = x.reshape(2, 2).t()
    return text_of(dist.all_to_all_single, torch.empty(2, 2), y)


@broken
def a_mean_of_integers(x):
    y = x.long()
    return text_of(dist.all_reduce, y, dist.ReduceOp.AVG), y


@broken
def broadcast_from_a_float(x):
    return text_of(dist.broadcast, x, 1.0), text_of(dist.broadcast, x, group_src=1.0)


@broken
def a_false_group(x):
    return text_of(dist.all_reduce, x, group=0)


@broken
def under_a_transform(x):
    def program(row):
        row = row * 2
        dist.all_reduce(row)
        return row

    return text_of(torch.func.vmap(program), x.reshape(2, 2))


@broken
def with_its_own_gradient(x):
    y = torch.distributed.nn.functional.all_reduce(x.clone().requires_grad_() * 2)
    return y.detach()


@broken
def a_group_destroyed_inside(x):
    group = dist.new_group([0, 1])
    dist.all_reduce(x, group=group)
    dist.destroy_process_group(group)
    dist.all_reduce(x, group=group)
    return x, text_of(dist.get_rank, group).split()[0]


def fails_here_only(x):
    y = x * 2
    dist.all_reduce(y)
    return y[torch.tensor([9 - 8 * dist.get_rank()])]


class Sum(torch.autograd.Function):
    """The sum over all processes, which makes in-place collectives in both passes."""

    @staticmethod
    def forward(ctx, x):
        y = x.clone()
        dist.all_reduce(y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient


def sum_by_a_function(x):
    return Sum.apply(x * 2) * x


def gradient_of(program: Program) -> tuple[list[float], list[float]]:
    """Result and gradient."""
    x = (torch.arange(4.0) + dist.get_rank()).requires_grad_()
    y = program(x)
    y.sum().backward()
    assert x.grad is not None
    return y.tolist(), x.grad.tolist()


def ask_before_and_after(wrap: Callable[[Program], Program]) -> list[str]:
    """What a collective and questions say of a group, before and after it is destroyed."""
    group = dist.new_group([0, 1])

    def reduce(x):
        dist.all_reduce(x, group=group)
        return x

    programs: list[Program] = [
        reduce,
        lambda x: dist.get_rank(group),
        lambda x: x + dist.get_world_size(group),
        lambda x: dist.get_process_group_ranks(group),
    ]
    called, found = [wrap(program) for program in programs], []
    for is_last in (False, True):
        found += [text_of(program, torch.ones(2)).split(" object at ")[0] for program in called]
        if not is_last:
            dist.destroy_process_group(group)
    return found


def train(step: Callable[[], Any], model: nn.Module, rank: int, count: int = 4) -> list[float]:
    """Losses of some steps."""
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
    for number in range(count):
        torch.manual_seed(2 * number + rank)
        loss = step()(torch.randn(3, 4)).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def make_model() -> nn.Module:
    """The same model in each process."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def data_parallel(rank: int, backend: str) -> list[list[float]]:
    """Losses in eager, of a compiled model in the wrapper, of the compiled wrapper; and the breaks of the last."""
    found = []
    for inside, outside in ((False, False), (True, False), (False, True)):
        model = make_model()
        model = frontend.compile(model, backend=backend) if inside else model
        wrapped = DistributedDataParallel(model)
        called = frontend.compile(wrapped, backend=backend) if outside else wrapped
        found.append(train(lambda called=called: called, model, rank))
    return [*found, [frontend.explain(called)().break_count]]


def fully_sharded(backend: str) -> list[list[float]]:
    """Losses of a sharded model in eager and compiled."""
    found = []
    for compiles in (False, True):
        model = FullyShardedDataParallel(make_model(), device_id=torch.device("cpu"))
        called = frontend.compile(model, backend=backend) if compiles else model
        found.append(train(lambda called=called: called, model, dist.get_rank()))
    return found


def sharded_blocks(backend: str) -> list[list[float]]:
    """Losses of 20 steps of a model whose blocks are sharded, in eager and with compiled blocks."""
    found = []
    for compiles in (False, True):
        model = make_model()
        for block in model:
            if compiles:
                block.forward = frontend.compile(block.forward, backend=backend)
            if list(block.parameters()):
                fully_shard(block)
        fully_shard(model)
        found.append(train(lambda model=model: model, model, dist.get_rank(), 20))
    return found


def run(rank: int, place: str, backends: list[str]) -> None:
    """One process."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(place, 2), rank=rank, world_size=2)
    told = {backend: outcomes(rank, backend) for backend in backends}
    if rank == 0:
        print(json.dumps(told))
    dist.destroy_process_group()


def outcomes(rank: int, backend: str) -> dict[str, Any]:
    """What the programs did with one backend."""
    told: dict[str, Any] = {}
    for name, program in PROGRAMS.items():
        compiled, same = frontend.compile(program, backend=backend), []
        for number in range(3):
            one, other = (torch.arange(4.0) + rank + number for _ in range(2))
            expected, result = program(one), compiled(other)
            same.append(repr(expected) == repr(result) and torch.equal(one, other))
        told[name] = [all(same), frontend.explain(compiled)().break_count]
    compiled = frontend.compile(fails_here_only, backend=backend)
    for _ in range(2):
        try:
            found = compiled(torch.ones(4)).tolist()
        except IndexError:
            found = "IndexError"
        after = torch.ones(1)
        dist.all_reduce(after)  # the next collective of both processes is the same one
        told["fails"] = [found, after.item()]
    compiled = frontend.compile(sum_by_a_function, backend=backend)
    told["function"] = [gradient_of(sum_by_a_function), gradient_of(compiled)]
    told["destroyed"] = [
        ask_before_and_after(wrap) for wrap in (lambda x: x, lambda x: frontend.compile(x, backend=backend))
    ]
    told["fully sharded"] = fully_sharded(backend)
    told["sharded blocks"] = sharded_blocks(backend)
    told["data parallel"] = data_parallel(rank, backend)
    return told


if __name__ == "__main__":
    method = "fork" if hasattr(os, "fork") else "spawn"  # what is imported by now need not be imported again
    multiprocessing.start_processes(run, (sys.argv[1], sys.argv[2:]), nprocs=2, start_method=method)
