"""Data parallel training of two processes whose graph is compiled in parts; the first process prints what it found as JSON.

`python -m tests.end_to_end.bucket_programs FILE BACKEND NAME...`: FILE is where the processes meet, NAMEs are of `MODELS`.
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
from torch._functorch.aot_autograd import aot_module_simplified, make_boxed_func
from torch.nn.parallel import DistributedDataParallel

from framesmith import frontend
from framesmith.graph.backends import parts

STEPS = {"layers": 20, "normalized": 20}
"""Steps of training; of other models there are six."""
ORDER: list[str] = []
"""Grows with each backward graph that has run (B), each gradient (.), each reduction of a bucket that begins (R)."""
MEBIBYTE = 2**20
CAP = 8_000
"""Bytes of a bucket."""
MODELS: dict[str, Callable[[], nn.Module]] = {}


def model(cls: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    """Add a model that takes 16 numbers for each sample."""
    MODELS[cls.__name__] = cls
    return cls


@model
def layers() -> nn.Module:
    """Nothing but layers."""
    return nn.Sequential(*(nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16)) for _ in range(3)))


@model
def normalized() -> nn.Module:
    """With statistics that are written, and operations in place."""
    return nn.Sequential(
        *(
            nn.Sequential(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(inplace=True), nn.Linear(64, 16))
            for _ in range(3)
        )
    )


@model
def with_dropout() -> nn.Module:
    """That draws random numbers in each part."""
    return nn.Sequential(
        *(nn.Sequential(nn.Linear(16, 96), nn.Dropout(0.3), nn.Linear(96, 16)) for _ in range(3))
    )


@model
class residual(nn.Module):
    """Whose values cross several borders, and are returned too."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(16, 16)
        self.blocks = nn.ModuleList(layers() for _ in range(2))

    def forward(self, x):
        first = x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return x + first, {"first": first, "input": x.sum(0)}


@model
class tied(nn.Module):
    """One parameter that the first and the last part use."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = layers()
        self.weight = nn.Parameter(torch.randn(16, 16) / 4)

    def forward(self, x):
        return self.inner(x @ self.weight) @ self.weight.t()


@model
class partly_without_gradients(nn.Module):
    """That turns gradients off in between, and has parameters without."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.frozen, self.outer = layers(), nn.Linear(16, 16), layers()
        self.frozen.requires_grad_(False)

    def forward(self, x):
        x = self.inner(x)
        with torch.no_grad():
            scale = self.frozen(x).sigmoid()
        return self.outer(x * scale)


@model
class breaks_inside(nn.Module):
    """That breaks the graph."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = layers(), layers()

    def forward(self, x):
        x = self.inner(x)
        torch._dynamo.graph_break()
        return self.outer(x)


@model
class written_across(nn.Module):
    """That writes to a value of an earlier part and to a view of a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = layers(), layers()
        self.register_buffer("seen", torch.zeros(2, 16))

    def forward(self, x):
        kept, row = x * 2, self.seen[1]
        x = self.inner(x)
        kept.add_(x)
        row.add_(x.detach().mean(0))
        return self.outer(kept) + self.seen.sum(0)


@model
class turned(nn.Module):
    """That turns a buffer in one part, and back in another."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = layers(), layers()
        self.register_buffer("seen", torch.arange(32.0).reshape(2, 16) / 32)

    def forward(self, x):
        self.seen.t_()
        x = self.inner(x) + self.seen.sum(1)
        self.seen.t_()
        return self.outer(x) * self.seen[0]


@model
class sizes(nn.Module):
    """That computes with sizes, which differ from step to step."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = layers(), layers()

    def forward(self, x):
        rows = x.shape[0] * 2
        x = self.inner(x)
        x = torch.cat([x, x]).reshape(rows, 16) / rows
        return self.outer(x)[: rows // 2]


@model
class failing(nn.Module):
    """That fails on data in some steps, behind statistics that it has written."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer, self.calls = normalized(), layers(), 0

    def forward(self, x):
        x = self.inner(x)
        self.calls = self.calls + 1
        return self.outer(x)[(x.abs() * 0).long()[:, 0] + (99 if self.calls % 3 == 1 else 0)]


@model
class indexed(nn.Module):
    """That looks up rows by data, in front and at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.inner = nn.Embedding(9, 16), layers()

    def forward(self, x):
        rows = (x.abs() * 2).long().clamp(max=8)[:, 0]
        return self.inner(x + self.table(rows))[torch.arange(2)]


def train(call: Callable[..., Any], inner: nn.Module, rank: int, name: str) -> list[list[float]]:
    """Losses, and what the model holds after the last step."""
    optimizer, losses = torch.optim.SGD(inner.parameters(), lr=0.05), list[float]()
    for number in range(STEPS.get(name, 6)):
        torch.manual_seed(2 * number + rank)
        ORDER.clear()
        try:
            result = call(torch.randn(4 + (number % 3 if name == "sizes" else 0), 16))
        except IndexError:
            losses.append(-1.0)
            continue
        loss = sum(one.pow(2).mean() for one in tensors_of(result))
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
    return [losses, *(value.double().flatten().tolist() for value in inner.state_dict().values())]


def tensors_of(result: Any) -> list[torch.Tensor]:
    """The tensors of a result."""
    if isinstance(result, torch.Tensor):
        return [result]
    return [
        one for part in (result.values() if isinstance(result, dict) else result) for one in tensors_of(part)
    ]


def noting(module, examples):
    """`aot_eager`, with backward graphs that are noted."""

    def compile_backward(graph, values):
        def run(arguments):
            result = torch.fx.Interpreter(graph).boxed_run(arguments)
            ORDER.append("B")
            return result

        return make_boxed_func(lambda *arguments: run(list(arguments)))

    def compile_forward(graph, values):
        return make_boxed_func(graph.forward)

    return aot_module_simplified(module, examples, fw_compiler=compile_forward, bw_compiler=compile_backward)


frontend.register_backend(noting, "noting")


def watch_order(wrapper: DistributedDataParallel, inner: nn.Module) -> None:
    """Let `ORDER` grow with each gradient, and each reduction that begins."""

    def reduce(state: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        ORDER.append("R")
        future = dist.all_reduce(bucket.buffer() / 2, async_op=True).get_future()
        return future.then(lambda done: done.value()[0])

    wrapper.register_comm_hook(None, reduce)
    for parameter in inner.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(lambda _: ORDER.append("."))


def expected_parts(inner: nn.Module, wrapper: DistributedDataParallel) -> int:
    """How many buckets torch makes of the parameters, the last ones first."""
    trained = [one for one in reversed(list(inner.parameters())) if one.requires_grad]
    size = wrapper.bucket_bytes_cap
    return len(dist._compute_bucket_assignment_by_size(trained, [size, size])[0])


def outcome(name: str, rank: int, backend: str) -> dict[str, Any]:
    """What a model learns in eager, compiled in the wrapper, and as the compiled wrapper; how many parts its graphs had."""
    told: dict[str, Any] = {}
    made = parts.PartsCall.__init__
    for kind in ("eager", "inside", "outside", *(["off"] if name == "layers" else [])):
        counted = list[int]()

        def note(self, *args, counted=counted):
            made(self, *args)
            counted.append(len(self))

        parts.PartsCall.__init__ = note
        torch.manual_seed(0)
        inner = MODELS[name]()
        called = frontend.compile(inner, backend=backend) if kind == "inside" else inner
        wrapper = DistributedDataParallel(called, bucket_cap_mb=CAP / MEBIBYTE)
        watch_order(wrapper, inner)
        call = frontend.compile(wrapper, backend=backend) if kind in ("outside", "off") else wrapper
        with frontend.config.patch(optimize_ddp=kind != "off"):
            told[kind] = train(call, inner, rank, name)
        told[f"{kind} parts"] = counted
        told[f"{kind} order"] = "".join(ORDER)
        told["buckets"] = expected_parts(inner, wrapper)
        parts.PartsCall.__init__ = made
        frontend.reset()
    return told


def run(rank: int, place: str, backend: str, names: list[str]) -> None:
    """One process."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(place, 2), rank=rank, world_size=2)
    told = {name: outcome(name, rank, backend) for name in names}
    if rank == 0:
        print(json.dumps(told))
    dist.destroy_process_group()


if __name__ == "__main__":
    method = "fork" if hasattr(os, "fork") else "spawn"
    multiprocessing.start_processes(
        run, (sys.argv[1], sys.argv[2], sys.argv[3:]), nprocs=2, start_method=method
    )
