"""The programs that the pages of graph breaks show do what the pages say."""

import copy
import runpy

import pytest
import torch
from tools import pages

from framesmith import frontend

EXAMPLES = {kind.id: pages.example_of(kind) for kind in pages.kinds() if kind.id not in pages.UNREACHED}


@pytest.fixture(params=EXAMPLES)
def example(request):
    made = runpy.run_path(str(EXAMPLES[request.param]), run_name="example")
    with frontend.config.patch(**made.get("OPTIONS", {})):
        yield request.param, made["program"], made["ARGUMENTS"], made.get("BACKEND", "eager")


def fresh(argument):
    """The argument without what an earlier call left in it; subclasses cannot always be copied."""
    return copy.deepcopy(argument) if type(argument) is torch.Tensor else argument


def test_an_example_breaks_and_gives_what_eager_gives(example):
    kind, program, arguments, backend = example
    compiled = frontend.compile(program, backend=backend)
    calls = [compiled, compiled, program]  # eager last: a module is imported once
    results = [repr(function(*map(fresh, arguments))) for function in calls]
    assert results == results[-1:] * 3
    assert kind in {record.kind for record in frontend.explain(compiled)().breaks}


def test_there_is_an_example_for_each_kind_and_none_besides():
    assert {path.stem for path in pages.EXAMPLES.glob("*.py")} == {
        pages.example_of(kind).stem for kind in pages.kinds()
    }
