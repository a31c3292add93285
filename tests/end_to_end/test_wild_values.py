"""Small programs that random programs over wild values were shrunk to."""

from tests.end_to_end.support import check_source

END_BEFORE_THE_START = """
import torch

class Numbers:
    def __init__(self):
        self.count = 0
    def __iter__(self):
        return self
    def __next__(self):
        self.count += 1
        if self.count > 2:
            (_ for _ in ()).throw(StopIteration)
        return self.count

def f(x):
    try:
        for number in Numbers():
            x = x + number
    except RuntimeError as error:
        return x, str(error), type(error.__cause__).__name__
    return x

def args():
    return (torch.ones(2),)
"""


def test_the_end_of_an_iterator_thrown_into_a_new_generator_is_converted_as_the_version_does() -> None:
    check_source(END_BEFORE_THE_START, breaks=0)
