"""A `torch.autograd.Function` that writes to its arguments is part of the graph, whether it marks them as dirty or not."""

import pytest
from tests.end_to_end.support import check_source

BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])
FUNCTIONS = {
    "Scale": ("ctx, x, k", "x.mul_(k); ctx.mark_dirty(x); ctx.k = k; return x", "return g * ctx.k, None"),
    "Exp": ("ctx, x", "x.exp_(); ctx.mark_dirty(x); ctx.save_for_backward(x); return x", "return g * ctx.saved_tensors[0]"),
    "Form": ("ctx, x", "x.unsqueeze_(0); ctx.mark_dirty(x); return x", "return g[0]"),
    "Unmarked": ("ctx, x", "x.mul_(2); return x.clone()", "return g"),
    "Late": ("ctx, x", "ctx.save_for_backward(x); x.mul_(2); return x * 3", "return g * ctx.saved_tensors[0]"),
    "Given": ("ctx, x", "x.mul_(2); ctx.save_for_backward(x); return x", "return g * ctx.saved_tensors[0]"),
    "Both": ("ctx, x, t", "t.add_(1); x.mul_(t); ctx.save_for_backward(x, t); return x * 3, t + 1", "return gs[0] * ctx.saved_tensors[0], gs[1]"),
    "Kept": ("ctx, x", "x.mul_(2); ctx.mark_dirty(x); return x.clone()", "return g"),
    "Unchanged": ("ctx, x", "ctx.mark_dirty(x); return x", "return g * 2"),
}  # fmt: skip
SETUP = "".join(
    f"class {name}(torch.autograd.Function):\n"
    f"    @staticmethod\n    def forward({given}): {forward}\n"
    f"    @staticmethod\n    def backward(ctx, *gs): g, = gs[:1]; {backward}\n"
    for name, (given, forward, backward) in FUNCTIONS.items()
)
SETUP += """
class Pair(torch.autograd.Function):
    @staticmethod
    def forward(a, x): return x.mul_(a), x.sum()
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[1]); ctx.save_for_backward(inputs[0])
    @staticmethod
    def backward(ctx, g, h): return None, (g + h) * ctx.saved_tensors[0]
given = torch.ones(1, 2)
"""


def program(*lines):
    body = "\n".join(f"    {line}" for line in ("y = x * 2", *lines))
    return f"import torch\n{SETUP}\ndef args(): return torch.tensor([[0.5, -2.0]]).requires_grad_(), []\ndef f(x, log):\n{body}\n"


ONE_GRAPH = {
    "a value": ["z = Scale.apply(y, 3)", "return z.sin(), z is y"],
    "a value that was used": ["w = y.exp()", "z = Scale.apply(y, 3)", "return z.sin() + w"],
    "a value with a view": ["v = y[0]", "z = Scale.apply(y, 3)", "return z.sin(), v * 2"],
    "what it saves": ["z = Exp.apply(y)", "return z.sin(), z is y"],
    "one of two": ["z, s = Pair.apply(x.detach(), y)", "return z.sin() * s, z is y"],
    "nothing": ["z = Unchanged.apply(y)", "return z.sin(), z is y"],
    "an existing tensor": ["z = Scale.apply(given, 3)", "return given + z, x * given"],
    "without gradients": ["with torch.no_grad(): z = Scale.apply(x, 3)", "return z.sin(), z is x"],
    "in a loop": ["for k in range(3): y = Scale.apply(y, k + 1)", "return y.sin()"],
    "an unmarked tensor": ["a = x.detach().clone()", "return Unmarked.apply(a).sin() * x, a"],
    "an unmarked value": ["z = Unmarked.apply(y)", "return z, y.sin()"],
    "an unmarked value that was used": ["w = y * 3", "z = Unmarked.apply(y)", "return z * w, y"],
    "an unmarked leaf": ["z = Unmarked.apply(x)", "return z, x.sin()"],
    "an unmarked value with a view": ["v = y[0]", "z = Unmarked.apply(y)", "return z, v * 3"],
    "an unmarked value that is saved before": ["z = Late.apply(y)", "return z, y.exp()"],
    "an unmarked value that is given back": ["z = Given.apply(y)", "return z.sin(), y, z is y"],
    "two unmarked values": ["z, u = Both.apply(y, y.detach() * 2)", "return z + u, y"],
    "an unmarked existing tensor": ["z, u = Both.apply(y, given)", "return z + u, y + given"],
    "before a backward pass": ["z = Scale.apply(y, 3)", "(z * z).sum().backward()", "return x.grad * 2"],
}


@BACKENDS
@pytest.mark.parametrize("name", ONE_GRAPH)
def test_what_a_function_writes_to_is_written_in_the_graph(name, backend):
    check_source(program(*ONE_GRAPH[name]), backend=backend, breaks=0, tolerance=1e-6)


CAUGHT = "except RuntimeError as error: return str(error)"
AS_IN_EAGER = {
    "another form": ["return Form.apply(y).sin()"],
    "a tensor that is not returned": ["try: Kept.apply(y)", CAUGHT],
    "a view": ["v = y[0]", "z = Scale.apply(v, 3)", "return z.sin(), y * 2"],
    "a leaf": ["try: Scale.apply(x, 3)", CAUGHT],
    "what a gradient needs, unmarked": ["w = y.sin()", "Unmarked.apply(y)", "try: w.sum().backward()", CAUGHT],
    "an unmarked value that a gradient needs": ["z = Late.apply(y) + Late.apply(y)", "try: z.sum().backward()", CAUGHT],
    "an unmarked view": ["v = y[0]", "z = Given.apply(v)", "return z * y[1], y.sin() + v"],
    "what a gradient needs": ["w = y.sin()", "Scale.apply(y, 3)", "try: w.sum().backward()", CAUGHT],
    "what a gradient needs behind a break": [
        "w = y.sin()", "Scale.apply(y, 3)", "print(2)", "try: w.sum().backward()", CAUGHT,
    ],
    "a tensor that is asked how often": ["z = Scale.apply(y, 3)", "return y._version, z.sin()"],
}  # fmt: skip


@BACKENDS
@pytest.mark.parametrize("name", AS_IN_EAGER)
def test_any_other_write_does_what_it_does_in_eager(name, backend):
    check_source(program(*AS_IN_EAGER[name]), backend=backend, tolerance=1e-6)
