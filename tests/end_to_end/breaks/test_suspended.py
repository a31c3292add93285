"""Breaks around and inside generators and other Python code that a loop asks for its next value."""

import pytest
from tests.end_to_end.breaks.captured import capture
from tests.end_to_end.breaks.generator_endings import PROGRAMS as ENDINGS
from tests.end_to_end.breaks.generator_programs import PROGRAMS as GENERATORS
from tests.end_to_end.breaks.iterator_programs import PROGRAMS as ITERATORS
from tests.end_to_end.breaks.test_matrix import change
from tests.end_to_end.support import check_source

PRELUDE = """
import contextlib, sys, torch
from framesmith import frontend

@frontend.disable
def native(v=None):
    return v

@frontend.disable
def failing(v=None):
    raise KeyError("native")

@frontend.disable
def consume(it):
    return list(it)

class Boom(Exception):
    pass

def args():
    return torch.tensor([0.5, -1.0, 2.0], requires_grad=True), []
"""
PROGRAMS = {**GENERATORS, **ENDINGS, **ITERATORS}
# What is captured whole although it breaks in or beside a generator.
CAPTURED = [
    "fresh with cell", "nested generators", "yield from", "next default user", "finally full", "genexp",
    "recursive", "recursive loop", "inner called function", "yield in expression", "super in gen", "generator method",
    "builtins over generators",
]  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_is_like_eager(name):
    check_source(PRELUDE + PROGRAMS[name], name, change=change)


@pytest.mark.parametrize("name", CAPTURED)
def test_all_operators_are_captured(name):
    seen = capture(PRELUDE + PROGRAMS[name], name, change)
    assert seen.operators == seen.operators_eagerly


def test_compiles_do_not_grow_with_rounds():
    report = check_source(PRELUDE + PROGRAMS["many rounds"], "many rounds", change=change)
    assert report.graphs <= 4
    assert report.operators_per_call[-1] == 180
