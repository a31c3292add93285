"""Optimizers that the compiled function makes, changes and reads, and averages of models: one graph, with the state that eager has."""

import pytest
from tests.end_to_end.support import check_source

MODEL = """
import torch, warnings
from torch import nn, optim
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
kept = []

def args():
    return (torch.randn(5, 4),)

def train(optimizer, x):
    optimizer.zero_grad()
    model(x).square().sum().backward()
    optimizer.step()

"""
PROGRAMS = {
    "made": "train(optim.SGD(model.parameters(), 0.1), x)",
    "its state is read": "o = optim.Adam(model.parameters(), 0.1)\ntrain(o, x)\nreturn o.state_dict()",
    "several steps": "o = optim.AdamW(model.parameters(), 0.1)\nfor _ in range(2): train(o, x)\nreturn o.state_dict(), o.param_groups",
    "steps that average": "o = optim.ASGD(model.parameters(), 0.1, t0=1)\nfor _ in range(3): train(o, x)\nreturn o.state_dict()",
    "made once": "if not kept: kept.append(optim.RAdam(model.parameters(), 0.1))\ntrain(kept[0], x)",
    "returned": "o = optim.SGD(model.parameters(), 0.1, momentum=0.9)\ntrain(o, x)\nreturn o.state, o.defaults, repr(o)",
    "with names": "o = optim.AdamW(model.named_parameters(), 0.1)\ntrain(o, x)\nreturn o.state_dict()",
    "groups": "o = optim.SGD([{'params': [model[0].weight]}, {'params': [model[2].weight], 'lr': 0.5}], 0.1)\ntrain(o, x)\nreturn o.param_groups",
    "a group is added": (
        "if not kept: kept.append(optim.SGD(model[0].parameters(), 0.1))\n"
        "elif len(kept[0].param_groups) == 1: kept[0].add_param_group({'params': list(model[2].parameters()), 'lr': 0.5})\n"
        "train(kept[0], x)\nreturn len(kept[0].param_groups)"
    ),
    "no parameters": "optim.SGD([], 0.1)",
    "a rate below zero": "optim.SGD(model.parameters(), -1)",
    "no leaf": "optim.SGD([model[0].weight * 2], 0.1)",
    "twice in two groups": "optim.SGD([{'params': [model[0].weight]}, {'params': [model[0].weight]}], 0.1)",
}
WARNING = {
    "shown": "optim.SGD([model[0].weight, model[0].weight], 0.1)",
    "recorded": (
        "with warnings.catch_warnings(record=True) as found:\n    warnings.simplefilter('always')\n"
        "    optim.SGD([model[0].weight, model[0].weight], 0.1)\n"
        "return [(str(one.message), one.filename, one.lineno) for one in found]"
    ),
}


def program(lines: str) -> str:
    return MODEL + "def f(x):\n    " + lines.replace("\n", "\n    ") + "\n"


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_optimizer_is_made_in_the_graph(name, backend):
    settings = {"backend": backend, "tolerance": 1e-5} if backend else {}
    check_source(program(PROGRAMS[name]), calls=4, backward=False, breaks=0, **settings)


@pytest.mark.parametrize("name", WARNING)
def test_parameters_given_twice_warn_as_in_eager(name):
    check_source(program(WARNING[name]), calls=2, backward=False)


AVERAGES = {
    "equal": (
        "",
        None,
    ),  # its function is decorated in the call, which breaks the graph with some versions of torch
    "exponential": (", multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.9)", 0),
    "by a function": (", avg_fn=optim.swa_utils.get_ema_avg_fn(0.9)", 0),
    "by weight": (", multi_avg_fn=optim.swa_utils.get_swa_multi_avg_fn()", 0),
    "with buffers": (", use_buffers=True", None),
}
CAPTURED = ("exponential", "by a function", "by weight")


@pytest.mark.parametrize(
    ("name", "backend"), [*((name, None) for name in AVERAGES), *((name, "aot_eager") for name in CAPTURED)]
)
def test_an_average_of_models_is_updated_in_the_graph(name, backend):
    how, breaks = AVERAGES[name]
    settings = {"backend": backend, "tolerance": 1e-5} if backend else {"breaks": breaks}
    source = MODEL + (
        "model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))\n"
        f"optimizer = optim.SGD(model.parameters(), 0.1)\naverage = optim.swa_utils.AveragedModel(model{how})\n"
        "def f(x):\n"
        "    train(optimizer, x)\n"
        "    average.update_parameters(model)\n"
        "    return average.n_averaged.clone(), [one.clone() for one in average.parameters()], [one.clone() for one in average.buffers()]\n"
    )
    check_source(source, calls=5, backward=False, **settings)


HOOKS = """
import torch
torch.manual_seed(0)
log = []

def pack(x):
    log.append(tuple(x.shape))
    return x * 2

def args():
    return (torch.randn(3, requires_grad=True),)

def f(x):
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x / 2):
        y = x.sin() * x
    return y.sum(), len(log)
"""


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_hooks_of_saved_tensors_see_what_the_operations_of_the_program_save(backend):
    check_source(HOOKS, **({"backend": backend} if backend else {}))
