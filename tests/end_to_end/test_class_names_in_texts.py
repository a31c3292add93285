"""The text of a container of a user's class names that class, where CPython's does."""

import types
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple

import pytest
from tests.end_to_end.support import check

Pair = namedtuple("Pair", "one two")
BASES = {
    "frozenset": (frozenset, ([8],)),
    "set": (set, ([8],)),
    "list": (list, ([8],)),
    "tuple": (tuple, ([8],)),
    "dict": (dict, ([(1, 2)],)),
    "OrderedDict": (OrderedDict, ([(1, 2)],)),
    "defaultdict": (defaultdict, (int, [(1, 2)])),
    "deque": (deque, ([1], 3)),
    "int": (int, (3,)),
    "float": (float, (2.5,)),
    "complex": (complex, (1, 2)),
    "str": (str, ("a",)),
    "bytes": (bytes, (b"a",)),
    "bytearray": (bytearray, (b"a",)),
    "Counter": (Counter, ("aab",)),
    "SimpleNamespace": (types.SimpleNamespace, ()),
    "namedtuple": (Pair, (1, 2)),
    "exception": (KeyError, ("a",)),
}


def texts(value):
    return repr(value), str(value), f"{value!r:>20}", "{!r}".format(value), repr([value]), ascii({1: value})  # noqa: UP032


@pytest.mark.parametrize("name", BASES)
def test_a_class_of_the_user(name):
    base, arguments = BASES[name]
    own = type(f"Own{name}", (base,), {})
    existing = own(*arguments)
    check(lambda: texts(own(*arguments)))
    check(lambda: texts(existing))
    if name != "namedtuple":
        check(lambda: texts(own()))
