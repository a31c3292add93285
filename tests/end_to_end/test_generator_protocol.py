"""What `yield from`, `throw` and `sys.exc_info()` do where iterators, classes and callers are unusual."""

import sys

import pytest
from tests.end_to_end.support import check, check_source


class Ending:
    """An iterator that ends with a value, by `__next__` or by `send`."""

    def __init__(self) -> None:
        self.count = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.count += 1
        if self.count > 2:
            raise StopIteration("end", 2)
        return self.count

    def send(self, value):
        if value == "stop":
            raise StopIteration("sent")
        return value


def _value_of(iterator):
    def outer():
        found = yield from iterator
        yield ("value", found)

    return list(outer())


def test_the_value_of_an_iterator_in_python() -> None:
    check(lambda: _value_of(Ending()))


def test_the_value_of_a_stop_iteration_from_send() -> None:
    def outer():
        found = yield from Ending()
        yield found

    def f():
        generator = outer()
        return next(generator), generator.send(5), generator.send("stop")

    check(f)


def _with_value():
    yield 1
    return 5


@pytest.mark.parametrize(
    "around", [enumerate, iter, zip, lambda one: map(str, one), lambda one: filter(None, one)]
)
def test_the_value_behind_an_iterator_in_c(around) -> None:
    check(lambda: _value_of(around(_with_value())))


def _catching():
    try:
        yield 1
    except BaseException as error:
        yield type(error), str(error)


class NoException(ValueError):
    """A class whose call gives something else."""

    def __new__(cls):
        return cls


class Failing(ValueError):
    """A class that cannot be called without arguments."""

    def __init__(self) -> None:
        raise KeyError("no")


@pytest.mark.parametrize(
    "thrown",
    [
        (NoException,),
        (Failing,),
        (ValueError, KeyError(3)),
        (ValueError, ValueError(4)),
        (ValueError, (1, 2)),
        (ValueError, "text"),
        (ValueError, None, None),
        (KeyError, "text", None),
    ],
)
def test_what_throw_raises(thrown) -> None:
    def f():
        generator = _catching()
        next(generator)
        return generator.throw(*thrown)

    check(f)


@pytest.mark.parametrize("thrown", [(3,), (int,), (ValueError, None, 3), (ValueError(1), 2)])
def test_what_throw_refuses(thrown) -> None:
    def plain():
        yield 1

    def f():
        generator = plain()
        next(generator)
        return generator.throw(*thrown)

    check(f)


def test_the_handled_exception_is_that_of_the_caller_of_now() -> None:
    """A generator leaves its handler when another caller handles another exception, or none."""

    def leaving():
        try:
            raise ValueError("inner")
        except ValueError:
            yield repr(sys.exc_info()[1])
        yield repr(sys.exc_info()[1])
        yield repr(sys.exc_info()[1])

    def f():
        generator = leaving()
        try:
            raise IndexError("first")
        except IndexError:
            found = [next(generator)]
        found.append(next(generator))
        try:
            raise KeyError("last")
        except KeyError:
            found.append(next(generator))
        return found

    check(f)


def test_a_generator_stays_in_its_handler() -> None:
    """Also where the caller handles the same exception."""

    def staying():
        try:
            yield 1
        except ValueError as error:
            yield sys.exc_info()[1] is error
            yield sys.exc_info()[1] is error

    def f():
        generator = staying()
        next(generator)
        try:
            raise ValueError
        except ValueError as error:
            found = [generator.throw(error)]
        return [*found, next(generator)]

    check(f)


DELEGATING = """
import torch

class Block:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        print("exit", kind and kind.__name__)

def inner(x):
    try:
        yield x
        yield x + 1
    finally:
        print("inner")

def outer(x):
    {block}
        {values} = yield from inner(x)
    finally_print("outer")

def finally_print(text):
    print(text)

def f(x):
    generator = outer(x)
    y = next(generator)
    {end}
    return y + 1

def args():
    return (torch.ones(2),)
"""


@pytest.mark.parametrize("end", ["generator.close()", "del generator", "list(generator)"])
@pytest.mark.parametrize(
    "block", ["with Block():", "with Block(), Block():", "if True:", "for n in range(2):"]
)
def test_a_delegating_generator_in_a_block_ends(block, end):
    check_source(DELEGATING.format(block=block, values="found", end=end))
