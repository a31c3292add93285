"""`backward()` and `torch.autograd.grad` in a compiled function: what leaves get, what is freed, what breaks the graph."""

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend

W = "w, v = (torch.tensor([1.0, -2.0, 0.5], requires_grad=True) for _ in range(2))\n"
BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])


def program(*lines: str, setup: str = "") -> str:
    """A program whose function has these lines."""
    body = "".join(f"    {line}\n" for line in lines)
    return (
        f"import torch\n{W}{setup}\ndef f(x):\n{body}\ndef args(): return (torch.tensor([1.0, 2.0, 3.0]),)\n"
    )


@BACKENDS
@pytest.mark.parametrize(
    "lines",
    [
        ["(w * x).sum().backward()"],
        ["(w * x).backward(x)"],
        ["(w + v).sum().backward()", "w.grad.mul_(2)", "return v.grad * 1"],
        ["loss = (w * w * x).sum()", "loss.backward(retain_graph=True)", "loss.backward()"],
        ["h = w * w * x", "h.sum().backward(retain_graph=True)", "h.mean().backward()", "return w.grad * 2"],
        ["(w * v * x).sum().backward(inputs=[w])", "return v.grad is None"],
        ["torch.autograd.backward([(w * x).sum(), (v * x).sum()])"],
        ["for _ in range(3):", "    ((w * x) ** 2).sum().div(3).backward()"],
        ["with torch.no_grad():", "    g = w.grad", "(w * x).sum().backward()", "return g is w.grad"],
        [
            "for _ in range(3):",
            "    (w * w * x).sum().backward()",
            "    with torch.no_grad(): w.sub_(w.grad, alpha=0.1)",
            "    w.grad = None",
        ],
    ],
)
def test_leaves_get_their_gradients(backend, lines):
    check_source(program(*lines), breaks=0, backward=False, backend=backend, calls=4, tolerance=1e-7)


@BACKENDS
@pytest.mark.parametrize(
    "lines",
    [
        ["g, = torch.autograd.grad((w**3 * x).sum(), w)", "return g"],
        [
            "g, = torch.autograd.grad((w**3 * x).sum(), w, create_graph=True)",
            "return torch.autograd.grad(g.sum(), w)",
        ],
        ["g, = torch.autograd.grad((w**3 * x).sum(), w, create_graph=True)", "return g"],
        ["return torch.autograd.grad((w * x).sum(), [w, v], allow_unused=True)"],
        ["return torch.autograd.grad((w * x).sum(), [w, v], materialize_grads=True)"],
        ["return torch.autograd.grad([w * x, v * w], (one for one in (w, v)), [x, x])"],
        ["h = w * x", "return torch.autograd.grad((h * h).sum(), h)[0] + h.detach()"],
    ],
)
def test_gradients_that_the_function_asks_for(backend, lines):
    check_source(program(*lines), breaks=0, backend=backend, tolerance=1e-7)


@BACKENDS
def test_a_result_that_was_differentiated_cannot_be_once_more(backend):
    source = program("loss = (w * w * x).sum()", "loss.backward()", "return loss") + (
        "inner = f\n"
        "def f(x):\n"
        "    loss = inner(x)\n"
        "    print('outside')\n"
        "    try: loss.backward()\n"
        "    except RuntimeError as error: return loss.requires_grad, str(error)\n"
    )
    check_source(source, backward=False, backend=backend)


@BACKENDS
def test_a_result_beside_it_can(backend):
    source = program("a, b = w * w * x, w * w * w * x", "a.sum().backward()", "return b")
    check_source(source, breaks=0, backend=backend, tolerance=1e-6)


@pytest.mark.parametrize(
    "setup",
    [
        "w.register_hook(lambda g: g * 10)",
        "w.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(3))",
        "w = torch.arange(6.0).reshape(3, 2)[:, 0].requires_grad_()",
        "w.grad = torch.ones(3, requires_grad=True)",
    ],
)
def test_what_a_graph_cannot_do_to_a_leaf_is_done_natively(setup):
    report = check_source(
        program("(w * x).sum().backward()", "return w.grad * 2", setup=setup), backward=False
    )
    assert report.breaks


@pytest.mark.parametrize(
    "change",
    ["w.requires_grad_(False)", "w.grad = None", "w.register_hook(lambda g: g * 2)", "w.grad.zero_()"],
)
def test_what_changes_between_calls_is_guarded(change):
    lines = ["(w * v * x).sum().backward()", "return v.grad * 2"]
    source = (
        program(*lines)
        .replace("return (torch", "return (change, torch")
        .replace("def f(x)", "def f(change, x)")
    )
    source += f"def change():\n    {change}\n"
    check_source(source, backward=False, calls=4, change=lambda change, x: change())


@pytest.mark.parametrize(
    "lines",
    [
        ["(w * x).backward()"],
        ["with torch.no_grad(): (w * x).sum().backward()"],
        ["loss = (w * w * x).sum()", "loss.backward()", "loss.backward()"],
        ["h = w.exp()", "h.mul_(x)", "h.sum().backward()"],
        ["torch.autograd.grad((w * x).sum(), [w, v])"],
        ["torch.autograd.grad((w * x).sum(), [])"],
    ],
)
def test_errors_are_those_of_eager(lines):
    caught = ["try:", *(f"    {line}" for line in lines), "except RuntimeError as error: return str(error)"]
    check_source(program(*caught), backward=False)


def test_history_from_outside_is_differentiated_natively():
    source = program("y = x * 1 + w * 2", "print(1)", "(y * y).sum().backward()")
    report = check_source(source, backward=False)
    assert any(one.startswith("outer-history") for one in report.breaks)


@BACKENDS
def test_a_transposed_leaf_gets_a_gradient_with_its_strides(backend):
    setup = "w = torch.arange(6.0).reshape(2, 3).t().requires_grad_()"
    source = program("(w.sum(1) * x).sum().backward()", "return w.grad.stride()", setup=setup)
    check_source(source, breaks=0, backward=False, backend=backend)


@BACKENDS
def test_a_function_of_the_user_that_returns_what_it_saved(backend):
    setup = (
        "class Keep(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return x * 2\n"
        "    @staticmethod\n"
        "    def backward(ctx, g):\n        return ctx.saved_tensors[0]\n"
    )
    source = program("Keep.apply(w).sum().backward()", "w.grad.add_(1)", setup=setup)
    check_source(source, breaks=0, backward=False, backend=backend)


def test_sizes_change_down_to_none():
    for size in (4, 1, 0):
        source = program("(w * x).sum().backward()", "return w.grad * 1").replace(
            "torch.tensor([1.0, 2.0, 3.0])", f"torch.ones({size}, 3)"
        )
        check_source(source, breaks=0, backward=False)


@BACKENDS
@pytest.mark.parametrize("result", ["loss", "h.view(3, 1)", "(h, loss)[1]"])
def test_a_result_that_was_differentiated_can_be_changed_in_place(backend, result):
    lines = ["h = w.exp() * x", "loss = h.sum()", "loss.backward()", f"return {result}"]
    setup = "def change(result):\n    result.add_(1).mul_(2)\n    return result.detach().clone(), w.grad.clone()\n"
    source = program(*lines, setup=setup).replace("def f(x)", "def g(x)") + (
        "import torch._dynamo\ndef f(x):\n    result = g(x)\n    torch._dynamo.graph_break()\n    return change(result)\n"
    )
    check_source(source, backward=False, backend=backend, calls=2)


NODE = (
    "def node_of(leaf): return leaf.view_as(leaf).grad_fn.next_functions[0][0]\nnode = node_of(w)\nlog = []\n"
)
HOOKS = {
    "after": "node.register_hook(lambda before, after: log.append(len(after)))",
    "before": "node.register_prehook(lambda gradients: tuple(g * 10 for g in gradients))",
    "of another leaf": "(keep := node_of(v)).register_hook(lambda *g: log.append(keep is None))",
}


@BACKENDS
@pytest.mark.parametrize("name", HOOKS)
def test_hooks_of_the_node_of_a_leaf_run(backend, name):
    lines = ["(w * v * x).sum().backward()", "return w.grad * 2, v.grad.clone(), list(log)"]
    source = program(*lines, setup=f"{NODE}hooks = {HOOKS[name]}")
    report = check_source(source, backward=False, backend=backend)
    assert any(one.startswith("gradient-hook") for one in report.breaks)


@pytest.mark.parametrize("kind", ["register_hook", "register_prehook"])
@pytest.mark.parametrize("is_held", [True, False])
def test_hooks_of_the_node_of_a_leaf_come_and_go(kind, is_held):
    def run(backend):
        w, held, log, handles = torch.ones(3, requires_grad=True), [], [], []

        def step(x):
            (w * w * x).sum().backward()

        function = step if backend is None else frontend.compile(step, backend=backend)
        for call in range(6):
            held[:] = [w * 2] if is_held else []  # a history that keeps the node alive
            if call in (2, 4):
                node = w.view_as(w).grad_fn.next_functions[0][0]
                handles.append((node, getattr(node, kind)(lambda *given: log.append(len(given)))))
            elif call in (3, 5):
                handles.pop()[1].remove()
            function(torch.ones(3))
            log.append(w.grad.tolist())
        return log

    assert run(None) == run("eager") == run("aot_eager")


@pytest.mark.parametrize("sizes", [(1,), (1, 1), (3, 1), (1, 3), (0,), (2, 0), (2, 3), ()])
@pytest.mark.parametrize(
    "work", ["x.sum()", "(x * x).sum()", "x.t().sum() if x.dim() < 3 else x.sum()", "x.mean() * 2"]
)
def test_strides_of_gradients_of_small_leaves(sizes, work):
    program = eval(f"lambda x: ({work}).backward()")
    compiled = frontend.compile(program, backend="eager")
    left, right = (torch.ones(sizes, requires_grad=True) for _ in range(2))
    for _ in range(3):
        program(left)
        compiled(right)
        assert left.grad.stride() == right.grad.stride()
        assert torch.equal(left.grad, right.grad)
        left.grad.add_(1)
        right.grad.add_(1)
        left.grad = right.grad = None


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_parameters_that_only_the_repeated_call_leads_to_get_gradients(again, backend):
    """The first call is differentiated with respect to its input alone: the loss depends on the biases through the second."""
    report = check_source(
        "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
        "model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))\n"
        "def f(x, y):\n"
        "    model.zero_grad()\n"
        "    near = (x + y).requires_grad_(True)\n"
        f"    slope, = torch.autograd.grad(model(near).sum(), near, create_graph={again})\n"
        "    loss = model(x).mean() + 10 * (slope.norm(2, dim=1) - 1).square().mean()\n"
        "    loss.backward()\n"
        "    return loss.detach(), [p.grad for p in model.parameters()]\n"
        "def args():\n    torch.manual_seed(3)\n    return [torch.randn(3, 4), torch.randn(3, 4)]\n",
        backend=backend,
        backward=False,
    )
    assert backend or not report.breaks


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("inputs", [("x", "x.clone().requires_grad_()"), ("x.clone().requires_grad_()", "x")])
def test_all_parameters_get_gradients_where_one_of_two_inputs_requires_one(inputs, backend):
    check_source(
        "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
        "model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))\n"
        "def f(x):\n"
        "    model.zero_grad()\n"
        f"    model({inputs[0]})\n"
        f"    model({inputs[1]}).mean().backward()\n"
        "    return [p.grad for p in model.parameters()]\n"
        "def args(): return [torch.ones(2, 2)]\n",
        backend=backend,
        backward=False,
    )


STALE = {
    "a power of e": "y = (x * w).exp(); z = y * 3; y.mul_(2); return z",
    "kept by a backward pass": (
        "y = (x * w).exp(); y.sum().backward(retain_graph=True); z = y * 3; y.mul_(2); return z, y.detach()"
    ),
    "two results": "y = (x * w).exp(); z = y * 3; y.mul_(2); return z, x * w",
    "in a handler": (
        "y = (x * w).exp(); y.mul_(2)\n"
        "    try: y.sum().backward()\n"
        "    except RuntimeError: return (x * w).detach()\n"
        "    return y"
    ),
    "a step between": (
        "h = x * w; k = (h * w).sum(); (x * w).sum().backward()\n"
        "    with torch.no_grad(): w.sub_(w.grad)\n"
        "    return k"
    ),
}


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("name", STALE)
def test_a_result_whose_history_was_changed_in_place_is_an_ordinary_result(name, backend):
    check_source(
        "import torch\nw = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\n"
        f"def f(x):\n    {STALE[name]}\n"
        "def args(): return [torch.arange(3.0)]\n",
        backend=backend,
        backward=False,
        calls=2,
    )


def test_a_backward_pass_from_a_history_that_was_changed_in_place_raises_as_in_eager():
    def function(x, w):
        y = (x * w).exp()
        z = y * 3
        y.mul_(2)
        return z

    told = []
    for called in (function, frontend.compile(function, backend="aot_eager")):
        result = called(torch.arange(3.0), torch.ones(3, requires_grad=True))
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
            result.sum().backward()
        told.append(str(caught.value).partition("Hint")[0])
    assert told[0] == told[1]


FLAT = {
    "gradients": "p.grad = flat[start:end].view_as(p)",
    "parameters": "p.data = flat[start:end].view_as(p); p.grad = torch.ones_like(p)",
    "both": "p.data = flat[start:end].view_as(p); p.grad = other[0, start:end].view_as(p)",
}


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("kind", FLAT)
def test_views_of_one_buffer_are_gradients_or_parameters(kind, backend):
    report = check_source(
        f"""
import torch
torch.manual_seed(3)
model, flat, other = torch.nn.Linear(4, 2), torch.ones(10), torch.ones(2, 10)
for p, start, end in zip(model.parameters(), (0, 8), (8, 10)):
    {FLAT[kind]}
def f(x):
    with torch.no_grad():
        flat.mul_(0.5)
        other.mul_(0.5)
    model(x).sum().backward()
    return flat.norm(), other.norm()
def args(): return (torch.ones(3, 4),)
""",
        backend=backend,
    )
    assert not report.breaks


FREED = {
    "once": """
    torch.autograd.grad(s, x)
    try:
        s.backward()
        return 'kept'
    except RuntimeError:
        return 'freed'""",
    "kept": "torch.autograd.grad(s, x, retain_graph=True); return s",
    "twice": """
    try:
        torch.autograd.grad(s, x)
        torch.autograd.grad(s, x)
        return 'twice'
    except RuntimeError:
        return 'freed'""",
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("kind", FREED)
def test_a_pass_of_which_nobody_takes_the_gradients_frees_the_graph(kind, backend):
    check_source(
        f"""
import torch
def f(x):
    s = x.exp().sum()
    {FREED[kind]}
def args(): return (torch.ones(3, requires_grad=True),)
""",
        backend=backend,
    )


@BACKENDS
def test_a_gradient_is_no_view(backend):
    module = torch.nn.Linear(3, 2)

    def step(x):
        module(x).sum().backward()

    frontend.compile(step, backend=backend, fullgraph=True)(torch.ones(4, 3))
    assert [parameter.grad._base for parameter in module.parameters()] == [None, None]
