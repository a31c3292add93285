"""`copy.deepcopy` of tensors, and of modules that hold plain ones: one graph where a clone is all that eager makes."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.end_to_end.compare import Comparison
from torch import nn

from framesmith import frontend

ONE_GRAPH = {
    "an input": "return copy.deepcopy(x) * 2",
    "then changed": "c = copy.deepcopy(x); c.add_(1); return c, x",
    "the input is changed": "c = copy.deepcopy(x); x.add_(1); return c, x",
    "one made here": "y = x * 2; return copy.deepcopy(y), y",
    "a constant": "return copy.deepcopy(torch.ones(3)) + x",
    "a list": "a, b = copy.deepcopy([x, g]); return a, b, a is x",
    "twice in a list": "a, b = copy.deepcopy([x, x]); return a is b, a",
    "a dict": "d = copy.deepcopy({'a': x, 'b': [g, 1]}); d['b'][0].mul_(2); return d['a'], d['b'][0], g",
    "a memo": "m = {}; c = x.__deepcopy__(m); return c, m[id(x)] is c, copy.deepcopy(x, m) is c",
    "transposed": "return copy.deepcopy(t).stride(), copy.deepcopy(t)",
    "what requires a gradient": "c = copy.deepcopy(p); return c.requires_grad, c.is_leaf, c is p, (c * x).sum()",
    "its gradient": "c = copy.deepcopy(p); (c * x).sum().backward(); return c.grad, p.grad",
    "in inference": "with torch.no_grad(): c = copy.deepcopy(x)\n    return c + 1",
    "numbers": "return copy.deepcopy(n), copy.deepcopy(e).shape",
    "a linear layer": "m = copy.deepcopy(linear); m.weight.requires_grad, m.weight is linear.weight; return m(x), m.weight + 0",
    "a tied one": "m = copy.deepcopy(tied); return m[0].weight is m[1].weight, m(x)",
    "parameters alone": "a, b, c = copy.deepcopy([linear.weight, linear.bias, linear.weight]); return a is c, a * 2, b",
    "a normalization": "m = copy.deepcopy(norm); m.running_mean.add_(1); return m(t), norm.running_mean",
}
BREAKS = {
    "a view": "return copy.deepcopy(x[:2])",
    "a part of other memory": "return copy.deepcopy(v).untyped_storage().nbytes(), copy.deepcopy(v)",
    "with a history": "try: return copy.deepcopy(p * 2)\n    except RuntimeError as e: return str(e)",
    "with a gradient": "p.grad = torch.ones(3); return copy.deepcopy(p).grad",
    "with an attribute": "return copy.deepcopy(a).word, copy.deepcopy(a)",
}


def observe(body: str, compile_function: Callable[..., Any]) -> list[Any]:
    torch.manual_seed(0)
    norm = nn.BatchNorm1d(2).eval()
    linear = nn.Linear(3, 3)
    tied = nn.Sequential(linear, nn.Linear(3, 3))
    tied[1].weight = linear.weight
    namespace: dict[str, Any] = {"torch": torch, "copy": copy, "norm": norm, "linear": linear, "tied": tied}
    exec(f"def f(x, g, p, t, v, a, n, e):\n    {body}", namespace)  # noqa: S102
    call, found = compile_function(namespace["f"]), list[Any]()
    base = torch.randn(6)
    a = torch.randn(3)
    a.word = "word"  # type: ignore[attr-defined]
    p = torch.randn(3, requires_grad=True)
    given = (
        torch.randn(3),
        torch.randn(3),
        p,
        torch.empty_strided((3, 2), (1, 3)).fill_(2),
        base[:3],
        a,
        torch.tensor(3),
        torch.empty(0, 2),
    )
    for _ in range(3):
        result = call(*given)
        parts = list(result) if isinstance(result, tuple) else [result]
        for one in parts:
            if not isinstance(one, torch.Tensor):
                found.append(one)
                continue
            memories = [
                one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr() for other in given
            ]
            found += [one.detach().clone(), one.requires_grad, one.is_leaf, one.stride(), *memories[:-1]]
            if one.requires_grad and not one.is_leaf:
                one.sum().backward()
        found += [one.detach().clone() for one in given]
        found.append(None if p.grad is None else p.grad.clone())
    return found


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", [*ONE_GRAPH, *BREAKS])
def test_copies(name: str, backend: str) -> None:
    body = (ONE_GRAPH | BREAKS)[name]
    fullgraph = name in ONE_GRAPH
    ours = observe(body, lambda f: frontend.compile(f, backend=backend, fullgraph=fullgraph))
    Comparison().same(observe(body, lambda f: f), ours, name)


def test_what_varies_is_guarded() -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = copy.deepcopy(x)
        return result

    compiled = frontend.compile(run, backend="eager")
    plain, named, base = torch.ones(3), torch.ones(3), torch.ones(6)
    named.word = "word"  # type: ignore[attr-defined]
    for x in (plain, named, base[:3], plain, base.data[:3].data):
        ours, in_eager = compiled(x), run(x)
        assert vars(ours) == vars(in_eager)
        assert ours.untyped_storage().nbytes() == in_eager.untyped_storage().nbytes()
    plain.grad = torch.ones(3)
    copied = compiled(plain)
    assert copied.grad is not None and copied.grad is not plain.grad
