"""Dataclasses with methods of their own, written in code that `exec` runs, as keys of dicts."""

import pytest
from tests.end_to_end.support import check_source

OWN = """
    def __eq__(self, other): return self.a == other.a
    def __hash__(self): return hash(self.a)"""


@pytest.mark.parametrize(
    ("declared", "methods"),
    [
        ("@dataclass(eq=False)", OWN),
        ("@dataclass", OWN),
        ("@dataclass(frozen=True)", ""),
        ("@dataclass(frozen=True)", "\n    def __hash__(self): return 3"),
        ("@dataclass(unsafe_hash=True)", "\n    def __eq__(self, other): return True"),
        ("@dataclass(frozen=True)\nclass Q:\n    a: int\n@dataclass(eq=False, frozen=True)", ""),
    ],
)
def test_a_dataclass_is_a_key_by_the_methods_that_it_has(declared, methods):
    base = "(Q)" if "Q:" in declared else ""
    check_source(f"""
from dataclasses import dataclass
{declared}
class P{base}:
    a: int
    b: int{methods}
def f(x):
    return x, {{P(1, 2): 1}}.get(P(1, 3), 5), len({{P(1, 2), P(1, 2)}}), P(1, 2) == P(1, 3)
def args():
    return (1,)
""")
