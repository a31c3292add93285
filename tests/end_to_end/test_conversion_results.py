"""What `__int__`, `__float__`, `__str__` ... give: `int()`, `float()`, `str()` check it as eager does."""

import operator
import warnings

import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend


class SmallInt(int):
    pass


class SmallFloat(float):
    pass


class Given:
    """Converts to what it was given."""

    def __init__(self, value):
        self.value = value

    def __int__(self):
        return self.value

    __float__ = __complex__ = __str__ = __repr__ = __int__

    def __format__(self, spec):
        return self.value


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Truncated:
    def __init__(self, value):
        self.value = value

    def __trunc__(self):
        return self.value


class OwnInt(int):
    def __int__(self):
        return 42.0


class OwnFloat(float):
    def __float__(self):
        return 3


VALUES = [3, 2.5, True, SmallInt(4), SmallFloat(1.5), 1j, None, "text"]
CONVERSIONS = {
    "int": int,
    "float": float,
    "complex": complex,
    "str": str,
    "repr": repr,
    "format": lambda value: format(value, ""),
    "f-string": lambda value: f"{value} {value!s} {value!r}",
    "index": operator.index,
    "subscript": lambda value: [1, 2, 3, 4, 5][value],
    "range": lambda value: list(range(value)),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_what_a_method_gives_is_checked(name):
    """Values of the right type, of a subclass (a warning), and of another type (an error)."""
    convert = CONVERSIONS[name]
    kinds = [Given, Index, Truncated] if name not in ("str", "repr", "format", "f-string") else [Given]

    def function(x):
        results = []
        for value in (*[kind(value) for kind in kinds for value in VALUES], OwnInt(1), OwnFloat(2.0)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    made = convert(value)
                    results.append((made, type(made)))
                except Exception as error:
                    results.append((type(error), str(error)))
            results.append([str(one.message) for one in caught])
        return results, x + 1

    check(function, torch.ones(2))


class Sized:
    """Has the length that it was given, less 5."""

    def __init__(self, value):
        self.value = value

    def __len__(self):
        return self.value - 5

    def __getitem__(self, index):
        return (1, 2, 3)[index]


class Index:
    def __init__(self, value):
        self.value = value

    def __sub__(self, other):
        return Index(self.value - other)

    def __index__(self):
        return self.value


LENGTH_READERS = [
    lambda x, value: x + len(Sized(value)),
    lambda x, value: list(Sized(value)),
    lambda x, value: x * 2 if Sized(value) else x * 3,
]


@pytest.mark.parametrize("read", LENGTH_READERS)
@pytest.mark.parametrize("values", [(10, 12, 3), (7.5, 8.5), (Index(7), Index(3)), (SmallInt(8), True)])
def test_a_length_that_changes_is_checked(read, values):
    compiled = frontend.compile(read, backend="eager", dynamic=True)
    for value in values:
        assert outcome(compiled, value) == outcome(read, value)


def outcome(function, value):
    """The result as text, or the exception."""
    try:
        return str(function(torch.ones(2), value))
    except (TypeError, ValueError) as error:
        return repr(error)
