"""The matrix of graph breaks: every program behaves as eagerly, three times, with changed inputs."""

import os

import pytest
from tests.end_to_end.breaks.programs import Program, all_programs, default_programs
from tests.end_to_end.support import Report, check_source

DEFAULT = default_programs()
REST = [program for program in all_programs() if program not in set(DEFAULT)]


def change(x, log):
    """Between calls: other values, and the log as it was."""
    x.data.mul_(-1.5).add_(0.25)
    log.clear()


def run(program: Program) -> Report:
    return check_source(program.source, program.name, change=change)


@pytest.mark.parametrize("program", DEFAULT, ids=lambda program: program.name)
def test_break_is_like_eager(program):
    run(program)


@pytest.mark.slow
@pytest.mark.skipif(
    "FRAMESMITH_MATRIX" not in os.environ, reason="the whole matrix runs with FRAMESMITH_MATRIX=1"
)
@pytest.mark.parametrize("program", REST, ids=lambda program: program.name)
def test_break_is_like_eager_in_all_the_rest(program):
    run(program)
