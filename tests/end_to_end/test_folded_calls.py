"""C functions that run while tracing: what they raise keeps its attributes, and a member of an enumeration is also its number."""

import collections
import enum
import operator
import re

import pytest
import torch
from tests.end_to_end.support import check


class Number(int, enum.Enum):
    ONE = 1


PAIR = collections.namedtuple("PAIR", "first second")(1, 2)


class Text(str, enum.Enum):
    A = "a"


def broken_pattern(pattern):
    try:
        re.compile(pattern)
    except re.error as error:
        return error.msg, error.pos, error.pattern, error.lineno, error.colno, error.args
    return None


def not_unicode(data):
    try:
        return data.decode("utf8")
    except UnicodeDecodeError as error:
        return error.start, error.end, error.reason, error.object


def texts_of_members(number, text, write=int.__repr__):
    return (
        write(number), int.__str__(number), int.__format__(number, "03d"), int.__hash__(number), write(7),
        str.__repr__(text), str.__str__(text), str.__format__(text, ">3"), str.__hash__(text) == hash("a"),
        write(True), int.__str__(True), bool.__repr__(True), tuple.__repr__(PAIR), object.__str__(PAIR),
        repr(number), str(number), format(number), hash(number) == hash("ONE"), number.__repr__(), int.__add__(number, 2),
    )  # fmt: skip


@pytest.mark.parametrize("pattern", ["(", "a", "*", "[z-a]", "(?P<1>x)"])
def test_an_error_of_a_folded_call_keeps_its_attributes(pattern):
    check(broken_pattern, pattern)


@pytest.mark.parametrize("data", [b"\xff", b"ab\x80", b"a"])
def test_an_error_of_a_codec_keeps_its_fields(data):
    check(not_unicode, data)


def test_methods_of_int_and_str_on_members():
    check(texts_of_members, Number.ONE, Text.A)


@pytest.mark.parametrize("name", ["Tensor.add", "add", "Tensor.__add__", "Tensor.add_", "relu"])
def test_methods_of_tensors_are_told_from_functions(name):
    function = operator.attrgetter(name)(torch)

    def f(x):
        return x + 1, torch.overrides.is_tensor_method_or_property(function)

    check(f, torch.ones(2), breaks=0)


def test_a_device_without_an_index_has_the_number_of_the_cpu():
    check(
        lambda x: (x + 1, torch.empty(2, device="meta").get_device(), x.get_device()), torch.ones(2), breaks=0
    )
