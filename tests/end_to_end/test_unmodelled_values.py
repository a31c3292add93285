"""Operators on values that are not modelled: the program gets what eager gives, never an error of ours."""

import pytest
from tests.end_to_end.support import check_source

IMPORTS = """
import array, ctypes, datetime, decimal, enum, fractions, ipaddress, pathlib, re, uuid
import numpy as np, torch as T
class Number(int):
    def __rsub__(self, other): return "reflected"
class Words(list):
    def __add__(self, other): return "added"
class Declines:
    def __mul__(self, other): return NotImplemented
class Closed:
    __add__ = __radd__ = __iter__ = __contains__ = None
class Member(enum.IntEnum):
    B = 2
def outcome(operate):
    try:
        return operate()
    except Exception as error:
        return type(error).__name__, str(error)
"""
KINDS = [
    "np.array([1, 2])", "np.array(3)", "np.array([1, 'a'], dtype=object)", "np.float32(1.5)", "np.int8(10)",
    "np.datetime64('2020-01-01')", "np.timedelta64(3, 'D')", "np.ma.array([1, 2], mask=[0, 1])", "np.matrix([[1, 2]])",
    "decimal.Decimal('1.5')", "fractions.Fraction(1, 3)", "datetime.date(2020, 1, 2)", "datetime.timedelta(3)",
    "pathlib.PurePosixPath('a')", "re.compile('a')", "bytearray(b'ab')", "memoryview(b'ab')", "array.array('i', [1])",
    "(ctypes.c_int * 2)(1, 2)", "uuid.UUID(int=5)", "ipaddress.ip_address('1.2.3.4')", "Number(3)", "Words([1])", "Declines()",
    "Closed()", "Member.B", "T.Size([2, 3])", "T.float32", "T.device('cpu')", "T.Generator()", "T.ones(2).untyped_storage()",
    "T.finfo(T.float32)", "T.arange(2)", "{1: 2}.keys()", "type('Plain', (), {})", "len",
]  # fmt: skip
OPERATIONS = {
    "arithmetic": ["a + b", "b - a", "a * b", "a // b", "b / a", "a % b", "b ** 2", "a | b", "b @ a"],
    "comparison": ["a == b", "b != a", "a < b", "b >= a", "a == a", "b in (a,)"],
    "conversion": [
        "bool(a)",
        "len(a)",
        "int(a)",
        "float(a)",
        "abs(a)",
        "-a",
        "hash(a) == hash(a)",
        "f'{a!s:.3}'",
    ],
    "access": [
        "a[0]",
        "list(a)",
        "1 in a",
        "a.real",
        "a.nothing",
        "a()",
        "tuple(reversed(a))",
        "next(iter(a))",
    ],
}


@pytest.mark.parametrize("group", OPERATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_an_operator_on_a_value_that_is_not_modelled_is_eager(kind, group):
    lines = [f"    r.append(outcome(lambda: {text}))" for text in OPERATIONS[group]]
    check_source(
        f"{IMPORTS}\ndef args(): return T.ones(2), {kind}, 2\n"
        "def f(x, a, b):\n    r = [x + 1]\n"
        + "\n".join(lines)
        + "\n    return [str(one)[:60].split(' at 0x')[0] for one in r]",
        calls=2,
        backward=False,
    )


PAIRS = [("np.array([1, 2])", "T.arange(2)"), ("np.float64(2)", "T.arange(2.)"), ("[1, 2]", "np.array([1, 2])"), ("T.arange(2)", "fractions.Fraction(1, 3)"), ("Number(3)", "T.arange(2)"), ("Words([1])", "np.array([1])"), ("T.Size([2])", "np.array([1])"), ("'a%s'", "np.array([1])"), ("{1}", "np.array([1])"), ("2.5", "decimal.Decimal(1)"), ("Closed()", "Declines()")]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_an_in_place_operator_asks_the_left_side_first(left, right):
    lines = [
        f"    p = a\n    try: p {symbol}= b\n    except Exception as e: p = str(e)\n    r.append(str(p))"
        for symbol in "+-*/|%"
    ]
    check_source(
        f"{IMPORTS}\ndef args(): return T.ones(2), {left}, {right}\n"
        "def f(x, a, b):\n    r = [x + 1]\n" + "\n".join(lines) + "\n    return r[1:]",
        calls=2,
        backward=False,
    )


def test_a_value_made_by_a_native_call_goes_on_in_a_continuation():
    check_source(
        "import numpy as np, torch as T\ndef args(): return T.ones(2), [8, 16]\n"
        "def f(x, sizes):\n"
        "    x = x + 1\n"
        "    blocks = np.array(sizes) // 8\n"
        "    total = [block * 2 for block in blocks]\n"
        "    return x * int(blocks.sum()), total == [2, 4], (blocks == 1).tolist(), 3 - blocks, blocks.max() % 2"
    )


def test_what_the_handler_of_a_caller_reads_survives_a_break_in_the_callee():
    check_source(
        "import torch as T\ndef args(): return T.ones(2), {1: 2}\n"
        "def find(table, key):\n    print('break')\n    if key not in table: raise KeyError(key)\n    return table[key]\n"
        "def get(table, key, default):\n    try:\n        return find(table, key)\n    except KeyError:\n        return default\n"
        "def f(x, table): return x * get(table, 1, 5), x * get(table, 3, x + 7)"
    )
