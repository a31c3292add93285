"""New functions in frames that hold a value whose end the program sees: from 3.13 on several operations make one."""

import pytest
from tests.end_to_end.support import check_source

PROGRAM = """
import functools, torch

class Ending:
    def __del__(self):
        log.append("end")

log = []

def f(x):
    held = {made}
    {decorated}
    def triple(item, scale=3) -> int:
        return scale * item, number
    number = 5
    def use():
        return triple(2), held
    return use()[0], x + 1

def args():
    return (torch.ones(2),)
"""


@pytest.mark.parametrize("decorated", ["", "@functools.lru_cache(maxsize=2)", "@functools.wraps(print)"])
@pytest.mark.parametrize("made", ["Ending()", "[Ending()]", "{1: Ending()}"])
def test_a_closure_is_made_whole(made, decorated):
    check_source(PROGRAM.replace("{made}", made).replace("{decorated}", decorated))
