"""Generators that delegate to another iterator and are dropped there: what is closed, and when, is as in eager."""

import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend

X = torch.arange(3.0)


class Closing:
    """An iterator of a Python class; `close` is called when a generator that delegates to it is closed."""

    def __init__(self, log):
        self.log = log
        self.left = [3, 2, 1]

    def __iter__(self):
        return self

    def __next__(self):
        return self.left.pop()

    def close(self):
        self.log.append("close of the iterator")


def plain(log):
    yield 1
    yield 2


def cleaning(log):
    try:
        yield 1
        yield 2
    finally:
        log.append("closed")


def two_deep(log):
    yield from plain(log)


def items(log):
    return [1, 2]


def mapped(log):
    return map(float, [1, 2])


RECEIVERS = {f.__name__: f for f in (plain, cleaning, two_deep, items, mapped, Closing)}


def delegates(receiver, log):
    yield from receiver(log)
    log.append("not reached")


def in_finally(receiver, log):
    try:
        yield from receiver(log)
    finally:
        log.append("finally")


def in_except(receiver, log):
    try:
        yield from receiver(log)
    except GeneratorExit:
        log.append("exit")


def in_with(receiver, log):
    with torch.no_grad():
        yield from receiver(log)


def behind_a_handler(receiver, log):
    try:
        yield 1
    except ValueError:
        log.append("not reached")
    yield from receiver(log)


GENERATORS = (delegates, in_finally, in_except, in_with, behind_a_handler)


class Holder:
    """Asks a generator for its first item in each way in which an operation runs code of the program."""

    def __init__(self, generator, receiver, log):
        self.generator, self.receiver, self.log = generator, receiver, log

    def first(self):
        for item in self.generator(self.receiver, self.log):
            return item

    @property
    def value(self):
        return self.first()

    def __len__(self):
        return int(self.first())

    def __getattr__(self, name):
        return self.first()

    def __call__(self):
        return self.first()


ASKED = {
    "call": lambda held, x: x + held(),
    "property": lambda held, x: x.add(held.value),
    "length": lambda held, x: x.add(len(held)),
    "missing attribute": lambda held, x: x.add(held.missing),
    "key": lambda held, x: x.add(max([held, held], key=lambda one: one()).first()),
    "any": lambda held, x: x.add(any(one for one in held.generator(held.receiver, held.log))),
    "next": lambda held, x: x.add(next(held.generator(held.receiver, held.log))),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("receiver", RECEIVERS)
def test_what_is_closed_and_when(receiver, generator, asked):
    def program(x, log):
        held = Holder(generator, RECEIVERS[receiver], log)
        y = ASKED[asked](held, x)
        log.append("after")
        y = y + held.first()
        log.append("end")
        return y * 2

    check(program, X, [])


class Model(torch.nn.Linear):
    """Finds its dtype as the models of diffusers do."""

    @property
    def dtype(self):
        for _, parameter in self.named_parameters():
            if parameter.is_floating_point():
                return parameter.dtype


def test_a_property_that_asks_parameters_breaks_nothing():
    model = Model(2, 2)
    frontend.compile(lambda x: x.to(dtype=model.dtype) + 1, backend="eager", fullgraph=True)(torch.ones(2))
