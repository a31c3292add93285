"""Classes as CPython's own tests have them: names that are no strings, members without a hash, texts of half-made objects."""

import pytest
from tests.end_to_end.support import check_source


@pytest.mark.filterwarnings("ignore:non-string key")  # 3.14 and newer
def test_a_class_with_a_key_that_is_no_string():
    check_source(
        """
import torch

class Key:
    def __hash__(self):
        return 7

Base = type("Base", (), {Key(): 1, "value": 2})

class Derived(Base):
    pass

def f(x):
    return x + Derived().value, isinstance(Derived(), Base)

def args():
    return (torch.ones(2),)
"""
    )


def test_an_enumeration_whose_values_have_no_hash():
    check_source(
        """
import enum, torch

class Shape(enum.Enum):
    LINE = [1]
    SQUARE = [1, 1]

def f(x):
    found = Shape([1])
    try:
        Shape([3])
    except ValueError as error:
        return x + 1, found.name, str(error), found in Shape
    return x

def args():
    return (torch.ones(2),)
"""
    )


def test_a_typing_object_that_prints_by_code_of_the_user():
    check_source(
        """
import enum, torch, typing

class Color(enum.Enum):
    RED = 1
    def __repr__(self):
        printed.append(self.name)
        return "red"

printed = []

class Holder:
    __annotations__ = {"a": "list[int]"}

def f(x):
    literal = typing.Literal[Color.RED]
    printed.clear()
    literal.some = 1
    return x + 1, list(printed), typing.get_type_hints(Holder)

def args():
    return (torch.ones(2),)
"""
    )


def test_named_tuples_of_the_interpreter_that_make_no_instances():
    check_source(
        """
import sys, torch

def f(x):
    flags, version = sys.flags, sys.version_info
    print(end="")
    shown = repr(version)
    print(flags.optimize)
    return x + flags[0], shown, flags, version >= (3, 11), list(sys.hash_info), hash(version) == hash(tuple(version))

def args():
    return (torch.ones(2),)
"""
    )
