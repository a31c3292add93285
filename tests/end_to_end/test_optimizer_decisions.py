"""Optimizers that decide on a number they read from a tensor: one graph for each step, decided by guards, and rounded as in eager."""

import pytest
import torch
from tests.end_to_end.support import check_source
from torch import nn, optim
from torch.optim.optimizer import _get_value

from framesmith import frontend

STEP = """
import torch
from torch import optim
torch.manual_seed(0)
shapes = [(), (1,), (7,), (3, 5), (2, 3, 4)]
weights = [torch.randn(shape, dtype=torch.{dtype}, requires_grad=True) for shape in shapes]
optimizer = optim.{optimizer}
{more}

def f(xs):
    optimizer.zero_grad()
    sum((w * x).sin().sum() for w, x in zip(weights, xs)).backward()
    optimizer.step()
    return [w.detach().clone() for w in weights]

def args():
    return [[torch.randn(shape, dtype=torch.{dtype}) for shape in shapes]]
"""
GROUPS = "[{'params': weights[:2]}, {'params': weights[2:], 'lr': 0.02, 'weight_decay': 0.1}]"
DECIDING = {
    "RAdam(weights, 0.01)": 3,
    "RAdam(weights, 0.01, weight_decay=0.1, decoupled_weight_decay=True, foreach=True)": 3,
    "RAdam(weights, torch.tensor(0.01), maximize=True)": 3,
    f"RAdam({GROUPS}, 0.01, foreach=False)": 3,
    "ASGD(weights, 0.01)": 2,
    "ASGD(weights, 0.01, t0=3.0, foreach=True)": 3,  # an average begins
    "ASGD(weights, 0.01, t0=3.0, foreach=False)": 4,  # and the next step sees that it has begun
    f"ASGD({GROUPS}, 0.01, maximize=True)": 2,
    "Adafactor(weights, 0.05, eps=(1e-6, 1e-3), d=2.0)": 2,
    f"Adafactor({GROUPS}, 0.05, foreach=True)": 2,
}


@pytest.mark.parametrize("optimizer", DECIDING)
def test_twenty_steps_take_one_graph_each(optimizer):
    source = STEP.format(dtype="float32", optimizer=optimizer, more="")
    report = check_source(source, calls=20, backward=False, breaks=0, graphs=DECIDING[optimizer])
    assert report.runs_per_call == [1] * 20


@pytest.mark.parametrize("name", ["RAdam", "ASGD", "Adafactor", "NAdam", "Adagrad", "Adam", "Rprop"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
@pytest.mark.parametrize("foreach", [True, False])
def test_parameters_of_other_types_round_as_in_eager(name, dtype, foreach):
    """Kernels for narrow types round a number once more that is a tensor."""
    optimizer = f"{name}(weights, 0.01, foreach={foreach}, maximize=True)"
    check_source(STEP.format(dtype=dtype, optimizer=optimizer, more=""), calls=8, backward=False, breaks=0)


@pytest.mark.parametrize("name", ["RAdam", "ASGD", "Adafactor"])
def test_a_backend_that_traces_again_captures_the_steps_too(name):
    source = STEP.format(dtype="float32", optimizer=f"{name}(weights, 0.01)", more="")
    check_source(source, calls=9, backward=False, breaks=0, backend="aot_eager", tolerance=1e-6)


@pytest.mark.parametrize(
    "scheduler",
    ["CosineAnnealingLR(optimizer, 10)", "OneCycleLR(optimizer, 0.1, total_steps=30, cycle_momentum=False)"],
)
@pytest.mark.parametrize("name", ["RAdam", "ASGD", "Adafactor"])
def test_a_rate_that_a_scheduler_changes(name, scheduler):
    more = f"scheduler = optim.lr_scheduler.{scheduler}"
    source = STEP.format(dtype="float32", optimizer=f"{name}(weights, 0.01)", more=more)
    source = source.replace(
        "optimizer.step()", "optimizer.step(); torch._dynamo.graph_break(); scheduler.step()"
    )
    check_source(source, calls=12, backward=False)


def test_state_that_is_loaded_decides_anew():
    """The number of steps goes back: the decision of the first steps holds again."""
    torch.manual_seed(0)
    first, second = nn.Linear(3, 2), nn.Linear(3, 2)
    second.load_state_dict(first.state_dict())
    makers = [optim.RAdam(one.parameters(), 0.1) for one in (first, second)]

    def step(model, optimizer, x):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()

    compiled, saved = frontend.compile(step, backend="eager"), []
    for number in range(14):
        x = torch.randn(4, 3)
        step(first, makers[0], x)
        compiled(second, makers[1], x)
        if number == 2:
            saved = [one.state_dict() for one in makers]
            saved = [
                {**one, "state": {k: {n: t.clone() for n, t in v.items()} for k, v in one["state"].items()}}
                for one in saved
            ]
        if number == 9:
            for one, state in zip(makers, saved):
                one.load_state_dict(state)
        assert all(map(torch.equal, first.parameters(), second.parameters()))


NUMBERS = {
    "written before": "step.add_(1); other.zero_()",
    "set": "step.fill_(7)",
    "added twice": "step.add_(1); step += 2",
    "added to a view": "step.view(1)[0:1].add_(3)",
    "added by a tensor": "step.add_(torch.tensor(1.0))",
    "scaled": "step.add_(1, alpha=2)",
    "multiplied": "step.mul_(2)",
    "new": "step = torch.tensor(2.0); step += 4",
    "copied": "step = step.clone(); step.add_(1)",
    "copied, then the old one changed": "old = step; step = step.clone(); old.add_(5)",
    "of an alias": "alias.add_(4)",
    "in a list": "torch._foreach_add_([step, other], 1)",
}


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_decided_is_what_the_tensor_holds(name):
    check_source(
        "import torch\nfrom torch.optim.optimizer import _get_value\n"
        "step, other = torch.tensor(1.0), torch.tensor(2.0)\n"
        "alias = step.view(1)\n"
        "calls = [0]\n"
        "def f(x, step, alias, other):\n"
        f"    {NUMBERS[name]}\n"
        "    n = _get_value(step)\n"
        "    return x * n if 2 * n > 9.5 else x + n\n"
        "def args(): return torch.ones(2), step, alias, other\n",
        calls=6,
        backward=False,
    )


SHARING = {
    "at first": (True, True, True),
    "later": (False, True, False),
    "no longer": (True, False, True),
    "once more": (False, False, True, True, False),
}


def decide_on_a_number(written, asked, y):
    written.add_(1)
    return y * 2 if _get_value(asked) > 0.5 else y * 3


def decide_on_a_tensor(written, asked, y):
    written.add_(1)
    return y * 2 if asked > 0 else y * 3


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("captures", [True, False])
@pytest.mark.parametrize(
    ("function", "dtype"), [(decide_on_a_number, torch.float32), (decide_on_a_tensor, torch.int64)]
)
@pytest.mark.parametrize("name", SHARING)
def test_what_was_decided_on_is_in_no_memory_that_was_written_before(
    name, function, dtype, captures, backend
):
    with frontend.config.patch(capture_scalar_outputs=captures):
        compiled = frontend.compile(function, backend=backend)
        for shares in SHARING[name]:
            written, asked = torch.zeros(2, dtype=dtype), torch.zeros(2, dtype=dtype)
            found = compiled(written, (written if shares else asked)[0], torch.ones(2))
            assert torch.equal(found, torch.full((2,), 2.0 if shares else 3.0))
