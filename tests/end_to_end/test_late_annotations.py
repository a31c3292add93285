"""Annotations are evaluated when they are read (PEP 649, from 3.14 on): by code of the user, which sees what the program has
changed by then."""

import sys

import pytest
from tests.end_to_end.support import check_source

LATE = sys.version_info >= (3, 14)
READING = (
    "Holder.__annotations__",
    "function.__annotations__",
    "getattr(function, '__annotations__', None)",
    "hasattr(Holder, '__annotations__')",
    "vars(Holder)['__module__'], Holder.__annotations__",
)


@pytest.mark.parametrize("reading", READING)
@pytest.mark.parametrize("kind", ["int", "missing", "seen.append(1)"])
def test_annotations_are_read_when_the_program_reads_them(reading, kind):
    check_source(
        f"""
from __future__ import {"annotations" if kind == "missing" and not LATE else "division"}
import torch

seen = []
Kind = int

class Holder:
    item: {kind}
    other: Kind

def function(item: {kind}, other: Kind):
    pass

def f(x):
    global Kind
    Kind = str
    try:
        found = {reading}
    except NameError as error:
        found = str(error)
    return x + 1, repr(found), list(seen)

def args():
    return (torch.ones(2),)
"""
    )
