"""A `torch.autograd.Function` that autograd keeps nothing of is its forward pass alone."""

import pytest
from tests.end_to_end.support import check_source

BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])
FUNCTIONS = {
    "Blocks": ("ctx, x, blocks", "\n        for one in blocks: x = one(x)\n        ctx.y = x.detach(); return x"),
    "Log": ("ctx, x", "log.append(int(x.shape[0])); return x * 2"),
    "Outer": ("ctx, x", "return x * weight"),
    "Unmarked": ("ctx, x", "x.mul_(2); return x.clone()"),
    "Marked": ("ctx, x, y", "x.mul_(2); ctx.mark_dirty(x); return x, y"),
    "Lost": ("ctx, x", "x.mul_(2); ctx.mark_dirty(x); return x.clone()"),
    "Same": ("ctx, x, others", "return x, others, [x], 3, x"),
    "Nothing": ("ctx, x", "ctx.save_for_backward(x); return None"),
    "Needs": ("ctx, x, y", "return x if ctx.needs_input_grad[1] else y * 3"),
    "Leaf": ("ctx, x", "return weight"),
    "Kept": ("ctx, x", "kept[0] = ctx; return x * 2"),
    "Returned": ("ctx, x", "ctx.k = 4; return ctx, x * 2"),
    "Raises": ("ctx, x", "log.append(1); raise ValueError('no')"),
    "Branch": ("ctx, x", "log.append(1); return x * 2 if x.sum() > 0 else x - 1"),
    "Inner": ("ctx, x", "return Log.apply(Outer.apply(x)) + Same.apply(x, 0)[0]"),
    "Enabled": ("ctx, x", "log.append(torch.is_grad_enabled()); return x + 1"),
    "Draws": ("ctx, x", "return x * torch.rand_like(x)"),
    "Form": ("ctx, x", "x.unsqueeze_(0); return x.clone()"),
}  # fmt: skip
SETUP = "".join(
    f"class {name}(torch.autograd.Function):\n"
    f"    @staticmethod\n    def forward({given}): {forward}\n"
    f"    @staticmethod\n    def backward(ctx, *g): raise RuntimeError('never')\n"
    for name, (given, forward) in FUNCTIONS.items()
)
SETUP += """
class Set(torch.autograd.Function):
    @staticmethod
    def forward(x, f): return f(x), x + 1
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*output); log.append(len(inputs))
    @staticmethod
    def backward(ctx, *g): raise RuntimeError("never")
class Saved(Set):
    @staticmethod
    def forward(x): return x, x + 1
class Own:
    def __init__(self, k): self.k = k
    def times(self, x): return x * self.k
torch.manual_seed(0)
log, kept, own = [], [0], Own(3)
weight = torch.nn.Parameter(torch.tensor(3.0))
blocks = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.Tanh()])
"""
ONE_GRAPH = {
    "modules": "return Blocks.apply(x, blocks)",
    "a list that is made": "return Blocks.apply(x, [torch.sin, own.times])",
    "side effects": "return Log.apply(x) + len(log)",
    "a tensor that is no argument": "return Outer.apply(x), Outer.apply(x).requires_grad",
    "an unmarked write": "y = x * 3; z = Unmarked.apply(y); return y + z",
    "a marked write": "y = x * 3; z, w = Marked.apply(y, x); return y + z, z is y, w is x",
    "an argument given back": "y, z, a, b, c = Same.apply(x, x); return y is x, z is x, a[0] is x, b, c is y, y + 1",
    "nothing": "return Nothing.apply(x)",
    "gradients that are needed": "with torch.no_grad(): return Needs.apply(x, weight)",
    "another function": "return Inner.apply(x)",
    "no gradients inside": "return Enabled.apply(x) + len(log)",
    "random numbers": "return Draws.apply(x) + torch.rand(2)",
    "a context of its own": "return Set.apply(x, own.times), len(log)",
    "a change that was made before": "log.append(3); own.k += 1; return Set.apply(x, own.times), Log.apply(x)",
}
AS_IN_EAGER = {
    "another form": "y = x * 3; z = Form.apply(y); return z, y",
    "a leaf": "y = Leaf.apply(x); return y * x, y is weight, weight.requires_grad",
    "the context, kept": "y = Kept.apply(x); k = kept[0]; kept[0] = 0; return y, type(k).__name__",
    "the context, given back": "y, z = Returned.apply(x); return y.k, type(y).__name__, z",
    "an exception": "try: return Raises.apply(x)\n    except ValueError as e: return str(e), len(log)",
    "a branch": "return Branch.apply(x), len(log)",
    "an argument given back and saved": "try: return Saved.apply(x)\n    except RuntimeError as e: return str(e)[:20]",
    "a write that is not given back": "try: return Lost.apply(x * 2)\n    except RuntimeError as e: return str(e)[:20]",
}


def program(line, grad):
    """The program, with gradients off or with no argument that takes part in them."""
    body = (
        f"    with torch.no_grad():\n        {line.replace(chr(10), chr(10) + '    ')}"
        if grad
        else f"    {line}"
    )
    given = ".requires_grad_()" if grad else ""
    return (
        f"import torch\n{SETUP}\n"
        f"def args(): return torch.tensor([[0.5, -2.0]]){given}, []\ndef f(x, unused):\n{body}\n"
    )


@BACKENDS
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", ONE_GRAPH)
def test_the_forward_pass_is_captured(name, grad, backend):
    check_source(program(ONE_GRAPH[name], grad), backend=backend, breaks=0, calls=3, tolerance=1e-6)


@BACKENDS
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", AS_IN_EAGER)
def test_any_other_pass_does_what_it_does_in_eager(name, grad, backend):
    check_source(program(AS_IN_EAGER[name], grad), backend=backend, calls=3, tolerance=1e-6)
