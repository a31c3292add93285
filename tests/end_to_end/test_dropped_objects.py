"""What the user drops dies at once, without the collector; modules and processes keep to themselves."""

import gc
import linecache
import subprocess
import sys

import pytest
import torch
from tests.end_to_end.dropped import KINDS

from framesmith import frontend

X = torch.ones(3)


def compile(function, backend="eager", **options):
    return frontend.compile(function, backend=backend, **options)


@pytest.fixture
def no_collector():
    """torch itself leaves rings behind when it loads its parts, and logs exceptions whose tracebacks hold the caller's
    frames (the profiler, which the first step of an optimizer loads): they are loaded before."""
    compile(lambda x: x + 1)(X)
    torch.optim.SGD([torch.ones(1, requires_grad=True)]).step()
    gc.collect()
    gc.freeze()  # or each of these tests goes through all that was there before
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("calls", [1, 2, 3])
@pytest.mark.parametrize("program", KINDS, ids=lambda program: program.__name__)
def test_it_dies_when_it_is_dropped(program, calls, no_collector):
    kept, references = program(compile, calls)
    assert references
    assert [type(one()) for one in references if one() is not None] == []
    del kept


def cycle():
    def f(x):
        return x * 2 + 1

    compile(f)(X)


def test_texts_of_graphs_are_forgotten_with_them():
    cycle()
    gc.collect()
    before = len(linecache.cache)
    for _ in range(20):
        cycle()
    gc.collect()
    assert len(linecache.cache) <= before + 2


def test_importing_loads_no_compiler_and_no_command_line():
    program = (
        "import sys, framesmith.frontend\n"
        "print([name for name in ('torch._dynamo', 'torch._inductor', 'typer', 'rich', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
