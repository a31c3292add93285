"""`p.data = v` of a parameter, where the backend replaces the captured operations: the graph gives `v`, which is stored behind it.

Compared with eager: what is seen of the parameter, of an older view of its memory, of the other operand, and of the result.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from framesmith import frontend
from framesmith.frontend import FullGraphError

ONE_GRAPH = {
    "a step": "p.data = p.data - 0.1 * g; return g * 2",
    "then the value is changed": "v = p.data * 2; p.data = v; v.add_(g); return v",
    "nothing else": "p.data = torch.clamp(p.data, -1, 1)",
    "the old memory is returned": "old = p.data; p.data = old + g; return old",
    "the old memory is changed": "old = p.data; p.data = old + g; old.mul_(3); return g + 1",
    "from a reduction": "with torch.no_grad(): p.data = p + p.mean(); return g + 1",
    "twice": "p.data = p.data + g; p.data = p.data * 2; return g + 1",
    "in a loop": "for _ in range(3): p.data = p.data - g.sum()\n    return g.sum()",
    "then changed": "p.data = p.data + g; p.data.mul_(2); p.data[0] = 1; return p.data",
    "a view of a new tensor": "p.data = (p.data + g).view(3, 3); return p.shape[0]",
    "the parameter is returned": "p.data = (g * 2).data; return p",
    "a view of the value is written to": "v = g + 1; p.data = v; w = v.view(-1); w[0] = 7; return w",
    "the parameter is not read": "p.data = g + 1; return g",
    "both": "p.data, q.data = q.data + 1, p.data * 2; return g",
    "kept by the value": "v = p.data * 2; p.data = v; q.data = v + 1; return v.sum()",
    "then used": "p.data = p.data * 2; return p * g",
    "then used in a list": "p.data = p.data * 2; return torch.stack([g, p]).sum()",
    "then used in a function": "p.data = p.data * 2\n    with torch.no_grad(): return torch.nn.functional.linear(g, p)",
    "then used in a branch": "p.data = p.data * 2\n    try: return p @ g\n    finally: q.data.add_(1)",
    "then differentiated": "p.data = torch.clamp(p.data, -1, 1); return (p * p * g).sum()",
    "then differentiated with its value": "v = p.data * 2; p.data = v; return (p * v * g).sum() + (p * p).sum()",
    "then used both ways": "p.data = p.data * 2\n    with torch.no_grad(): y = p + 1\n    return (p.exp() * y).sum()",
    "then a view of it": "p.data = p.data * 2; return p[0]",
    "then a view of it is changed": "p.data = p.data * 2\n    with torch.no_grad(): p[0].mul_(2); return p * g",
    "then transposed": "p.data = p.data * 2; return p.t() @ g",
    "a view from before": "w = p.detach()[0]; p.data = p.data * 2; return w + p[1]",
    "the value is changed, then used": "v = p.data * 2; p.data = v; v.add_(1); return (p * p).sum()",
    "the data is changed, then used": "p.data = p.data * 2; p.data.add_(1); return (p * p).sum()",
    "twice, then used": "p.data = p.data + g; p.data = p.data * 2; return (p * p).sum()",
    "two, both used": "p.data, q.data = q.data + 1, p.data * 2; return (p * q * q).sum()",
    "a gradient": "p.data = p.data * 2; y = (p * p * p).sum()\n    return torch.autograd.grad(y, p)[0] if y.requires_grad else y",
    "a second derivative": "p.data = p.data * 2; y = (p * p * p).sum()\n"
    "    return torch.autograd.grad(y, p, create_graph=True)[0].sum() if y.requires_grad else y",
    "a backward pass": "p.data = p.data * 2; y = (p * p * p).sum()\n    if y.requires_grad: y.backward()\n    return g + 1",
    "stored under a name": "p.data = p.data * 2; w = p; return (w * w).sum() + w.shape[0]",
    "normalized": "p.data = p.data * 2; return torch.nn.functional.layer_norm(g, (3,), p[0], p[1])",
}
BREAKS = {
    "changed while a backward pass needs it": "v = p.data * 2; p.data = v; y = (p * p).sum(); v.add_(1); return y",
    "data changed while a backward pass needs it": "p.data = p.data * 2; y = (p * p).sum(); p.data.add_(1); return y",
    "stored while a backward pass needs it": "p.data = p.data * 2; y = (p * p).sum(); p.data = p.data + 1; return y",
    "then changed in place": "p.data = p.data * 2\n    with torch.no_grad(): p.add_(1)\n    return p * g",
    "then a result is put into it": "p.data = p.data * 2\n    with torch.no_grad(): torch.add(g, 1, out=p)\n    return p * g",
    "then a hook": "p.data = p.data * 2\n    if p.requires_grad: p.register_hook(lambda g: g * 2)\n    return (p * p).sum()",
    "then a branch of the graph": "p.data = p.data * 2\n    return torch.func.vmap(lambda r: r * p)(g)",
    "in a checkpoint": "p.data = p.data * 2\n    return torch.utils.checkpoint.checkpoint(lambda r: (r * p).sin(), g, use_reentrant=False)",
    "a backward pass reads the new data": "y = (p * p * g).sum(); p.data = p.data + 1; return y",
    "of a view": "v = (p * g)[0]; p.data = p.data * 2; return v.sum()",
    "memory of an operand": "p.data = g; return p.data * 2",
    "then may fail": "p.data = p.data + g\n    try: torch.linalg.cholesky(-g.abs())\n    except RuntimeError: return g * 0",
    "a break behind it": "p.data = p.data * 2; print(end=''); return p * g",
}


def function_of(body: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"torch": torch}
    exec(f"def f(p, q, g):\n    {body}", namespace)  # noqa: S102
    return namespace["f"]  # type: ignore[no-any-return]


def seen(call: Callable[..., Any], requires_grad: bool) -> list[Any]:
    torch.manual_seed(0)
    p, q = (torch.randn(3, 3, requires_grad=requires_grad) for _ in range(2))
    g, old, found = torch.randn(3, 3), p.data, list[Any]()
    for _ in range(3):
        result = call(p, q, g)
        if isinstance(result, torch.Tensor) and not result.requires_grad:
            result.add_(1)
        if isinstance(result, torch.Tensor) and result.requires_grad:
            result.sum().backward()
        held = [p, q, g, old, *([result] if isinstance(result, torch.Tensor) else [])]
        memory = {one.untyped_storage().data_ptr() for one in held}
        tensors = [one for one in (p, q, g, old, p.grad, result) if isinstance(one, torch.Tensor)]
        found += [one.detach().clone() for one in tensors]
        found += [result is p, len(memory), p.is_leaf, p.is_contiguous(), p.requires_grad, len(tensors)]
        g = g + 1
    return found


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", [*ONE_GRAPH, *BREAKS])
def test_data_of_a_parameter(name: str, backend: str, requires_grad: bool) -> None:
    torch._dynamo.reset()
    function = function_of({**ONE_GRAPH, **BREAKS}[name])
    compiled = frontend.compile(function, backend=backend, fullgraph=name in ONE_GRAPH)
    torch.testing.assert_close(seen(compiled, requires_grad), seen(function, requires_grad))


def test_the_use_that_breaks_is_named() -> None:
    compiled = frontend.compile(
        function_of(BREAKS["then changed in place"]), backend="aot_eager", fullgraph=True
    )
    with pytest.raises(FullGraphError, match="p, whose data was replaced before, as an operand"):
        seen(compiled, True)


def test_equal_layers_whose_weights_get_other_data() -> None:
    class Layer(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = super().forward(x).detach()
            self.weight.data = self.weight.data * 0.5
            return y

    def run(compile_model: Callable[..., Any]) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(*[Layer(3, 3) for _ in range(4)])
        shared = torch.nn.Sequential(*model, model[0])
        call = compile_model(shared)
        with torch.no_grad():
            found = [call(torch.ones(2, 3)) for _ in range(3)]
        return [*found, *(one.detach() for one in model.parameters())]

    ours = run(lambda model: frontend.compile(model, backend="aot_eager"))
    torch.testing.assert_close(ours, run(lambda model: model), rtol=0, atol=0)


@pytest.mark.inductor
def test_inductor_stores_behind_the_graph() -> None:
    function = function_of(ONE_GRAPH["a step"])
    ours = seen(frontend.compile(function, backend="inductor", fullgraph=True), True)
    torch.testing.assert_close(ours, seen(function, True))


def test_explain_names_what_gets_data_behind_the_graph() -> None:
    compiled = frontend.compile(
        function_of("p.data = p.data.cos(); return (p * q).sum()"), backend="aot_eager"
    )
    p, q, g = (torch.rand(3, 3, requires_grad=True) for _ in range(3))
    assert (
        "behind the graph, p.data is replaced by one of its results"
        in frontend.explain(compiled)(p, q, g).text()
    )


@pytest.mark.parametrize("body", ["p.data = p.data.cos(); return p * q", "q.data = g * 2; return p"])
def test_export_refuses_it_with_its_line(body: str) -> None:
    p, q, g = (torch.rand(3, 3) for _ in range(3))
    with pytest.raises(frontend.FullGraphError, match=r"\.data = \.\.\."):
        frontend.export(function_of(body))(p, q, g)


def test_a_break_says_that_a_gradient_needs_the_old_data() -> None:
    function = function_of("y = (p * q).sum(); p.data = p.data.cos(); return y")
    p, q, g = (torch.rand(3, 3, requires_grad=True) for _ in range(3))
    with pytest.raises(frontend.FullGraphError, match="behind a use of the tensor that a gradient needs"):
        frontend.compile(function, backend="aot_eager", fullgraph=True)(p, q, g)


def test_beside_a_tensor_that_was_made_in_inference_mode() -> None:
    def run(p: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        p.data = p.data + x
        return p * 2

    compiled = frontend.compile(run, backend="aot_eager", fullgraph=True)
    with torch.inference_mode():
        x = torch.ones(3)
    ours, in_eager = (torch.ones(3, requires_grad=True) for _ in range(2))
    for _ in range(2):
        torch.testing.assert_close(compiled(ours, x), run(in_eager, x), rtol=0, atol=0)
