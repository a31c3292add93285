"""Programs with `DTensor`, each run eagerly and compiled in several processes; the first one prints what it found as JSON.

`python -m tests.end_to_end.distributed_tensor_programs FILE COUNT BACKEND...`: FILE is where COUNT processes meet.
"""

import json
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import multiprocessing, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import (
    DTensor,
    Partial,
    Placement,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    ones,
)
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

from framesmith import frontend

Program = Callable[..., Any]
Maker = Callable[[int], tuple[Any, ...]]
PROGRAMS: dict[str, tuple[Program, Maker]] = {}
PLAIN: set[str] = set()
"""The names of those that are one graph."""
PARALLEL = ("layers", "sequences")
ROWS, COLUMNS, EVERYWHERE = Shard(0), Shard(1), Replicate()
MESHES: list[DeviceMesh] = []
"""Two equal meshes of all processes."""


def spread(*shape: int, at: Placement = ROWS, seed: int = 0, mesh: int = 0) -> DTensor:
    """A tensor over all processes."""
    torch.manual_seed(seed)
    return distribute_tensor(torch.randn(*shape), MESHES[mesh], [at])


def plain(make: Maker) -> Callable[[Program], Program]:
    """Decorator: add a program that is one graph, with what makes its arguments for one of three calls."""

    def add(program: Program) -> Program:
        PLAIN.add(program.__name__)
        return broken(make)(program)

    return add


def broken(make: Maker) -> Callable[[Program], Program]:
    """Decorator: add a program that breaks the graph."""

    def add(program: Program) -> Program:
        PROGRAMS[program.__name__] = (program, make)
        return program

    return add


@plain(lambda number: (spread(4, 4, seed=number), spread(4, 4, at=EVERYWHERE)))
def arithmetic(x, y):
    return torch.relu(x @ y) + 1, x.sum(), x * 2.5


@plain(lambda number: (spread(4, 8, at=COLUMNS, seed=number), spread(8, 4)))
def a_partial_result(x, y):
    z = x @ y
    return z, z.placements[0].is_partial(), z.full_tensor()


@plain(lambda number: (spread(4, 4, seed=number).requires_grad_(),))
def differentiated(x):
    return x.redistribute(placements=[EVERYWHERE]).square().to_local().sum()


@plain(lambda number: (spread(4, 4, seed=number).requires_grad_(),))
def with_placements_of_the_gradient(x):
    return x.to_local(grad_placements=[EVERYWHERE]).square().sum()


@plain(lambda number: (torch.randn(4, 4).add(number).requires_grad_(),))
def made_inside(x):
    y = DTensor.from_local(x, MESHES[0], [Shard(-1)], run_check=False)
    return y.redistribute(MESHES[0], [Replicate()], async_op=True).square().full_tensor().sum()


@plain(lambda number: (spread(4, 4, at=(ROWS, COLUMNS, EVERYWHERE)[number]),))
def other_placements(x):
    return x * 2 if x.placements[0].is_shard() else x + 1, x.placements == (Shard(0),)


@plain(lambda number: (spread(4, 4, mesh=number % 2), number))
def another_mesh(x, number):
    return x * 2, (x * 2).device_mesh is MESHES[0], x.device_mesh is MESHES[number % 2], x.device_mesh.size()


@plain(lambda number: (spread(4 + 2 * number, 4),))
def other_sizes(x):
    return x * x.size(0)


@plain(lambda number: (torch.ones(2 + 2 * number, 4),))
def other_sizes_of_parts(x):
    return DTensor.from_local(x, MESHES[0], [ROWS]) * x.size(0)


@plain(lambda number: ((ROWS, EVERYWHERE, COLUMNS)[number], torch.ones(4, 4)))
def given_placements(placement, x):
    told = {placement: 1}[placement], placement == Shard(0), placement.is_shard(), str(placement)
    return DTensor.from_local(x, MESHES[0], [placement]), placement, told, [Partial("sum"), Shard(dim=1)]


@plain(lambda number: (spread(4, 4, seed=number),))
def layouts(x):
    y = x.redistribute(MESHES[0], [EVERYWHERE])
    told = y.placements, y.placements[0] == Replicate(), y.placements != x.placements, repr(x.placements[0])
    return y, x.placements, told


@plain(lambda number: (spread(4, 4, seed=number),))
def classes(x):
    told = [isinstance(one, DTensor) for one in (x, x * 2, x.to_local())]
    return told, type(x * 2).__name__, isinstance(x, nn.Parameter), isinstance(x.placements[0], Shard)


@plain(lambda number: (nn.Parameter(spread(4, 4, seed=number)),))
def parameters(x):
    with torch.no_grad():
        y = x.to_local()
    return isinstance(x, nn.Parameter), isinstance(x.to_local(), nn.Parameter), y, x.to_local(), x * 2


@plain(lambda number: (spread(4, 4, seed=number),))
def a_missing_attribute(x):
    try:
        return x.nothing
    except AttributeError as error:
        return str(error)


@plain(lambda number: (spread(4, 4, seed=number),))
def written_in_place(x):
    x.mul_(2)
    return x.to_local() + 1


@plain(lambda number: (spread(4, 4, seed=number),))
def the_part_written_in_place(x):
    part = x.to_local()
    part.add_(1)
    return x * 2


@plain(lambda number: (spread(4, 4, seed=number),))
def the_whole_written_behind_a_part(x):
    part = x.to_local()
    x.add_(1)
    return part


@plain(lambda number: (torch.ones(4, 4),))
def what_it_is_made_of_written_in_place(x):
    whole = DTensor.from_local(x, MESHES[0], [ROWS])
    whole.add_(1)
    return whole, x * 2


@plain(lambda number: (spread(4, 4, seed=number),))
def views(x):
    y = x * 2
    return x.t(), x.view(16), x[0], y, y.t()


@broken(lambda number: (spread(4, 4, seed=number),))
def the_part_itself(x):
    with torch.no_grad():
        part = x.to_local()
    return part is x._local_tensor, part


@broken(lambda number: (spread(4, 4, seed=number), torch.ones(4, 4)))
def with_a_plain_tensor(x, y):
    try:
        return x + y
    except RuntimeError as error:
        return str(error).splitlines()[0]


@broken(lambda number: (torch.ones(4, 4),))
def a_check_over_all(x):
    return DTensor.from_local(x, MESHES[0], [EVERYWHERE], run_check=True) * 2


@broken(lambda number: (torch.ones(4, 4),))
def sent_to_all(x):
    return distribute_tensor(x, MESHES[0], [ROWS]) * 2


@broken(lambda number: (spread(4, 4, seed=number),))
def made_by_a_factory(x):
    return x + ones(4, 4, device_mesh=x.device_mesh, placements=[ROWS])


@plain(lambda number: (replicated(), spread(2, 4, at=EVERYWHERE, seed=number)))
def a_module(module, x):
    return module(x).sum().to_local()


def replicated() -> nn.Module:
    """A module whose parameters are in all processes."""
    torch.manual_seed(0)
    return distribute_module(nn.Linear(4, 4), MESHES[0])


def make_parallel(name: str) -> nn.Module:
    """A model over all processes."""
    torch.manual_seed(0)
    first, last = nn.Linear(8, 16), nn.Linear(16, 8)
    if name == "layers":
        model, plan = nn.Sequential(first, nn.ReLU(), last), {"0": ColwiseParallel(), "2": RowwiseParallel()}
    else:
        model = nn.Sequential(nn.LayerNorm(8), first, nn.GELU(), last)
        gathered = PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))
        parallelize_module(model, MESHES[0], {"1": gathered})
        plan = {
            "0": SequenceParallel(),
            "1": ColwiseParallel(),
            "3": RowwiseParallel(output_layouts=Shard(1)),
        }
    return parallelize_module(model, MESHES[0], plan)


def train(name: str, backend: str | None) -> tuple[list[float], list[tuple[int, int]]]:
    """Losses of 20 steps; the breaks and graphs of the compiled model and the compiled step of its optimizer."""
    model = make_parallel(name)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), []
    called, step_called = model, optimizer.step
    if backend is not None:
        called = frontend.compile(model, backend=backend)
        step_called = frontend.compile(optimizer.step, backend=backend)
    for step in range(20):
        torch.manual_seed(step)
        loss = called(torch.randn(2, 4, 8)).square().mean()
        loss.backward()
        step_called()
        optimizer.zero_grad()
        losses.append(loss.item())
    told = [] if backend is None else [frontend.explain(one)() for one in (called, step_called)]
    return losses, [(one.break_count, one.graph_count) for one in told]


def describe(value: object) -> object:
    """All that can be told of a result; of a tensor over processes also what this one holds."""
    if isinstance(value, tuple | list):
        return [type(value).__name__, *map(describe, value)]
    if isinstance(value, nn.Module):
        return describe(list(value.parameters()))
    if not isinstance(value, torch.Tensor):
        return repr(value)
    layout = ["", *value.shape, *value.stride(), value.requires_grad, value.is_leaf]
    layout += [isinstance(value, nn.Parameter), value.grad_fn is None]
    if isinstance(value, DTensor):
        return [*layout, repr(value.placements), value._local_tensor.tolist()]
    return [*layout, value.tolist()]


def leaves_of(values: tuple[Any, ...]) -> list[torch.Tensor]:
    """The tensors among arguments, and in modules, that require gradients."""
    found = [each for one in values for each in (one.parameters() if isinstance(one, nn.Module) else [one])]
    return [one for one in found if isinstance(one, torch.Tensor) and one.requires_grad]


def observe(program: Program, args: tuple[Any, ...]) -> list[object]:
    """The result of a call, gradients of one that is a number, and the arguments afterwards; then after a change of the result."""
    result = program(*args)
    told = [describe(result)]
    if isinstance(result, torch.Tensor) and result.requires_grad and not result.dim():
        result.backward()
    told += [describe([one.grad for one in leaves_of(args)]), describe(args)]
    with torch.no_grad():
        for one in result if isinstance(result, tuple) else (result,):
            if isinstance(one, torch.Tensor) and not one.requires_grad and not one._is_view():
                # Not all layouts can be written to in place.
                (one._local_tensor if isinstance(one, DTensor) else one).add_(3)
    return [*told, describe(args), describe(result)]


def outcomes(backend: str) -> dict[str, Any]:
    """What the programs did with one backend."""
    told: dict[str, Any] = {}
    for name, (program, make) in PROGRAMS.items():
        compiled, differences = frontend.compile(program, backend=backend), []
        for number in (0, 1, 2, 2, 0):
            found = []
            for called in (program, compiled):
                torch.manual_seed(number)
                found.append(observe(called, make(number)))
            if found[0] != found[1]:
                differences.append([number, *map(repr, found)])
        explained = frontend.explain(compiled)()
        told[name] = [differences, explained.break_count, explained.graph_count]
    for name in PARALLEL:
        told[name] = [train(name, None)[0], *train(name, backend)]
    return told


def run(rank: int, place: str, count: int, backends: list[str]) -> None:
    """One process."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(place, count), rank=rank, world_size=count)
    MESHES.extend([init_device_mesh("cpu", (count,)), DeviceMesh("cpu", torch.arange(count))])
    told = {backend: outcomes(backend) for backend in backends}
    if rank == 0:
        print(json.dumps(told))
    dist.destroy_process_group()


if __name__ == "__main__":
    method = "fork" if hasattr(os, "fork") else "spawn"  # what is imported by now need not be imported again
    count = int(sys.argv[2])
    multiprocessing.start_processes(
        run, (sys.argv[1], count, sys.argv[3:]), nprocs=count, start_method=method
    )
