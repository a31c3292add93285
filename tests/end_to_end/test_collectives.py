"""Collectives of two processes in a graph, and what breaks it there; data parallel training both ways round."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from tests.end_to_end.collective_programs import PLAIN, PROGRAMS

from framesmith import frontend

ROOT = Path(__file__).resolve().parents[2]


BACKENDS = ("eager", "aot_eager")


@pytest.fixture(scope="module")
def told_by_backend(tmp_path_factory):
    """What the first process found with each backend."""
    place = tmp_path_factory.mktemp("processes") / "meet"
    command = [sys.executable, "-m", "tests.end_to_end.collective_programs", str(place), *BACKENDS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(params=BACKENDS)
def backend(request):
    """The name of one backend."""
    return request.param


@pytest.fixture
def told(backend, told_by_backend):
    """What the first process found with one backend."""
    return told_by_backend[backend]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_collective_is_as_in_eager(told, backend, name):
    is_same, breaks = told[name]
    assert is_same
    # a graph may change `requires_grad` of an argument where it runs as it was captured
    assert bool(breaks) is (name not in PLAIN and (backend, name) != ("eager", "with_a_gradient"))


def test_a_graph_that_fails_in_one_process_makes_no_collective_twice(told):
    assert told["fails"] == ["IndexError", 2.0]


def test_a_function_with_collectives_makes_them_in_both_passes(told):
    eager, compiled = told["function"]
    assert eager == compiled


def test_a_group_is_asked_again_once_it_is_destroyed(told):
    eager, compiled = told["destroyed"]
    assert eager == compiled


def test_a_sharded_model_trains_as_in_eager(told):
    eager, compiled = told["fully sharded"]
    assert eager == pytest.approx(compiled, rel=1e-6)


def test_sharded_blocks_train_as_in_eager(told):
    eager, compiled = told["sharded blocks"]
    assert len(eager) == 20 and eager == pytest.approx(compiled, rel=1e-6)


def test_data_parallel_training_both_ways_round(told):
    eager, inside, outside, (breaks,) = told["data parallel"]
    assert eager == pytest.approx(inside, rel=1e-6) and eager == pytest.approx(outside, rel=1e-6)
    assert breaks == 2  # what the reducer does before and after the module


def test_a_question_without_a_process_group_raises_as_in_eager(recwarn):
    compiled, told = frontend.compile(lambda x: x + dist.get_rank(), backend="eager"), []
    for called in (compiled, lambda x: x + dist.get_rank()):
        with pytest.raises(ValueError) as caught:
            called(torch.ones(2))
        told.append(str(caught.value))
    assert told[0] == told[1] and not recwarn.list
