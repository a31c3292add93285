"""`super()`: what its name leads to, and what it says where it does not find a class or a receiver in its frame."""

import pytest
from tests.end_to_end.support import check_source

SHADOWED = """
import torch

class Fake:
    number = 5
    def __init__(self, *given):
        self.given = len(given)
    def m(self, x):
        return x * 1000 + self.given

class Base:
    number = 1
    def m(self, x):
        return x + 1

class Derived(Base):
    def m(self, x):
        {body}

globals()["super"] = {other}

def f(x):
    return Derived().m(x * 2)

def args():
    return (torch.ones(2),)
"""


@pytest.mark.parametrize("other", ["Fake", "lambda *given: Fake(*given, 3)"])
@pytest.mark.parametrize(
    "body",
    [
        "return super().m(x)",
        "return super(Derived, self).m(x)",
        "return x + super().number",
        "print(); return super().m(x)",
    ],
)
def test_a_super_of_the_users_is_called_with_what_the_user_wrote(body, other):
    check_source(SHADOWED.format(body=body, other=other))


def test_a_super_that_breaks_the_graph_is_called_with_what_the_user_wrote():
    other = "lambda *given: Fake(*given, print())"
    check_source(SHADOWED.format(body="return super().m(x)", other=other))
