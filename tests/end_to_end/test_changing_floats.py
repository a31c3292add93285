"""Floats that change from call to call, for backends that replace operations: one more graph, and the result of the number."""

import math

import pytest
import torch
from tests.end_to_end.support import check
from torch import nn
from torch.optim import lr_scheduler

from framesmith import frontend
from framesmith.graph.backends.backend import aot_eager
from framesmith.graph.replacing_backends import note_replacing

VALUES = [0.1, 1 / 3, -0.7, 2.0, 0.0, -0.0, math.inf, math.nan, 1e-30, 70000.0]
TYPES = ["float32", "float64", "bfloat16", "float16", "complex64", "int64", "int8", "bool"]
OPERATORS = ["x + v", "v + x", "x - v", "v - x", "x * v", "v * x", "x / v", "v / x", "x == v", "x != v"]
ORDERED = ["x // v", "v // x", "x % v", "v % x", "x < v", "v < x", "x >= v", "v ** x.abs()"]


def tensor_of(kind, shape):
    values = torch.randn(shape, generator=torch.Generator().manual_seed(0)) * 3
    return values > 0 if kind == "bool" else values.to(getattr(torch, kind))


def advance(x, box):
    box["v"] = VALUES[(box["at"] + 1) % len(VALUES)]
    box["at"] += 1


def run(expression, x, *, calls=len(VALUES), tolerance=0.0, most=1, backend="aot_eager"):
    """Compare over all values; with at most so many entries beyond the first."""
    function = eval(f"lambda x, box: (lambda v: ({expression}))(box['v'])", {"torch": torch, "math": math})
    box = {"v": VALUES[0], "at": 0}
    report = check(function, x, box, calls=calls, change=advance, backend=backend, tolerance=tolerance)
    assert len(report.recompiles) <= most, report.recompiles
    return report


@pytest.mark.parametrize("shape", [(), (5,)])
@pytest.mark.parametrize("kind", TYPES)
def test_operators_give_the_bits_and_the_type_of_the_number(kind, shape):
    expressions = OPERATORS if kind == "complex64" else OPERATORS + ORDERED
    if kind == "bool":
        expressions = [one for one in expressions if "-" not in one]  # torch subtracts no bools
    fixed = kind in ("float16", "bfloat16") and not shape
    run(", ".join(expressions), tensor_of(kind, shape), most=len(VALUES) if fixed else 1)


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(
    "expression",
    [
        "x.mul(v)", "torch.add(x, v)", "x.add(x, alpha=v)", "torch.sub(x, x.cos(), alpha=v)", "torch.where(x > 0, x, v)",
        "torch.where(x > 0, v, x)", "x.clone().mul_(v).add_(v)", "x.fmod(v)", "x.div(v, rounding_mode='floor')", "x.gt(v)",
        "x.addcmul(x, x.cos(), value=v)", "x.clone().addcdiv_(x, x.cos(), value=v)", "x.masked_fill(x > 0, v)",
        "x.clone().fill_(v)", "torch.lerp(x, x.cos(), v)", "x.clone().lerp_(x.cos(), v)", "x * torch.tensor(v)",
    ],
)  # fmt: skip
def test_a_function_gives_the_bits_of_the_number(expression, kind):
    by_type = ("alpha=", "value=", "lerp", "fill", "torch.tensor")
    fixed = kind == "bfloat16" and any(word in expression for word in by_type)
    run(expression, tensor_of(kind, (7,)), most=len(VALUES) if fixed else 1)


@pytest.mark.parametrize("expression", ["x.abs() ** v", "x.abs().pow(v)", "x.abs().clone().pow_(v)"])
def test_an_exponent_is_fixed_to_each_value(expression):
    run(expression, tensor_of("float64", (7,)), most=len(VALUES))


@pytest.mark.parametrize("end", ["", "_"])
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("add", "ys, alpha=v"), ("add", "v"), ("mul", "v"), ("div", "v"), ("sub", "v"), ("sub", "ys, alpha=v"), ("lerp", "ys, v"),
        ("addcmul", "ys, xs, value=v"), ("addcdiv", "ys, ys, v"),
    ],
)  # fmt: skip
def test_lists_of_tensors(name, arguments, kind, end):
    body = f"(lambda xs, ys: (torch._foreach_{name}{end}(xs, {arguments}), xs))([x.clone(), x[:2] + 1, x[0] * 2], [x.cos(), x[:2], x[1]])"
    run(body, tensor_of(kind, (5,)))


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize(
    "call",
    [
        "mul_(xs, 2.0)",
        "addcdiv_(xs, xs, xs, [2.0, 3.0])",
        "zero_(xs)",
        "copy_(xs, ys)",
        "sqrt_(self=xs)",
        "sqrt_((*xs,))",
    ],
)
def test_an_operation_in_place_returns_its_list(call, backend):
    def f(xs, ys):
        return function(xs, ys), xs

    function = eval(f"lambda xs, ys: torch._foreach_{call}", {"torch": torch})
    check(f, [torch.ones(2), torch.ones(3)], [torch.zeros(2), torch.ones(3)], backend=backend)


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.inductor)])
def test_gradients_of_what_is_scaled(backend):
    x = torch.randn(5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    run("(x * v).sin() / (v + 2.5) + x ** 2 * v", x, calls=4, tolerance=1e-5, backend=backend)


def test_python_computes_with_the_float_as_it_is():
    report = run(
        "(x * (v * 2 + 1), v + 1e16 - 1e16, v * 0, v, -v, v if v > 0.2 else 7)", torch.ones(3), most=3
    )
    assert not report.breaks


def test_the_number_is_that_before_the_call():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = 0.5

        def forward(self, x):
            before = self.scale
            self.scale = self.scale * 0.7
            return x * before + self.scale, before, self.scale

    report = check(Scale(), torch.ones(3), calls=6, change=None, backend="aot_eager")
    assert len(report.recompiles) == 1
    assert not report.breaks


@pytest.mark.parametrize(
    "expression",
    ["min(1.0, v)", "max(v, 0.0)", "max(0.0, v, 0.5)", "min([v, v * 2])", "max(min(v, 1.0), -1.0)"],
)
def test_the_least_and_largest_float_is_no_decision(expression):
    run(f"(x * ({expression}), {expression})", tensor_of("float64", (3,)))


def test_the_least_of_an_int_and_a_float_has_the_type_of_its_operand():
    run("(x * min(1, v), min(1, v))", tensor_of("float64", (3,)), most=3)


def test_the_least_float_is_one_of_the_operands():
    run("(x * v, min(1.0, v) is v, max(v, -math.inf) is v)", tensor_of("float64", (3,)), most=len(VALUES))


def test_an_operation_that_takes_no_tensor_gets_each_number():
    report = run("torch.full((2,), v) + x", torch.ones(2), calls=5, most=5)
    assert report.recompiles


def test_the_type_follows_the_default_type():
    def f(x, box):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            return x * box["v"]
        finally:
            torch.set_default_dtype(before)

    check(f, torch.arange(3), {"v": 0.3, "at": 0}, calls=4, change=advance, backend="aot_eager")


def test_autocast_gives_the_type_that_the_number_gives():
    def f(x, box):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x
            return y * box["v"], y + box["v"], y.addcmul(y, y, value=box["v"])

    check(f, torch.randn(3, 3), {"v": 0.3, "at": 0}, calls=4, change=advance, backend="aot_eager")


def test_inference_mode_and_function_modes_around_the_call():
    class Counts(torch.overrides.TorchFunctionMode):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.calls += 1
            return func(*args, **(kwargs or {}))

    compiled = frontend.compile(lambda x, v: x * v, backend="aot_eager")
    with torch.inference_mode():
        assert [compiled(torch.ones(1), v).item() for v in (0.5, 0.25, 2.0)] == [0.5, 0.25, 2.0]
    x = torch.ones(1)
    for v in (0.5, 0.25, 2.0):
        with Counts() as counts:
            result = compiled(x, v)
        assert counts.calls == 1
        assert result.item() == v


SCHEDULES = {
    "StepLR": lambda optimizer: lr_scheduler.StepLR(optimizer, 2, 0.7),
    "CosineAnnealingLR": lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, 20),
    "OneCycleLR": lambda optimizer: lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=40),
    "LambdaLR": lambda optimizer: lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.95**epoch),
}
OPTIMIZERS = {
    "SGD": {"momentum": 0.9, "weight_decay": 0.01},
    "Adam": {"weight_decay": 0.01},
    "AdamW": {"amsgrad": True},
    "NAdam": {},
    "RMSprop": {"momentum": 0.5},
    "Adagrad": {},
}


def train(optimizer, schedule, wrap, **settings):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    made = getattr(torch.optim, optimizer)(model.parameters(), lr=0.05, **settings)
    scheduler = SCHEDULES[schedule](made)
    x = torch.randn(5, 3)

    def step(x):
        loss = model(x).square().mean()
        made.zero_grad()
        loss.backward()
        made.step()
        return loss

    step = wrap(step)
    losses = []
    for _ in range(12):
        losses.append(step(x).detach())
        scheduler.step()
    return losses, [weight.detach() for weight in model.parameters()]


class Counting:
    """`aot_eager`, counted; known to replace operations."""

    def __init__(self):
        self.graphs = 0
        note_replacing(self)

    def __call__(self, module, examples):
        self.graphs += 1
        return aot_eager(module, examples)


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_schedule_of_the_rate_takes_three_graphs(optimizer, schedule, foreach):
    if schedule == "OneCycleLR" and optimizer in ("RMSprop", "Adagrad", "NAdam"):
        schedule = (
            "CosineAnnealingLR"  # OneCycleLR changes the momentum, which these do not have or do not take
        )
    settings = {"foreach": foreach, **OPTIMIZERS[optimizer]}
    backend = Counting()
    expected = train(optimizer, schedule, lambda step: step, **settings)
    found = train(optimizer, schedule, lambda step: frontend.compile(step, backend=backend), **settings)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)
    assert backend.graphs <= 3, backend.graphs


@pytest.mark.inductor
@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_a_schedule_of_the_rate_with_inductor(optimizer):
    expected = train(optimizer, "CosineAnnealingLR", lambda step: step)
    found = train(optimizer, "CosineAnnealingLR", lambda step: frontend.compile(step, backend="inductor"))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
