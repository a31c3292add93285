"""Exceptions: raising, matching, chaining, notes, user classes, reconstruction."""

import pytest
from support_objects import Trace, check

from framesmith.graph import GraphBreak


class UserError(ValueError):
    def __init__(self, message, code):
        super().__init__(message)
        self.code = code

    def __str__(self):
        return "user: " + str(self.args[0])


class Plain(Exception):
    pass


def caught():
    try:
        raise UserError("bad", 7)
    except (KeyError, UserError) as error:
        return error.code, str(error), error.args, type(error) is UserError, isinstance(error, ValueError)


def uncaught():
    raise UserError("bad", 7)


def class_only():
    raise Plain


def from_cause():
    try:
        {}["k"]
    except KeyError as error:
        raise Plain("x", 2) from error


def from_none():
    try:
        {}["k"]
    except KeyError:
        raise Plain("x") from None


def context():
    try:
        try:
            [].pop()
        except IndexError:
            raise Plain("second")
    except Plain as error:
        return error.__context__, error.__cause__, error.__suppress_context__


def notes():
    error = Plain("x")
    error.add_note("one")
    error.add_note("two")
    error.extra = [1]
    return error, error.__notes__


def texts():
    return (
        str(Plain()),
        str(Plain("a")),
        str(Plain("a", 1)),
        str(KeyError("k")),
        repr(Plain("a")),
        repr(Plain("a", 2)),
    )


def stop_values():
    return StopIteration(4).value, StopIteration().value, SystemExit(3).code, StopIteration(1, 2)


def attribute_error():
    try:
        (3).nothing
    except AttributeError as error:
        return error.args


def not_an_exception():
    raise 3


def bad_match():
    try:
        raise Plain
    except 3:
        return 1


def existing(error):
    error.args = (9,)
    error.note = "n"
    error.__cause__ = KeyError("c")
    return error.args, error.code, str(error)


def reraise(error):
    try:
        raise error
    except Exception as caught:
        return caught is error


def finally_block(log):
    try:
        try:
            log.append(1)
            raise Plain("p")
        finally:
            log.append(2)
    except Plain:
        log.append(3)
    else:
        log.append(4)
    return log


def asserts(x):
    if x != 1:
        raise AssertionError("no")
    return x


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (caught, tuple), (uncaught, tuple), (class_only, tuple), (from_cause, tuple), (from_none, tuple), (context, tuple),
        (notes, tuple), (texts, tuple), (stop_values, tuple), (attribute_error, tuple), (not_an_exception, tuple), (bad_match, tuple),
        (existing, lambda: (UserError("m", 3),)), (reraise, lambda: (Plain("z"),)), (finally_block, lambda: ([],)),
        (asserts, lambda: (2,)), (asserts, lambda: (1,)),
    ],
)  # fmt: skip
def test_exceptions_behave_as_in_eager(function, make):
    check(function, make)


def test_unmodelled_exceptions_break_the_graph():
    with pytest.raises(GraphBreak):
        Trace().start(lambda: OSError(2, "x"), {})
