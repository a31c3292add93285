"""Training steps with closures, two optimizers, and schedulers of several kinds, against eager over five calls."""

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend

BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])
SETUP = """
import torch
from torch import nn, optim
from torch.optim import lr_scheduler as schedules
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
"""


def program(setup, *lines):
    body = "".join(f"    {line}\n" for line in lines)
    return f"{SETUP}{setup}\ndef args(): return (torch.randn(5, 4),)\ndef f(x):\n{body}"


CLOSURE = (
    "def closure():",
    "    o.zero_grad()",
    "    loss = model(x).square().sum()",
    "    loss.backward()",
    "    return loss",
    "return o.step(closure).detach()",
)
STEP = ("o.zero_grad()", "loss = model(x).square().sum()", "loss.backward()", "o.step()")


@BACKENDS
@pytest.mark.parametrize("kind", ["SGD", "Adam", "RMSprop"])
def test_a_step_with_a_closure_is_one_graph(kind, backend):
    check_source(
        program(f"o = optim.{kind}(model.parameters(), lr=0.01)", *CLOSURE),
        backend=backend,
        calls=5,
        breaks=0,
        backward=False,
        tolerance=1e-5,
        options={"fullgraph": True},
    )


@BACKENDS
@pytest.mark.parametrize("argument", ["fake.detach()", "fake"])
def test_a_step_with_two_optimizers_is_one_graph(argument, backend):
    lines = (
        "fake = model(x)",
        "d.zero_grad()",
        f"first = critic({argument}).mean() - critic(torch.ones(5, 3)).mean()",
        "first.backward(retain_graph=True)",
        "d.step()" if argument != "fake" else "g.zero_grad()",
        "g.zero_grad()",
        "second = -critic(fake).mean()",
        "second.backward()",
        "g.step()",
        *(["d.step()"] if argument == "fake" else []),
        "return first.detach(), second.detach()",
    )
    setup = "g, d = (optim.Adam(one.parameters(), 1e-3) for one in (model, critic))"
    options = {"fullgraph": True}
    check_source(
        program(setup, *lines),
        backend=backend,
        calls=5,
        breaks=0,
        backward=False,
        tolerance=1e-5,
        options=options,
    )


SCHEDULES = {
    "one after the other": "schedules.SequentialLR(o, [schedules.ConstantLR(o, 0.1, 2), schedules.ExponentialLR(o, 0.9)], milestones=[2])",
    "chained": "schedules.ChainedScheduler([schedules.ConstantLR(o, 0.1, 2), schedules.ExponentialLR(o, 0.9)])",
    "cosine": "schedules.CosineAnnealingLR(o, 5)",
    "one cycle": "schedules.OneCycleLR(o, 0.1, total_steps=10)",
    "cyclic": "schedules.CyclicLR(o, 0.01, 0.1, 2)",
}


@BACKENDS
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_step_with_a_schedule_is_one_graph(name, backend):
    setup = f"o = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)\ns = {SCHEDULES[name]}"
    check_source(
        program(setup, *STEP, "s.step()", "return loss.detach(), s.get_last_lr()"),
        backend=backend,
        calls=5,
        breaks=0,
        backward=False,
        tolerance=1e-5,
    )


@BACKENDS
def test_a_schedule_of_losses_reads_the_loss_natively(backend):
    """`ReduceLROnPlateau` makes a float of the loss, for which no graph keeps a tensor."""
    setup = "o = optim.SGD(model.parameters(), lr=0.1)\ns = schedules.ReduceLROnPlateau(o, patience=1)"
    lines = (*STEP, "s.step(loss.detach())", "return loss.detach(), s.get_last_lr(), s.best")
    report = check_source(program(setup, *lines), backend=backend, calls=5, backward=False, tolerance=1e-5)
    assert [one.split(":")[0] for one in report.breaks] == ["tensor-item"]


@BACKENDS
@pytest.mark.parametrize("search", ["None", "'strong_wolfe'"])
def test_lbfgs_runs_natively_as_a_whole(search, backend):
    """It decides by the loss how often the closure runs: one break, which names it."""
    lines = ("before = x.mean()", *CLOSURE[:-1], "loss = o.step(closure)", "return loss.detach() + before")
    found = check_source(
        program(f"o = optim.LBFGS(model.parameters(), lr=0.1, max_iter=4, line_search_fn={search})", *lines),
        backend=backend,
        calls=5,
        backward=False,
        breaks=1,
    )
    assert found.breaks[0].startswith("deciding-optimizer")


def test_lbfgs_is_refused_by_name_where_one_graph_is_asked_for():
    parameter = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.LBFGS([parameter])
    step = frontend.compile(lambda: optimizer.step(lambda: parameter.square().sum()), fullgraph=True)
    with pytest.raises(
        frontend.FullGraphError, match=r"(?s)torch\.optim\.LBFGS\.step.*outside of compiled code"
    ):
        step()
