"""Gradients: after the graph, inside it, switched off, through in-place changes and views."""

import warnings

import pytest
import torch
from tests.end_to_end.support import check, check_source
from torch.utils.checkpoint import checkpoint

from framesmith import frontend

X = torch.tensor([-1.5, 0.25, 2.0])
G = X.clone().requires_grad_()


def test_gradient_of_the_input():
    check(lambda x: (x * 2).relu().sum(), G, graphs=1, breaks=0)


def test_gradient_through_a_break():
    def f(x):
        y = x * 2
        print("break")
        return (y * x).sum()

    check(f, G)


def test_gradient_of_a_closed_over_tensor():
    w = G.clone().detach().requires_grad_()
    check(lambda x: x * w, X)


def test_detach_and_requires_grad():
    def f(x):
        y = x.detach()
        z = y * 2
        return x * y, z, z.requires_grad, y.requires_grad_() is y

    check(f, G)


def test_requires_grad_in_place_on_the_input():
    def f(x):
        x.requires_grad_()
        return (x * 3).sum()

    check(f, X)


def test_backward_inside():
    def f(x):
        loss = (x * x).sum()
        loss.backward()
        return loss.detach(), x.grad

    check(f, G)


def test_autograd_grad_inside():
    def f(x):
        (g,) = torch.autograd.grad((x**3).sum(), x)
        return g * 2

    check(f, G)


def test_accumulated_gradient():
    def f(x):
        (x * 2).sum().backward()
        (x * 3).sum().backward()
        return x.grad.clone()

    check(f, G)


def test_gradient_is_cleared_and_set():
    def f(x):
        x.grad = None
        (x * 2).sum().backward()
        x.grad.mul_(2)
        return x.grad

    check(f, G)


def test_gradient_presence_is_guarded():
    check(
        lambda x: x * 2 if x.grad is None else x * x.grad,
        G,
        change=lambda x: setattr(x, "grad", torch.ones(3)),
    )


def test_no_grad_result_has_no_gradient():
    def f(x):
        with torch.no_grad():
            y = x * 2
        return y, y.requires_grad, x + y

    check(f, G)


def test_in_place_on_an_intermediate():
    def f(x):
        y = x * 2
        y.add_(1)
        y[0] = 5
        return y * x

    check(f, G, graphs=1, breaks=0)


def test_in_place_on_a_leaf_raises_like_eager():
    check(lambda x: x.add_(1), G)


def test_view_of_an_intermediate_is_changed():
    def f(x):
        y = x * 2
        v = y[:2]
        v.mul_(3)
        return y, v

    check(f, G)


def test_custom_function():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x

    check(lambda x: Double.apply(x) + 1, G)


def test_tensor_hook():
    def f(x):
        y = x * 2
        y.register_hook(lambda g: g * 10)
        return y.sum()

    check(f, G)


def test_checkpoint():
    check(lambda x: torch.utils.checkpoint.checkpoint(lambda t: t.sin() * 2, x, use_reentrant=False), G)


def test_requires_grad_of_the_input_is_guarded():
    check(lambda x: (x * 2, x.requires_grad), X, change=lambda x: x.requires_grad_(not x.requires_grad))


def test_retain_graph_and_second_backward():
    def f(x):
        y = (x * x).sum()
        y.backward(retain_graph=True)
        y.backward()
        return x.grad

    check(f, G)


def test_grad_fn_and_is_leaf():
    check(lambda x: ((x * 2).is_leaf, x.is_leaf, (x * 2).grad_fn is None, x.grad_fn), G)


def test_set_data():
    def f(x, y):
        x.data = y * 2
        return x + 1

    check(f, X, X)


def test_higher_order_gradient():
    def f(x):
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return g.sum()

    check(f, G)


def test_func_grad_and_vmap():
    check(lambda x: torch.func.grad(lambda t: (t * t).sum())(x), X)
    check(lambda x: torch.func.vmap(lambda t: t * 2)(x), X)


CLIPPING = """
import torch

def f(weights):
    norm = torch.nn.utils.clip_grad_norm_(weights, 1.0)
    torch.nn.utils.clip_grad_value_(weights, 0.1)
    return norm, torch.nn.utils.get_total_norm([weight.grad for weight in weights])

def args(second=torch.float32):
    weights = [torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(2, 2, dtype=second))]
    for number, weight in enumerate(weights):
        weight.grad = torch.full_like(weight, number + 1.0)
    return (weights,)
"""


def test_gradients_are_clipped_in_the_graph():
    check_source(CLIPPING, breaks=0)


def test_gradients_of_several_types_are_clipped():
    check_source(CLIPPING + "args.__defaults__ = (torch.float64,)\n")


def test_no_gradient_to_clip():
    check(lambda weights: torch.nn.utils.clip_grad_value_(weights, 0.1), [torch.nn.Parameter(torch.ones(3))])


def test_a_deleted_gradient_is_none():
    def f(x, w):
        (x * w).sum().backward()
        gradient = w.grad
        del w.grad
        first = w.grad
        (x * w * 3).sum().backward()
        del x.grad
        return gradient, first, w.grad, x.grad

    check(f, X, G, breaks=0, change=lambda x, w: x.add_(1))


def test_deleting_what_torch_does_not_delete():
    def f(x, name):
        try:
            delattr(x, name)
        except (RuntimeError, AttributeError) as error:
            return str(error)

    for name in ("data", "requires_grad", "shape"):
        check(f, G, name)


CHECKPOINTS = """
import functools, torch
from torch.utils.checkpoint import checkpoint

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
        self.calls = 0

    def forward(self, x, scale=1.0, **rest):
        parts = [layer for layer in self.layers]
        for part in parts:
            x = part(x)
        return x * scale, {"a": 1}.get("a"), [x]

    def pair(self, x, scale=1.0):
        y, _, more = self.forward(x, scale)
        return y, more

class Counting(Block):
    def pair(self, x, scale=1.0):
        self.calls += 1
        return super().pair(x, scale)

def f(x, block):
    y = x * 2
    saved = functools.partial(checkpoint, use_reentrant=False)
    a, (b,) = saved(functools.partial(block.pair, scale=2.0), y)
    return a + saved(lambda t, k=1: t.sin() * k + y, b, k=3), saved(lambda t: t, y) is y

def seen(x, block):
    log = []
    def note(t):
        log.append(t.shape)
        return t * 2
    return checkpoint(note, x, use_reentrant=False), log

def attention(x, block):
    def attend(t, p=0.0):
        t = t.view(1, 1, 4, 3)
        t = torch.nn.functional.scaled_dot_product_attention(t, t, t, dropout_p=p)
        return torch.nn.functional.dropout(t + 1, 0.0)
    return checkpoint(attend, x * 2, use_reentrant=False)

def saved_and_changed(x, block):
    def attend(t):
        t = t.view(1, 1, 4, 3)
        t = torch.nn.functional.scaled_dot_product_attention(t, t, t)
        t += 1
        return t * 2
    return checkpoint(attend, x * 2, use_reentrant=False)

def changed(x, block):
    y = x * 2
    return checkpoint(lambda t: t.add_(1) * 2, y, use_reentrant=False), y

def dropout(x, block):
    return checkpoint(lambda t: torch.nn.functional.dropout(t, 0.5), x * 2, use_reentrant=False)

def args(kind=Block):
    return torch.ones(4, 3, requires_grad=True), kind()
"""


def test_checkpoints_are_captured():
    check_source(CHECKPOINTS.replace(", saved(lambda t: t, y) is y", ""), graphs=1, breaks=0)


def test_checkpoints_are_captured_for_aot_autograd():
    source = CHECKPOINTS.replace(", saved(lambda t: t, y) is y", "")
    check_source(source, breaks=0, backend="aot_eager", tolerance=1e-6)


RANDOM_CHECKPOINTS = """
import torch
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5), torch.nn.Linear(3, 3))

def saved(function, *given):
    return checkpoint(function, *given, use_reentrant=False)

def dropout(x):
    return saved(lambda t: torch.nn.functional.dropout(t, 0.5), x * 2), torch.rand(2)

def step(x):
    model.zero_grad()
    loss = saved(model, x * torch.rand(4, 3)).sum() + saved(model, x).sum()
    more = torch.rand(2)
    loss.backward()
    return loss.detach(), more, torch.rand(2), [p.grad.clone() for p in model.parameters()]

def other_numbers(x):
    loss = checkpoint(model, x, use_reentrant=False, preserve_rng_state=False).sum()
    loss.backward()
    return loss.detach(), x.grad, torch.rand(2)

def nested(x):
    loss = saved(lambda t: saved(model, torch.nn.functional.dropout(t)).relu() + torch.rand(3), x).sum()
    loss.backward()
    return loss.detach(), x.grad, torch.rand(2)

def cast(x):
    with torch.autocast("cpu", torch.bfloat16):
        loss = saved(model, x).sum()
    loss.backward()
    return loss.detach(), x.grad, torch.rand(2)

def without_gradients(x):
    with torch.no_grad():
        return saved(model, x), torch.rand(2)

def args():
    return (torch.ones(4, 3, requires_grad=True),)
"""


@pytest.mark.parametrize("name", ["dropout", "step", "other_numbers", "nested", "cast", "without_gradients"])
def test_checkpoints_that_draw_random_numbers_are_captured(name):
    check_source(RANDOM_CHECKPOINTS + f"f = {name}\n", breaks=0)


def test_checkpoints_that_draw_random_numbers_are_run_again_for_the_backward_pass():
    def f(x):
        return checkpoint(lambda t: torch.nn.functional.dropout(t).sin().sin(), x, use_reentrant=False)

    x = torch.ones(1000, requires_grad=True)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.shape) or t, lambda t: t):
        frontend.compile(f, backend="eager", fullgraph=True)(x).sum().backward()
    in_eager = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: in_eager.append(t.shape) or t, lambda t: t):
        f(x).sum().backward()
    assert kept == in_eager


def test_a_checkpoint_that_fails_behind_random_numbers():
    source = (
        RANDOM_CHECKPOINTS
        + """
def f(x, i):
    log.append(1)
    try:
        y = saved(lambda t: torch.nn.functional.dropout(t)[i], x)
    except IndexError:
        return log, torch.rand(2)
    log.append(2)
    return y, log

log = []
def args():
    return torch.ones(4, 3, requires_grad=True), torch.tensor([0, 7])
"""
    )
    check_source(source)


@pytest.mark.parametrize("name", ["dropout", "step", "nested", "cast", "without_gradients"])
def test_checkpoints_that_draw_random_numbers_for_aot_autograd(name):
    check_source(RANDOM_CHECKPOINTS + f"f = {name}\n", breaks=0, backend="aot_eager", tolerance=1e-5)


def test_other_numbers_in_the_backward_pass_for_aot_autograd():
    source = RANDOM_CHECKPOINTS + "f = other_numbers\n"
    check_source(source, breaks=2, calls=1, backend="aot_eager", tolerance=1e-5)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "expression",
    [
        "saved(lambda t: t * torch.rand_like(t) + torch.randn(3) * t, x) * torch.rand(3)",
        "saved(lambda t: (torch.rand(2), t.sin())[1], x) * torch.rand(3)",
        "saved(lambda t: t[torch.randperm(4)].sin(), x) + torch.rand(3)",
        "saved(model, saved(model, x)) + torch.rand(3)",
        "torch.autograd.grad(saved(model, x).sum(), x)[0] + torch.rand(3)",
        "saved(model, x.detach()) + torch.rand(3)",
        "checkpoint(lambda t: torch.nn.functional.dropout(t.sin()), x, use_reentrant=True) + torch.rand(3)",
    ],
)
def test_random_numbers_of_checkpoints_and_behind_them(expression, backend):
    source = f"{RANDOM_CHECKPOINTS}\ndef f(x):\n    return {expression}\n"
    check_source(source, breaks=0, backend=backend, tolerance=1e-5)


@pytest.mark.parametrize("name", ["f", "seen", "dropout", "changed", "saved_and_changed"])
def test_checkpoints_that_do_more_than_compute(name):
    check_source(CHECKPOINTS + f"f = {name}\n")


def test_checkpoints_of_what_could_draw_random_numbers_and_does_not():
    check_source(CHECKPOINTS + "f = attention\n", breaks=0)


def test_checkpoints_with_a_count():
    check_source(CHECKPOINTS + "args.__defaults__ = (Counting,)\n")


FUNCTIONS = """
import torch
from torch.autograd.function import once_differentiable

STATE = {"scale": 2.0, "calls": 0}
EXTRA = torch.ones(3)

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k, how="up"):
        ctx.save_for_backward(x)
        ctx.k = k
        assert ctx.needs_input_grad[0] == x.requires_grad or True
        return x * k * STATE["scale"]

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.k * STATE["scale"] + x * 0, None, None

class Two(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y, (x > 0), 7

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad, *others):
        x, y = ctx.saved_tensors
        return grad * y, grad * x

class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad

class Same(Round):
    @staticmethod
    def forward(ctx, x):
        return x

class Counting(Round):
    @staticmethod
    def backward(ctx, grad):
        STATE["calls"] += 1
        return grad

class Elsewhere(Round):
    @staticmethod
    def forward(ctx, x):
        return x.round() + EXTRA

class Inplace(Round):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

def f(x):
    a = Scale.apply(x, 3)
    b, mask, number = Two.apply(a, x)
    same = Same.apply(x)
    return a.sin() + b + number, mask, Round.apply(x * 10), same, same is x

def native(x):
    return Counting.apply(x * 1.5), Elsewhere.apply(x), Inplace.apply(x * 2), STATE["calls"]

def changes(x):
    return Scale.apply(x, STATE["scale"], "down")

def args():
    return (torch.tensor([0.5, 1.25, -2.0], requires_grad=True),)
"""


def test_autograd_functions_are_captured():
    check_source(FUNCTIONS, graphs=1, breaks=0)


def test_autograd_functions_are_captured_for_aot_autograd():
    check_source(FUNCTIONS, breaks=0, backend="aot_eager", tolerance=1e-6)


def test_autograd_functions_that_do_more_than_compute():
    check_source(FUNCTIONS + "f = native\n")


def test_what_an_autograd_function_reads_is_guarded():
    source = (
        FUNCTIONS
        + "f = lambda x, state: Scale.apply(x, 1)\nargs = lambda: (torch.ones(3, requires_grad=True), STATE)\n"
    )
    check_source(source, backend="aot_eager", change=lambda x, state: state.update(scale=state["scale"] + 1))


def test_a_gradient_of_another_size_than_its_tensor():
    """No fake tensor can have one, so the operation runs natively."""

    def f(x):
        (x * 2).sum().backward()
        x.data = x.sort()[0][::2].detach()
        return x.detach() + 1

    check(f, X.clone().requires_grad_(), calls=1, backward=False)


def test_an_input_whose_gradient_has_another_size():
    check_source("""
import torch
holder = torch.ones(3, requires_grad=True)
holder.grad = torch.ones(3)
holder.data = torch.ones(1)
sizes = []
def f():
    y = holder.detach() + 1
    sizes.append(tuple(holder.grad.shape))
    return y * 2, sizes
""")


class Plain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Writing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


@pytest.mark.parametrize("kind", [Plain, Writing])
@pytest.mark.parametrize("is_inside", [True, False])
def test_functions_on_tensors_of_inference_mode(kind, is_inside):
    def program(x):
        return kind.apply(x) + 1

    with torch.inference_mode():
        left, right = torch.arange(3.0), torch.arange(3.0)
    compiled = frontend.compile(program, backend="eager", fullgraph=kind is Plain)
    with torch.inference_mode(is_inside), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            if kind is Writing and not is_inside:  # torch writes, then refuses
                for function, x in ((program, left), (compiled, right)):
                    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
                        function(x)
            else:
                assert torch.equal(program(left), compiled(right))
            assert torch.equal(left, right)


def test_options_of_a_checkpoint_that_say_nothing_new():
    def f(x):
        options = {"determinism_check": "default", "debug": False, "early_stop": True}
        return torch.utils.checkpoint.checkpoint(torch.sin, x * 2, use_reentrant=False, **options)

    check(f, torch.ones(3, requires_grad=True), breaks=0)
