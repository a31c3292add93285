"""Two processes that see different data and agree on one graph; each prints what it found as JSON.

`python -m tests.end_to_end.agreement_programs FILE`: FILE is where the processes meet.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import multiprocessing

from framesmith import frontend

SCENES: dict[str, Callable[[int], Any]] = {}
GRAPHS: list[str] = []


def scene(program: Callable[[int], Any]) -> Callable[[int], Any]:
    """Add what both processes do."""
    SCENES[program.__name__] = program
    return program


def noting(module, examples):
    """A backend that notes the sizes of what it gets."""
    shapes = [tuple(node.meta["example_value"].shape) for node in inputs_of(module)]
    GRAPHS.append(str([tuple(type(size).__name__ for size in shape) for shape in shapes]))
    return module.forward


def inputs_of(module):
    """The placeholders of tensors."""
    return [
        node
        for node in module.graph.find_nodes(op="placeholder")
        if isinstance(node.meta["example_value"], torch.Tensor)
    ]


def compiled(function, **given):
    """The function, with the backend that notes."""
    GRAPHS.clear()
    return frontend.compile(function, backend=noting, **given)


def rows(count: int, width: int = 3) -> torch.Tensor:
    """A tensor of so many rows."""
    return torch.arange(float(count * width)).reshape(count, width)


@scene
def other_rows_in_the_first_call(rank):
    called = compiled(lambda x, y: x * 2 + y.sum())
    results = [called(rows(4 + 2 * rank), rows(2)), called(rows(7 + rank), rows(2))]
    return [one.sum().item() for one in results], GRAPHS.copy()


@scene
def the_same_rows(rank):
    called = compiled(lambda x: x * 2)
    called(rows(4))
    called(rows(4))
    return GRAPHS.copy()


@scene
def sizes_that_change_in_one_process(rank):
    called = compiled(lambda x: x * 2)
    called(rows(4))
    called(rows(6 if rank else 5))
    return GRAPHS.copy()


@scene
def behind_a_break(rank):
    def function(x):
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2

    called = compiled(function)
    called(rows(4 + rank * 3))
    return GRAPHS.copy()


@scene
def sizes_zero_and_one(rank):
    called = compiled(lambda x: x * 2)
    shapes = [tuple(called(rows(rank)).shape), tuple(called(rows(5 + rank)).shape)]
    return shapes, len(GRAPHS)


@scene
def with_static_sizes(rank):
    called = compiled(lambda x: x * 2, dynamic=False)
    called(rows(4 + rank))
    return GRAPHS.copy()


@scene
def tensors_of_another_rank(rank):
    called = compiled(lambda x: x * 2)
    called(rows(4) if rank else rows(4)[0])
    return GRAPHS.copy()


def alone(x):
    """Compiled by one process at first, and by both then."""
    return x * 2


@scene
def one_does_not_compile(rank):
    told, began = None, time.monotonic()
    with frontend.config.patch(compiler_collective_seconds=1):
        if rank == 0:
            try:
                compiled(alone)(rows(4))
            except frontend.ProcessesDiffer as error:
                told = str(error), list(error.missing)
    seconds = time.monotonic() - began
    dist.barrier()
    return told, seconds


@scene
def agrees_again_afterwards(rank):
    called = compiled(alone)
    called(rows(4 + rank))
    return GRAPHS.copy()


@scene
def turned_off(rank):
    with frontend.config.patch(enable_compiler_collectives=False):
        called = compiled(lambda x: x * 2)
        called(rows(4 + rank))
    return GRAPHS.copy()


def run(rank: int, place: str) -> None:
    """One process."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(place, 2), rank=rank, world_size=2)
    with frontend.config.patch(enable_compiler_collectives=True, compiler_collective_seconds=60):
        told = {name: program(rank) for name, program in SCENES.items()}
    found = [None, None]
    dist.all_gather_object(found, told)
    if rank == 0:
        print(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    method = "fork" if hasattr(os, "fork") else "spawn"
    multiprocessing.start_processes(run, (sys.argv[1],), nprocs=2, start_method=method)
