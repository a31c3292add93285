"""Data parallel training of two processes: graphs in parts, which begin to reduce gradients before the backward pass is done."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from tests.end_to_end.bucket_programs import MODELS, layers
from torch.nn.parallel import DistributedDataParallel

from framesmith import frontend
from framesmith.graph.backends import parts

ROOT = Path(__file__).resolve().parents[2]
WHOLE = {"breaks_inside", "written_across", "failing", "turned"}
"""Models that have other graphs than one for each bucket."""


def run_processes(place, backend, names):
    """What the first process found."""
    command = [sys.executable, "-m", "tests.end_to_end.bucket_programs", str(place / "meet"), backend, *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the first process found of each model, with AOTAutograd."""
    return run_processes(tmp_path_factory.mktemp("processes"), "noting", MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_training_is_as_in_eager(told, name):
    found = told[name]
    for kind in ("inside", "outside"):
        for expected, values in zip(found["eager"], found[kind], strict=True):
            assert values == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in WHOLE])
def test_there_is_a_part_for_each_bucket(told, name):
    for kind in ("inside", "outside"):
        assert set(told[name][f"{kind} parts"]) == {told[name]["buckets"]}


@pytest.mark.parametrize("name", [one for one in MODELS if one != "turned"])
def test_buckets_are_reduced_while_others_are_computed(told, name):
    for kind in ("inside", "outside"):
        order = told[name][f"{kind} order"]
        assert order.index("R") < order.rindex("B")


def test_a_write_to_an_earlier_value_leaves_less_parts(told):
    found = told["written_across"]
    assert 1 < found["outside parts"][0] < found["buckets"]


def test_a_graph_that_turns_an_input_is_whole(told):
    assert told["turned"]["inside parts"] == told["turned"]["outside parts"] == []


def test_what_fails_behind_statistics_is_in_one_part_with_them(told):
    found = told["failing"]
    assert -1.0 in found["eager"][0] and 1 < found["outside parts"][0] < found["buckets"]


def test_a_graph_that_breaks_has_parts_on_both_sides(told):
    found = told["breaks_inside"]
    assert len(found["outside parts"]) == 2 and sum(found["outside parts"]) == found["buckets"]


def test_the_switch_leaves_the_graph_whole(told):
    order = told["layers"]["off order"]
    assert not told["layers"]["off parts"] and order.rindex("B") < order.index("R")
    assert told["layers"]["off"] == told["layers"]["outside"]


@pytest.mark.inductor
def test_inductor_compiles_the_parts(tmp_path):
    found = run_processes(tmp_path, "inductor", ["layers"])["layers"]
    assert found["inside parts"] == found["outside parts"] == [found["buckets"]]
    for expected, values in zip(found["eager"], found["outside"], strict=True):
        assert values == pytest.approx(expected, rel=1e-3, abs=1e-5)


def test_nothing_changes_for_one_process(monkeypatch):
    made = []
    monkeypatch.setattr(parts, "PartsCall", lambda *args: made.append(args))
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        inner = layers()
        wrapper = frontend.compile(DistributedDataParallel(inner, bucket_cap_mb=0.001), backend="aot_eager")
        wrapper(torch.ones(2, 16)).sum().backward()
    finally:
        dist.destroy_process_group()
    frontend.compile(layers(), backend="aot_eager")(torch.ones(2, 16)).sum().backward()
    assert not made
