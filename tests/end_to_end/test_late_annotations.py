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


SIGNATURE = """
import inspect
import torch
from typing import Optional

SEEN = []

class Kind:
    def __class_getitem__(cls, item):
        SEEN.append(item)
        return cls

class Holder:
    count = 0

def function(item: torch.Tensor, other: Optional[int] = None, *rest: ANNOTATION) -> "text":
    return item

def f(x, holder=Holder()):
    CHANGE
    parameters = inspect.signature(function).parameters
    return x * len(parameters), [str(one.annotation) for one in parameters.values()], list(SEEN), holder.count
"""


@pytest.mark.parametrize(
    "change", ["pass", "holder.count += 1", "SEEN.append(1)", "global Optional; Optional = list"]
)
@pytest.mark.parametrize(
    "annotation", ["dict[str, int]", "Kind[int]", "Missing", "SEEN.append('made')", "Kind"]
)
def test_the_signature_of_a_function(annotation, change):
    if annotation == "Missing" and not LATE:
        annotation = "'Missing'"
    source = SIGNATURE.replace("ANNOTATION", annotation).replace("CHANGE", change)
    check_source(source + "\ndef args():\n    return (torch.ones(2),)\n")


def test_the_signature_is_captured():
    source = SIGNATURE.replace("ANNOTATION", "dict[str, int]").replace("CHANGE", "holder.count += 1")
    source = source.replace("str(one.annotation)", "one.name")
    check_source(source + "\ndef args():\n    return (torch.ones(2),)\n", breaks=0)
