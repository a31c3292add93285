"""Stores of fields of exceptions that CPython refuses, and tracebacks that exceptions share."""

import pytest
import torch
from tests.end_to_end.support import check, check_source

from framesmith import frontend


@pytest.mark.parametrize(
    "name", ["__cause__", "__context__", "__traceback__", "__suppress_context__", "args"]
)
@pytest.mark.parametrize("value", [None, 1, ValueError, ValueError(2), True, [1, 2]])
def test_what_a_field_takes(name, value) -> None:
    def f():
        error = KeyError("k")
        try:
            setattr(error, name, value)
        except TypeError as refused:
            return str(refused)
        return repr(getattr(error, name)), error.__suppress_context__

    check(f)


def test_a_field_that_is_read_only() -> None:
    def f(group):
        group.message = "other"

    check(f, ExceptionGroup("some", [ValueError(1)]))


def test_exceptions_that_share_a_traceback() -> None:
    def f():
        try:
            raise ExceptionGroup("some", [ValueError(1), KeyError(2)])
        except ExceptionGroup as group:
            match, rest = group.split(ValueError)
            return match.__traceback__ is group.__traceback__, rest.__traceback__ is match.__traceback__

    check(f)


def test_with_traceback_takes_a_traceback() -> None:
    check(lambda: ValueError().with_traceback(3))


@pytest.mark.parametrize(
    "change",
    [
        lambda error: setattr(error, "args", (2, 3)),
        lambda error: error.__init__(),
        lambda error: error.__init__(5),
        lambda error: BaseException.__init__(error, 7),
    ],
)
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: StopIteration(1), "value"),
        (lambda: SystemExit(1), "code"),
        (lambda: ImportError("a"), "msg"),
        (lambda: ImportError("a", path="b"), "path"),
        (lambda: AttributeError("a", name="b"), "name"),
        (lambda: StopIteration.__new__(StopIteration, 1), "value"),
        (lambda: SystemExit.__new__(SystemExit, 1), "code"),
    ],
)
def test_only_the_own_init_sets_a_field_of_a_class_in_c(make, name, change) -> None:
    def f(existing):
        error = make()
        before = getattr(error, name)
        for one in (error, existing):
            change(one)
        return before, getattr(error, name), getattr(existing, name), error.args, str(error), error

    check(f, make())


class Noisy:
    made = 0

    def __init__(self):
        type(self).made += 1


@pytest.mark.parametrize("cause", [Noisy, int, KeyError, KeyError(1), None])
def test_only_an_exception_class_is_called_to_be_a_cause(cause) -> None:
    def f():
        made = Noisy.made
        try:
            raise ValueError from cause
        except Exception as error:
            return repr(error), repr(error.__cause__), Noisy.made - made

    check(f)


class Items(list):
    """A class in Python over a builtin one."""


@pytest.mark.parametrize("owner", [torch.nn.Linear(1, 1), [], 3, int, ValueError(), Items(), print])
def test_an_attribute_error_names_what_was_read(owner) -> None:
    def f(owner):
        try:
            owner.nothing
        except AttributeError as error:
            fields = error.name, error.obj is owner
        try:
            del owner.nothing
        except (AttributeError, TypeError) as error:
            return *fields, getattr(error, "name", 0)

    check(f, owner)


class Many:
    """Instances may give up their inline values (CPython 3.13) for a dictionary."""


def _with_dictionary():
    many = Many()
    many.__dict__ = {"a": 1}
    return many


@pytest.mark.parametrize("make", [Many, _with_dictionary])
def test_an_absent_attribute_is_deleted_as_the_instance_stores_values(make) -> None:
    def f(one):
        try:
            del one.absent
        except AttributeError as error:
            return error.name, str(error)

    compiled = frontend.compile(f, backend="eager")
    for one in (make(), Many(), _with_dictionary()):
        assert compiled(one) == f(one)


def test_a_name_error_names_the_variable() -> None:
    check_source(
        """
import torch

def deletes():
    global absent
    del absent

def reads_free_variable():
    def inner():
        return later
    found = inner()
    later = found

def f(x):
    fields = []
    for function in (lambda: absent, deletes, reads_free_variable):
        try:
            function()
        except NameError as error:
            fields.append((type(error), str(error), error.name, error.args))
    return x + 1, fields

def args():
    return (torch.ones(2),)
"""
    )


@pytest.mark.parametrize(
    "made",
    [
        "UnicodeEncodeError.__new__(UnicodeEncodeError)",
        "UnicodeDecodeError()",
        "UnicodeTranslateError.__new__(UnicodeTranslateError)",
        "ExceptionGroup()",
        "BaseExceptionGroup.__new__(BaseExceptionGroup)",
    ],
)
def test_exceptions_that_need_arguments(made: str) -> None:
    check_source(
        f"""
import torch

def f(x):
    try:
        return x + 1, str({made})
    except TypeError as error:
        return x, str(error)

def args():
    return (torch.ones(2),)
"""
    )


SEEN: dict = {}


def keep_and_raise(x):
    try:
        raise ValueError(x + 1)
    except ValueError as error:
        SEEN["args"] = error.args
        raise


def keep_and_return(x):
    error = KeyError(x, [1])
    SEEN["args"] = error.args
    return error


def replace(x):
    error, given = KeyError("k"), (x, 2)
    error.args = SEEN["args"] = given
    assert error.args is given
    return error


def replace_by_list(x):
    error = KeyError("k")
    error.args = [x, 2]
    SEEN["args"] = error.args
    return error


def leave(x):
    error = OSError(2, "text")
    SEEN["args"] = error.args
    frontend.graph_break()
    assert error.args is SEEN["args"]
    return error


@pytest.mark.parametrize("function", [keep_and_raise, keep_and_return, replace, replace_by_list, leave])
def test_the_arguments_of_an_exception_are_one_tuple(function) -> None:
    for call in (function, frontend.compile(function, backend="eager")):
        for _ in range(3):
            SEEN.clear()
            try:
                error = call(torch.ones(2))
            except ValueError as caught:
                error = caught
            assert error.args is SEEN["args"]
            assert type(error.args) is tuple
