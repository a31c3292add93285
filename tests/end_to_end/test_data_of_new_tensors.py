"""`y.data = z` of a tensor that the function made: one graph, `y` stays the object it is and shares the memory of `z` from then on."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.end_to_end.compare import Comparison

from framesmith import frontend

BODIES = {
    "a new tensor": "y = x.clone(); y.data = torch.ones(3); return y + x",
    "an input, then changed": "y = x.clone(); y.data = g; y.add_(1); return y",
    "the value is changed": "y = torch.zeros(3); z = g * 2; y.data = z; z.add_(1); return y, z",
    "another shape": "y = torch.zeros(3); y.data = torch.ones(2, 2); return y, y.shape[0]",
    "another name": "y = torch.zeros(3); u = y; y.data = g; return u is y, u, y.data_ptr() == g.data_ptr()",
    "in a loop": "y = torch.zeros(3)\n    for i in range(3): y.data = y.data * 2 + g\n    return y",
    "in a list": "y = torch.zeros(3); l = [y]; l[0].data = g.view(3); l[0][0] = 7; return y, g * 1",
    "of what requires a gradient": "y = x.detach().clone(); y.data = q * 2; return y.requires_grad, y",
    "then differentiated": "y = torch.zeros(3); y.data = q; return (y * q).sum()",
    "then changed behind autograd": "y = torch.zeros(3); y.data = g; s = (y * q).sum(); g.add_(1); return s",
    "itself": "y = torch.zeros(3); y.data = g; y.data = y; return [y, y]",
    "with an attribute": "y = torch.zeros(3); y.a = 5; y.data = g; return y.a, y",
    "before an error": "y = torch.zeros(3)\n    try: y.data = g; torch.linalg.cholesky(-torch.eye(3))\n    except RuntimeError: return y",
    "that grows": "y = torch.empty(0); y.data = torch.cat([y.data, g]); return y",
    "old code": "y = torch.autograd.Variable(x.clone()); y.data = torch.Tensor([1, 2, 3]); return y + x.new(3).zero_()",
}
BREAKS = {
    "a view of it": "y = x.clone(); w = y[:2]; y.data = g * 2; w.add_(1); return y, w",
    "counted writes": "y = torch.zeros(3); y.add_(1); y.data = g; return y",
    "another type": "y = torch.zeros(3); y.data = g.double(); return y",
    "with a history": "y = q * 2; y.data = g; return (y * q).sum()",
}


def observe(call: Callable[..., Any]) -> list[Any]:
    torch.manual_seed(0)
    x, g, q, found = torch.randn(3), torch.randn(3), torch.randn(3, requires_grad=True), list[Any]()
    for _ in range(3):
        result = call(x, g, q)
        parts = list(result) if isinstance(result, tuple | list) else [result]
        for one in parts:
            if isinstance(one, torch.Tensor):
                memories = [
                    other.untyped_storage().data_ptr() == one.untyped_storage().data_ptr() for other in (x, g)
                ]
                found += [one.detach().clone(), one.requires_grad, one.stride(), memories]
                if one.requires_grad:
                    one.sum().backward()
            else:
                found.append(one)
        found += [x.clone(), g.clone(), None if q.grad is None else q.grad.clone()]
        found.append([one is other for one in parts for other in parts])
    return found


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", [*BODIES, *BREAKS])
def test_data_of_a_new_tensor(name: str, backend: str) -> None:
    namespace: dict[str, Any] = {"torch": torch}
    exec(f"def f(x, g, q):\n    {(BODIES | BREAKS)[name]}", namespace)  # noqa: S102
    function = namespace["f"]
    compiled = frontend.compile(function, backend=backend, fullgraph=name in BODIES)
    Comparison().same(observe(function), observe(compiled), name)
