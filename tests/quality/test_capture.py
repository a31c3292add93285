"""Graphs, breaks, operators and recompiles of fixed programs, so that a loss of quality fails.

`FRAMESMITH_UPDATE=1 pytest tests/quality` writes the numbers anew; the change then shows in the diff.
"""

import json
import os
from pathlib import Path

import pytest
import torch
from tests.quality.programs import programs

from framesmith import frontend
from framesmith.frontend.demo import models

GOLDEN = Path(__file__).with_name("captured.json")
UPDATE = os.environ.get("FRAMESMITH_UPDATE") == "1"


def captured(function, arguments, calls: int = 3) -> dict[str, int]:
    """What some calls with the same arguments led to."""
    compiled = frontend.compile(function, backend="eager")
    for _ in range(calls):
        compiled(*arguments)
    report = frontend.explain(compiled)()
    return {
        "graphs": report.graph_count,
        "breaks": report.break_count,
        "operators": report.operators,
        "recompiles": len(report.recompiles),
    }


@pytest.mark.parametrize("name", programs())
def test_a_program_is_captured_as_well_as_before(name: str) -> None:
    function, arguments = programs()[name]
    found = captured(function, arguments)
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    if UPDATE:
        GOLDEN.write_text(json.dumps({**golden, name: found}, indent=2, sort_keys=True) + "\n")
        return
    assert found == golden[name]


@pytest.mark.parametrize("name", models.ARCHITECTURES)
def test_a_model_is_one_graph_without_a_break(name: str) -> None:
    models.require()
    architecture = models.ARCHITECTURES[name]
    torch.manual_seed(0)
    model, inputs = architecture.build(), architecture.inputs()
    found = captured(lambda given: model(**given), (inputs,), calls=2)
    assert (found["graphs"], found["breaks"], found["recompiles"]) == (1, 0, 0)
