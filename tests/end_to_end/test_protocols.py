"""`isinstance` with protocols: the class decides, or a member that the instance lacks as well."""

import pytest
from tests.end_to_end.support import check_source

PROGRAMS = """
import torch
from typing import Protocol, SupportsFloat, SupportsInt, runtime_checkable

@runtime_checkable
class Goes(Protocol):
    def go(self): ...

@runtime_checkable
class GoesAndStops(Goes, Protocol):
    def stop(self): ...

@runtime_checkable
class Named(Protocol):
    name: str

class Unchecked(Protocol):
    def go(self): ...

class Derived(Goes):
    pass

class Car:
    def go(self):
        return 1

class Stone:
    pass

class Blocked:
    go = None

class Asked:
    def __getattr__(self, name):
        if name == "go":
            return 1
        raise AttributeError(name)

class Registered:
    pass

Goes.register(Registered)

class Hooked(torch.nn.Module):
    def go(self):
        return 1

def with_go():
    found = Stone()
    found.go = 3
    return found

def named():
    found = Stone()
    found.name = "a"
    return found

def f(x, thing):
    try:
        unchecked = isinstance(thing, Unchecked)
    except TypeError as error:
        unchecked = str(error)
    return x + 1, isinstance(thing, Goes), isinstance(thing, GoesAndStops), isinstance(thing, Derived), unchecked

def plain(x, thing):
    return x + 1, isinstance(thing, (Goes, GoesAndStops)), isinstance(thing, Derived), isinstance(thing, SupportsFloat)

def data(x, thing):
    return x + 1, isinstance(thing, Named)

def numbers(x, thing):
    return x + 1, isinstance(3, SupportsInt), isinstance(x, SupportsInt), isinstance("a", SupportsInt), isinstance([], SupportsFloat)

def args():
    return torch.ones(2), MAKE()
"""
THINGS = ["Car", "Stone", "Blocked", "Asked", "Registered", "Hooked", "Derived", "with_go", "named"]


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("name", ["f", "data"])
def test_instances_of_protocols(thing, name):
    check_source(PROGRAMS + f"MAKE = {thing}\nf = {name}\n")


@pytest.mark.parametrize("thing", ["Car", "Stone", "Registered", "Hooked", "Derived"])
def test_protocols_of_methods_break_no_graph(thing):
    check_source(PROGRAMS + f"MAKE = {thing}\nf = plain\n", breaks=0)
    check_source(PROGRAMS + f"MAKE = {thing}\nf = numbers\n", breaks=0)


def give_class(x, thing):
    type(thing).go = lambda self: 1


def give_instance(x, thing):
    thing.go = 1


def register(x, thing):
    thing.protocol.register(type(thing))


def replace_class(x, thing):
    thing.__class__ = getattr(thing, "other", type(thing))


@pytest.mark.parametrize("change", [give_class, give_instance, register, replace_class])
def test_changes_between_calls(change):
    source = PROGRAMS.replace("class Stone:\n    pass", "class Stone:\n    protocol = Goes\n    other = Car")
    check_source(source + "MAKE = Stone\nf = plain\n", change=change, calls=4)


@pytest.mark.parametrize("cls", ["Car", "Stone", "int", "Goes", "Named", "Unchecked", "Derived"])
@pytest.mark.parametrize("protocol", ["Goes", "Named", "Unchecked", "Derived", "(int, Named)"])
def test_subclasses_of_protocols(protocol, cls):
    program = f"""
def f(x, cls):
    try:
        return x + 1, issubclass(cls, {protocol})
    except TypeError as error:
        return x, str(error)

MAKE = lambda: {cls}
"""
    check_source(PROGRAMS + program)


REGISTERED = """
import functools
import torch
from typing import Protocol, runtime_checkable

@runtime_checkable
class Sized(Protocol):
    size: int

class Given:
    pass

class Other:
    size = 1

def register(cls):
    return Sized.register(cls) is cls

def inside(x):
    @runtime_checkable
    class Named(Protocol):
        name: str
        def call(self): ...
    Named.register(Given)
    return isinstance(Given(), Named), isinstance(Other(), Named)

def dispatched(x):
    @functools.singledispatch
    def kind(value):
        return "any"
    @kind.register(Given)
    def _(value):
        return "given"
    return kind(Given()), kind(x), kind(3)

def f(x):
    return x + 1, {body}

def args():
    return (torch.ones(2),)
"""


@pytest.mark.parametrize(
    "body",
    [
        "register(Given), isinstance(Given(), Sized), isinstance(Other(), Sized), isinstance(3, Sized)",
        "inside(x)",
        "dispatched(x)",
    ],
)
def test_classes_that_are_registered_with_members_that_are_no_methods(body):
    """typing allows its hook to be asked by code in `abc` and `functools` alone: it looks at the frame."""
    check_source(REGISTERED.format(body=body))
