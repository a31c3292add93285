"""`z.data = v` of a view: it has memory of its own from then on, of which the memory of its base is no part."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.end_to_end.compare import Comparison

from framesmith import frontend

VIEWS = {
    "of a leaf": "b = p; z = b.t()",
    "of a leaf, of another form": "b = p; z = b.view(4).view(2, 2)",
    "of a buffer": "b = s; z = b[:, :]",
    "of an input": "b = x; z = b.t()",
    "of a computed tensor": "b = p * 2; z = b.view(4).view(2, 2)",
}
BODIES = {
    "then the base": "z.data = s * 3; y = z * s\n    b.data.mul_(2); return y",
    "then the base, in place": "z.data = s * 3\n    with torch.no_grad(): b.mul_(2)\n    return z.data * s",
    "two stores": "z.data = s * 3; z.data = z.data + 1\n    b.data.mul_(2); return z.data * s",
    "what the base has": "z.data = b.data.clone()\n    b.data.mul_(2); return z.data * s",
    "turned": "z.data = z.data.t(); y = z * s\n    b.data.add_(1); return y",
    "behind another break": "z.data = s * 3\n    print(end=''); b.data.mul_(2); return z.data_ptr() == b.data_ptr(), z * s",
    "of the view itself": "z.data = s * 3; z.data.mul_(2); y = z * s\n    b.data.mul_(2); return y, z",
}
MODES = {"without gradients": "with torch.no_grad()", "with gradients": "with torch.enable_grad()"}


def observe(call: Callable[..., Any]) -> list[Any]:
    found = list[Any]()
    p, s = torch.tensor([[1.0, 2], [3, 4]], requires_grad=True), torch.tensor([[0.5, 2], [1, 0.25]])
    for turn in range(2):
        x = (torch.tensor([[1.0, -1], [2, 0.5]]) + turn).requires_grad_()
        result = call(p, s, x)
        for one in result if isinstance(result, tuple) else (result,):
            if isinstance(one, torch.Tensor):
                found += [one.detach().clone(), one.requires_grad, one.stride()]
                if one.requires_grad:
                    one.sum().backward(retain_graph=True)
            else:
                found.append(one)
        found += [p.detach().clone(), s.clone(), x.detach().clone(), p.grad, x.grad]
        p.grad = None
    return found


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("body", BODIES)
def test_data_of_a_view(body: str, mode: str, backend: str) -> None:
    for name, view in VIEWS.items():
        namespace: dict[str, Any] = {"torch": torch}
        exec(f"def f(p, s, x):\n    {MODES[mode]}: {view}; {BODIES[body]}", namespace)  # noqa: S102
        compiled = frontend.compile(namespace["f"], backend=backend)
        Comparison().same(observe(namespace["f"]), observe(compiled), name)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_writes_to_a_view_whose_base_got_other_data(backend: str) -> None:
    def run(p: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        b = x * 2
        b.add_(1)
        c = b.view(-1)
        b.data = torch.ones(2)
        c.add_(1)
        return b * p

    def gradient(call: Callable[..., torch.Tensor]) -> object:
        p = torch.ones(2, requires_grad=True)
        call(p, torch.ones(2)).sum().backward()
        return p.grad

    Comparison().same(gradient(run), gradient(frontend.compile(run, backend=backend)), "gradient")
