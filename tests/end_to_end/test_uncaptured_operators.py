"""Strict mode: what no graph holds yet gives what eager gives, structure and tensors untouched."""

from tests.end_to_end.support import check_source

PROGRAM = """
import torch
from torch._higher_order_ops.strict_mode import strict_mode
def f(x):
    return strict_mode(lambda a: a.sin(), (x,))
def args():
    return (torch.ones(3, 4),)
"""


def test_strict_mode():
    check_source(PROGRAM, backward=False)
