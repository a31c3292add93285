"""`del` of a variable that is the last to hold an object with `__del__`: the object is finalized there, once."""

import pytest
from tests.end_to_end.support import check_source

WATCHED = """
import torch

LOG = []

class Watched:
    def __del__(self):
        LOG.append("gone")

def args():
    return (torch.ones(2),)

"""

LOCAL = """
def f(x):
    held = Watched()
    del held
    LOG.append("after")
    return x + 1, list(LOG)
"""

CELL = """
def f(x):
    held = Watched()
    read = lambda: held
    del held
    LOG.append("after")
    try:
        return read()
    except NameError as error:
        return x + 1, str(error), list(LOG)
"""

INLINED = """
def inner(held, x):
    del held
    LOG.append("after")
    return x + 1

def f(x):
    return inner(Watched(), x), list(LOG)
"""

FINALLY = """
def f(x):
    held = Watched()
    try:
        x = x + 1
    finally:
        del held
        LOG.append("after")
    return x, list(LOG)
"""

READ_AGAIN = """
def f(x):
    held = Watched()
    del held
    try:
        return held
    except UnboundLocalError as error:
        return x + 1, str(error), list(LOG)
"""


@pytest.mark.parametrize("program", [LOCAL, CELL, INLINED, FINALLY, READ_AGAIN])
def test_a_deleted_variable_finalizes_what_it_alone_held(program: str):
    check_source(WATCHED + program)
