"""`super()`: what its name leads to, and what it says where it does not find a class or a receiver in its frame."""

import pytest
import torch
from tests.end_to_end.support import check, check_source

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


@pytest.mark.parametrize("other", ["Fake", "lambda *given: Fake(*given, 3)", "type('S', (super,), {})"])
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


METHOD = """
import torch

class Base:
    def m(self, *args):
        return args[0] + 1

class Derived(Base):
    def m{parameters}:
        {body}

def f(x):
    return Derived.m(Derived(), {given}) * 2

def args():
    return (torch.ones(2),)
"""
INDIRECT = "s = super; {}; return s().m(x)"


@pytest.mark.parametrize(
    "body",
    [
        "del self; return super().m(x)",
        INDIRECT.format("del self"),
        INDIRECT.format("self = 3"),
        INDIRECT.format("g = lambda: self; del self"),
        INDIRECT.format("__class__ = 5"),
        INDIRECT.format("del self; print()"),
        "nonlocal __class__; s = super; __class__ = 5; return s().m(x)",
        "nonlocal __class__; s = super; del __class__; return s().m(x)",
        "s = super; return [s().m(x) for _ in range(1)][0]",
    ],
)
def test_super_says_what_is_wrong_with_its_frame(body):
    check_source(METHOD.format(parameters="(self, x)", body=body, given="x"), calls=1)


@pytest.mark.parametrize("parameters, given", [("(*args)", "x"), ("(*args, x=1)", "x=x")])
def test_super_needs_a_positional_parameter(parameters, given):
    check_source(METHOD.format(parameters=parameters, body="return super().m(args[-1])", given=given))


def test_super_outside_of_a_class_finds_no_class():
    check_source(
        """
import torch

def f(x):
    try:
        return super().m(x)
    except RuntimeError as error:
        return x, str(error)

def args():
    return (torch.ones(2),)
"""
    )


class Lenient(type):
    """A metaclass that asks the usual question, and another one."""

    def __instancecheck__(cls, value):
        if cls is Everything:
            return True
        return super().__instancecheck__(value) or type.__instancecheck__(str, value)


class Everything(metaclass=Lenient):
    pass


class Plain(metaclass=Lenient):
    pass


class Hiding:
    """Whose instances say that they are of another class."""

    @property
    def __class__(self):
        return Plain


@pytest.mark.parametrize("value", [Plain(), type("Derived", (Plain,), {})(), 3, "text", [1]])
def test_the_usual_check_of_a_metaclass_is_traced(value):
    def function(x):
        return x + 1, isinstance(value, Plain), isinstance(value, Everything), isinstance(value, int | Plain)

    check(function, torch.ones(2), breaks=0)


def test_a_class_that_an_instance_claims_is_asked_for():
    check(lambda x, value: (x + 1, isinstance(value, Plain), isinstance(value, int)), torch.ones(2), Hiding())
