"""`inspect.getattr_static` of classes: items as they are stored, with no descriptor asked."""

import inspect
from contextlib import ExitStack

import pytest
import torch

from framesmith import frontend


class Meta(type):
    of_meta = 7


class Base:
    shared = 1

    @property
    def size(self):
        return 2

    @staticmethod
    def plain():
        return 3


class Child(Base, metaclass=Meta):
    own = 4

    def __enter__(self):
        return 5

    def __exit__(self, *error):
        return True


def items(x):
    names = ("shared", "size", "plain", "own", "of_meta", "__enter__", "__init__", "missing")
    found = [inspect.getattr_static(Child, name, "none") for name in names]
    return x + 1, [type(one).__name__ for one in found], found[0], found[3:5], found[1] is vars(Base)["size"]


def missing(x):
    try:
        inspect.getattr_static(Child, "nothing")
    except AttributeError as error:
        return x, error.args
    return x, None


def entered(x):
    with ExitStack() as stack:
        x = x + stack.enter_context(Child())
        raise ValueError
    return x


def refused(x):
    try:
        with ExitStack() as stack:
            stack.enter_context(Base())
    except TypeError as error:
        return x, str(error)
    return x, None


@pytest.mark.parametrize("function", [items, missing, entered, refused])
def test_items_of_classes(function):
    compiled = frontend.compile(function, backend="eager", fullgraph=True)
    for _ in range(2):
        assert repr(compiled(torch.ones(2))) == repr(function(torch.ones(2)))


def test_an_item_that_is_replaced():
    class Counter:
        step = 1

    def run(x):
        return x + inspect.getattr_static(Counter, "step")

    compiled = frontend.compile(run, backend="eager", fullgraph=True)
    for step in (1, 2, 5):
        Counter.step = step
        assert torch.equal(compiled(torch.ones(2)), run(torch.ones(2)))


def test_an_instance_is_asked_natively():
    def run(x, owner):
        return x + inspect.getattr_static(owner, "own") + 1

    compiled = frontend.compile(run, backend="eager")
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(2), Child()), run(torch.ones(2), Child()))
