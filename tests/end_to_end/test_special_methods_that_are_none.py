"""Special methods that a class sets to None, and `__index__` of classes that derive from containers."""

import operator

import pytest
from tests.end_to_end.support import check

OPERATIONS = {
    "__bool__": [bool, operator.not_, lambda one: 1 if one else 2, lambda one: all([one])],
    "__len__": [len, bool, list, lambda one: [*one]],
    "__iter__": [iter, list, lambda one: [*one], lambda one: 1 in one, sum],
    "__contains__": [lambda one: 1 in one],
    "__getitem__": [lambda one: one[0], list],
    "__setitem__": [lambda one: operator.setitem(one, 0, 1)],
    "__call__": [lambda one: one()],
    "__repr__": [repr, str, lambda one: f"{one!r}"],
    "__str__": [str, lambda one: f"{one}", lambda one: "%s" % one],  # noqa: UP031
    "__format__": [format, lambda one: f"{one}"],
    "__hash__": [hash, lambda one: {one}, lambda one: {one: 1}],
    "__eq__": [lambda one: one == 1, lambda one: one in [1]],
    "__lt__": [lambda one: one < 1, lambda one: sorted([one, one])],
    "__add__": [lambda one: one + 1],
    "__radd__": [lambda one: 1 + one],
    "__int__": [int],
    "__float__": [float],
    "__index__": [operator.index, hex, lambda one: [1, 2][one]],
    "__next__": [next],
    "__neg__": [operator.neg],
    "__reversed__": [reversed],
}


@pytest.mark.parametrize("base", [object, int, list])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_method_that_is_none(name, base):
    kind = type("Own", (base,), {name: None})

    def outcomes():
        found = []
        for operation in OPERATIONS[name]:
            try:
                found.append(repr(operation(kind())).partition(" at 0x")[0])
            except TypeError as error:
                found.append(str(error))
        return found

    check(outcomes)


class Indexed(list):
    def __index__(self):
        return 1


def test_a_container_may_be_an_index():
    def items():
        return [10, 20, 30][Indexed()], (10, 20)[Indexed() :], "ab" * Indexed(), [*range(Indexed())]

    check(items)


class OnInstance:
    def __init__(self):
        self.__index__ = lambda: 1
        self.__reversed__ = lambda: iter(())


def test_special_methods_of_an_instance_are_not_asked():
    def outcomes():
        found = []
        for operation in (operator.index, lambda one: [1, 2][one], reversed):
            try:
                found.append(operation(OnInstance()))
            except TypeError as error:
                found.append(str(error))
        return found

    check(outcomes)
