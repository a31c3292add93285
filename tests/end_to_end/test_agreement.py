"""Two processes that see other sizes make one graph, and none waits for ever: `config.enable_compiler_collectives`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STATIC, ROWS = "[('int', 'int')]", "[('SymInt', 'int')]"


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What each process found in each scene."""
    place = tmp_path_factory.mktemp("processes") / "meet"
    command = [sys.executable, "-m", "tests.end_to_end.agreement_programs", str(place)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-3000:]
    first, second = json.loads(done.stdout.splitlines()[-1])
    return {name: (first[name], second[name]) for name in first}


@pytest.mark.parametrize(
    ("scene", "graphs"),
    [
        ("the_same_rows", [STATIC]),
        ("sizes_that_change_in_one_process", [STATIC, ROWS]),
        ("behind_a_break", [ROWS, ROWS]),
        ("agrees_again_afterwards", [ROWS]),
        ("with_static_sizes", [STATIC]),
        ("turned_off", [STATIC]),
    ],
)
def test_both_processes_make_the_same_graphs(told, scene, graphs):
    assert told[scene] == (graphs, graphs)


def test_other_sizes_in_the_first_call_give_one_dynamic_graph(told):
    expected = [
        [
            (count * width * (count * width - 1) + 15 * count * width)
            for count, width in ((rows, 3), (later, 3))
        ]
        for rows, later in ((4, 7), (6, 8))
    ]
    for (results, graphs), sums in zip(told["other_rows_in_the_first_call"], expected, strict=True):
        assert results == sums and graphs == ["[('SymInt', 'int'), ('int', 'int')]"]


def test_sizes_zero_and_one_stay_numbers(told):
    for rank, (shapes, graphs) in enumerate(told["sizes_zero_and_one"]):
        assert shapes == [[rank, 3], [5 + rank, 3]] and graphs == 2


def test_tensors_of_another_rank_have_graphs_of_their_own(told):
    assert told["tensors_of_another_rank"] == (["[('int',)]"], [STATIC])


def test_a_process_that_does_not_compile_is_named_in_time(told):
    (text, missing), seconds = told["one_does_not_compile"][0]
    assert missing == [1] and 1 <= seconds < 10
    assert "rank 0 of 2 compiles alone (" in text and "agreement_programs.py" in text
    assert "rank 1 does not: waited 1 second" in text and "next step" in text
