"""`DTensor` of one and of two processes in a graph: operations on it, its methods, its layout, tensor parallel models."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.distributed_tensor_programs import PARALLEL, PLAIN, PROGRAMS

ROOT = Path(__file__).resolve().parents[2]
BACKENDS = ("eager", "aot_eager")
GRAPHS = {
    "other_placements": 3, "another_mesh": 3, "other_sizes": 3, "given_placements": 3, "other_sizes_of_parts": 2, "a_missing_attribute": 0,
}  # fmt: skip
"""Programs of another number of graphs than one: what is guarded differs between the calls, or no operation is recorded."""


@pytest.fixture(scope="module", params=[1, 2])
def told_by_backend(request, tmp_path_factory):
    """What the first of so many processes found with each backend."""
    place = tmp_path_factory.mktemp("processes") / "meet"
    module = "tests.end_to_end.distributed_tensor_programs"
    command = [sys.executable, "-m", module, str(place), str(request.param), *BACKENDS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_what_it_does_in_eager(told_by_backend, backend, name):
    differences, breaks, graphs = told_by_backend[backend][name]
    assert not differences
    assert bool(breaks) is (name not in PLAIN)
    assert breaks or graphs == GRAPHS.get(name, 1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PARALLEL)
def test_a_model_over_processes_trains_in_one_graph(told_by_backend, backend, name):
    eager, compiled, (model, step) = told_by_backend[backend][name]
    assert len(eager) == 20 and eager == pytest.approx(compiled, rel=1e-6)
    assert model == [0, 1] and step == [0, 2]  # the optimizer makes its state in the first step
