"""Writes that eager does not count, through `data` or as statistics of a normalization, under a backend that writes them at the end: version
counters are what they are in eager, and earlier results can be differentiated."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from framesmith import frontend

WRITES = {
    "through data": "w.data.add_(1)",
    "a part": "w.data[0] = 3.0",
    "clipped": "w.data.clamp_(-0.1, 0.1)",
    "counted, too": "w.data.add_(1); w.detach().mul_(2)",
    "counted": "w.detach().mul_(2)",
    "old memory": "old = w.data; w.data = w.data * 2; old.add_(1)",
    "old memory before": "old = w.data; old.add_(1); w.data = w.data * 2",
    "detached": "old = w.detach(); w.data = w.data * 2; old.add_(1)",
    "new memory": "w.data = w.data * 2; w.data.add_(1)",
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_version_counters(name: str, requires_grad: bool) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def f(w, x):\n    {WRITES[name]}; return x + 1", namespace)  # noqa: S102

    def observe(call: Callable[..., Any]) -> list[object]:
        w, x, found = (
            torch.ones(3, requires_grad=requires_grad),
            torch.ones(3, requires_grad=True),
            list[object](),
        )
        for _ in range(3):
            earlier = (w * x).sum()
            call(w, x)
            found += [w._version, w.tolist()]
            try:
                earlier.backward()
            except RuntimeError as error:
                found.append(str(error))
            found += [
                None if w.grad is None else w.grad.tolist(),
                None if x.grad is None else x.grad.tolist(),
            ]
        return found

    compiled = frontend.compile(
        namespace["f"], backend="aot_eager", fullgraph=name != "counted, too" or not requires_grad
    )
    assert observe(compiled) == observe(namespace["f"])


def test_statistics_of_a_normalization() -> None:
    def observe(compile_model: Callable[[nn.Module], Callable[..., Any]]) -> list[object]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2))
        call, found = compile_model(model), list[object]()
        for _ in range(3):
            call(torch.rand(4, 3)).sum().backward()
            found += [buffer._version for buffer in model.buffers()]
        return found

    ours = observe(lambda model: frontend.compile(model, backend="aot_eager", fullgraph=True))
    assert ours == observe(lambda model: model)


@pytest.mark.parametrize(
    "body",
    ["a.data.add_(1)", "a.add_(1); b.mul_(2); a.add_(1)", "a.data.add_(1); b.add_(1)", "b.data.mul_(3)"],
)
@pytest.mark.parametrize("kind", ["views", "data of one tensor", "apart"])
def test_inputs_of_one_memory(kind: str, body: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def f(a, b, w):\n    {body}; return (w * w).sum()", namespace)  # noqa: S102

    def observe(call: Callable[..., Any]) -> list[object]:
        base, w, found = torch.ones(6), torch.ones(4, requires_grad=True), list[object]()
        a, b = base[:4], base[2:]
        if kind == "data of one tensor":
            a, b = torch.zeros(4), torch.zeros(4)
            a.data, b.data = base[:4], base[2:]
        elif kind == "apart":
            a, b = torch.zeros(4), torch.zeros(4)
        for _ in range(3):
            call(a, b, w)
            found += [a._version, b._version, base._version, a.tolist(), b.tolist(), base.tolist()]
        return found

    assert observe(frontend.compile(namespace["f"], backend="aot_eager")) == observe(namespace["f"])


OTHERS = {
    "numpy": "p.detach().numpy()[:] = 7.0; return p * 2",
    "numpy's operator": "a = p.detach().numpy(); a += 1; return p * 2",
    "numpy's out": "a = p.detach().numpy(); np.add(a, a, out=a); return p * 2",
    "behind a use": "y = (p * q).sum(); p.detach().numpy()[0] = 7.0; return y",
    "from numpy": "torch.from_numpy(p.detach().numpy()).add_(1); return p * 2",
    "swapped": "torch.utils.swap_tensors(p, torch.nn.Parameter(q.clone())); return q * 2",
    "counted": "p.detach().add_(1); return q * 2",
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", OTHERS)
def test_writes_past_the_tensor(name: str, backend: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"import numpy as np, torch\ndef f(p, q):\n    {OTHERS[name]}", namespace)  # noqa: S102

    def observe(call: Callable[..., Any]) -> list[object]:
        p, q, found = nn.Parameter(torch.ones(2)), torch.ones(2, requires_grad=True), list[object]()
        for _ in range(2):
            result = call(p, q)
            found += [p._version, q._version, p.tolist(), result.tolist()]
        result.sum().backward()
        return [*found, None if q.grad is None else q.grad.tolist()]

    assert observe(frontend.compile(namespace["f"], backend=backend)) == observe(namespace["f"])
