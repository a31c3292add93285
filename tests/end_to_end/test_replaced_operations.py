"""Operations of torch that the program replaces, calling the former ones: each is run once."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests.end_to_end.support import check_source

ROOT = Path(__file__).parents[2]
PROGRAM = """
import torch
import torch.nn.functional as F
from unittest import mock

original = {name}

def doubled(*args, **kwargs):
    return original(*args, **kwargs) * 2

def compute(x):
    return {name}(x) + original(x)

def inside(x):
    with mock.patch({name!r}, doubled):
        y = compute(x)
        print("break")
        z = compute(x)
    return y, z, compute(x)

def stored_back(x):
    {name} = doubled
    print("break")
    {name} = original
    return compute(x)

def without_break(x):
    {name} = doubled
    try:
        return compute(x)
    finally:
        {name} = original

def patched(x):
    with mock.patch({name!r}, lambda *args: original(*args) + 100):
        return compute(x)

def around(x, state):
    state.append(x)
    if len(state) % 2:
        return compute(x)
    with mock.patch({name!r}, doubled):
        return compute(x)

def f(x, state):
    return {body}

def args():
    return torch.tensor([-1.0, 2.0]), []
"""
NAMES = [
    "torch.relu",
    "torch.sin",
    "torch.nn.functional.relu",
    "torch.nn.functional.elu",
    "torch.nn.functional.gelu",
    "torch.Tensor.sin",
    "torch.special.expit",
]
BODIES = ["inside(x)", "stored_back(x)", "without_break(x)", "patched(x)", "around(x, state)"]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", NAMES)
def test_an_operation_that_calls_the_former_one(name, body, backend):
    check_source(PROGRAM.format(name=name, body=body), calls=4, backend=backend)


CALLS = """
import torch
from framesmith import frontend

original = {name}

def doubled(*args, **kwargs):
    return original(*args, **kwargs) * 2

def inner(x):
    return {name}(x) + original(x)

COMPILED = frontend.compile(inner, backend="eager") if {compiles} else inner

def f(x):
    found = [COMPILED(x)]
    {name} = doubled
    try:
        found.append(COMPILED(x))
    finally:
        {name} = original
    return [one.tolist() for one in [*found, COMPILED(x)]]
"""


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_that_is_replaced_between_calls(name):
    results = []
    for compiles in (False, True):
        space = {"__name__": "replaced"}
        exec(CALLS.format(name=name, compiles=compiles), space)
        results.append([space["f"](torch.tensor([-1.0, 2.0])) for _ in range(2)])
    assert results[0] == results[1]


ALIASES = """
import torch
import torch.nn.functional as F
from framesmith import frontend

original = {name}

def replacement(*args, **kwargs):
    return original(*args, **kwargs) * 2

def inner(x):
    return original(x{more})

COMPILED = frontend.compile(inner, backend={backend!r}) if {compiles} else inner
HOLDER, _, LAST = {name!r}.rpartition(".")
INHERITED = LAST not in vars(eval(HOLDER))

def f(x):
    found = [COMPILED(x)]
    {name} = replacement
    try:
        found += [COMPILED(x), COMPILED(x)]
    finally:
        if INHERITED:
            del {name}
        else:
            {name} = original
    return [one.tolist() for one in [*found, COMPILED(x)]]
"""
METHODS = {
    **dict.fromkeys(NAMES, ""),
    "torch.Tensor.__add__": ", 1",
    "torch.Tensor.__rsub__": ", 1",
    "torch.Tensor.__lt__": ", 1",
    "torch.Tensor.__neg__": "",
    "torch.Tensor.sum": "",
}


def run_aliases(name, more, backend):
    """What the eager and the compiled program give."""
    results = []
    for compiles in (False, True):
        space = {"__name__": "aliases"}
        exec(ALIASES.format(name=name, more=more, compiles=compiles, backend=backend), space)
        results.append([space["f"](torch.tensor([-1.0, 2.0])) for _ in range(2)])
    return results


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", METHODS)
def test_another_name_of_an_operation_that_is_replaced(name, backend):
    """The graph looks up methods by name; the program that calls one by a name of its own asks no class for it."""
    eager, compiled = run_aliases(name, METHODS[name], backend)
    assert eager == compiled


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_another_name_of_indexing(backend):
    """In a process of its own: CPython gives a class that ever had a `__getitem__` the slot of a sequence, and torch.tensor reads
    tensors as sequences then."""
    program = f"""
from tests.end_to_end.test_replaced_operations import run_aliases
eager, compiled = run_aliases("torch.Tensor.__getitem__", ", 0", {backend!r})
assert eager == compiled, (eager, compiled)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]


SPECIAL = """
import torch

original = torch.Tensor.{name}

def f(x):
    torch.Tensor.{name} = {replacement}
    try:
        return {read}, x + 1
    finally:
        {restore}

def args():
    return (torch.tensor([-1.0, 2.0]),)
"""


@pytest.mark.parametrize(
    ("name", "replacement", "read", "restore"),
    [
        ("__len__", "lambda self: 77", "len(x), original(x)", "torch.Tensor.__len__ = original"),
        ("dim", "lambda self: 9", "x.dim(), original(x)", "del torch.Tensor.dim"),
        ("sum", "property(lambda self: 9)", "x.sum", "del torch.Tensor.sum"),
    ],
)
def test_what_tensors_are_asked_for(name, replacement, read, restore):
    check_source(SPECIAL.format(name=name, replacement=replacement, read=read, restore=restore), calls=3)
