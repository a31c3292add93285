"""Each topic of the logs is written when what it names happens."""

import logging
import subprocess
import sys

import pytest
import torch

from framesmith import frontend
from framesmith.frontend import events


def program(x, log, n):
    log.append(n)
    y = x * n
    frontend.graph_break()
    return y + x.shape[0]


def said(caplog, topic: str) -> str:
    caplog.set_level(logging.INFO, logger=f"framesmith.{topic}")
    compiled = frontend.compile(program, backend="eager")
    for number in (2, 3):
        compiled(torch.ones(number + 1), [], number)
    return "\n".join(record.getMessage() for record in caplog.records if record.name == f"framesmith.{topic}")


EXPECTED = {
    "graph_breaks": ["in program: graph_break() was called"],
    "recompiles": ["program: x: size of dimension 0 changed from 3 to 4 (read at "],
    "dynamic": [
        "program: the size of dimension 0 of x is symbolic from now on",
    ],
    "side_effects": ["program: log (list) is changed after the graph at ", "test_log_topics.py:"],
    "guards": ["x: Tensor [3] torch.float32 on cpu (read at ", "test_log_topics.py:15 in program)"],
    "graph": ["def forward(self, ", " * "],
    "code": ["def program("],
}


def test_all_topics_are_known() -> None:
    assert set(EXPECTED) == set(events.TOPICS)


@pytest.mark.parametrize("topic", EXPECTED)
def test_a_topic_is_written(topic, caplog) -> None:
    text = said(caplog, topic)
    for part in EXPECTED[topic]:
        assert part in text


def test_the_readme_names_the_topics() -> None:
    from pathlib import Path

    text = (Path(__file__).parents[2] / "README.md").read_text()
    assert all(f"`{topic}`" in text for topic in events.TOPICS)


PROGRAM = """
import logging
import sys
import torch
{before}
from framesmith import frontend

def f(x):
    print("shown")
    return x + 1

compiled = frontend.compile(f, backend="eager")
for size in (2, 3):
    compiled(torch.ones(size))
logging.getLogger("program").info("of the program")
"""


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("logging.basicConfig(level=logging.INFO)", set()),
        (
            "logging.basicConfig(level=logging.INFO); logging.getLogger('framesmith.recompiles').setLevel(20)",
            {"recompiles"},
        ),
        (
            "logging.basicConfig(level=logging.INFO); logging.getLogger('framesmith').setLevel(20)",
            {"recompiles", "guards", "graph"},
        ),
    ],
)
def test_a_program_that_logs_at_info_sees_topics_that_it_asked_for(before, expected):
    command = [sys.executable, "-c", PROGRAM.format(before=before)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "INFO:program:of the program" in done.stderr
    told = {
        topic for topic in ("recompiles", "guards", "graph") if f"INFO:framesmith.{topic}:" in done.stderr
    }
    assert told == expected


def test_the_former_name_of_a_topic_is_understood(monkeypatch) -> None:
    monkeypatch.setenv("FRAMESMITH_LOGS", "bytecode, graph")
    assert events.find_enabled_topics() == {"code", "graph"}


COUNT = 0


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.count, self.seen = 0, []

    def forward(self, x):
        global COUNT
        self.seen.append(1)
        self.count += 1
        COUNT += 1
        return x + 1


def test_a_side_effect_is_named_as_the_program_does_with_its_line(caplog) -> None:
    caplog.set_level(logging.INFO, logger="framesmith.side_effects")
    frontend.compile(Counting(), backend="eager")(torch.ones(2))
    line = Counting.forward.__code__.co_firstlineno
    names = ["self.seen (list)", "self.count", f"the global COUNT of {__name__}"]
    assert [record.getMessage() for record in caplog.records] == [
        f"Counting.forward: {name} is changed after the graph at {__file__}:{line + index} in forward"
        for index, name in enumerate(names, start=2)
    ]
