"""`__context__`, `__cause__` and `__suppress_context__` of exceptions are linked as in eager, over breaks and handlers."""

import contextlib

import pytest
import torch
from tests.end_to_end.worlds import load

from framesmith import frontend

HEAD = """
import contextlib
from framesmith import frontend

class Own(Exception):
    pass

def fail(text):
    raise Own(text)

@contextlib.contextmanager
def manager():
    try:
        yield
    except Own as error:
        BREAK
        raise ValueError("from the manager") from error

class Closing:
    def __enter__(self):
        return self

    def __exit__(self, *raised):
        BREAK
        raise LookupError("from __exit__")

def steps():
    try:
        yield 1
        fail("in a generator")
    finally:
        BREAK
        raise KeyError("from finally")

def f(x):
    y = x + 1
"""
PROGRAMS = {
    "raised in a handler": """
    try:
        fail("first")
    except Own:
        BREAK
        raise ValueError("second")
""",
    "raised from": """
    try:
        fail("first")
    except Own as error:
        BREAK
        raise ValueError("second") from error
""",
    "raised from None": """
    try:
        fail("first")
    except Own:
        BREAK
        raise ValueError("second") from None
""",
    "raised in finally": """
    try:
        fail("first")
    finally:
        BREAK
        [][y.dim() + 1]
""",
    "raised again": """
    try:
        try:
            fail("first")
        except Own:
            BREAK
            raise
    except Own:
        BREAK
        {}["missing"]
""",
    "three deep": """
    try:
        try:
            fail("first")
        except Own:
            BREAK
            fail("second")
    except Own as error:
        BREAK
        raise ValueError("third") from error.__context__
""",
    "from a function that is called": """
    def inner():
        BREAK
        fail("second")
    try:
        fail("first")
    except Own:
        inner()
""",
    "caught, then another": """
    try:
        fail("first")
    except Own:
        BREAK
    fail("alone")
""",
    "caught inside a handler": """
    try:
        fail("first")
    except Own as outer:
        try:
            fail("second")
        except Own as inner:
            BREAK
            assert inner.__context__ is outer
        BREAK
        raise ValueError("third")
""",
    "a context manager": """
    with manager():
        BREAK
        fail("in the block")
""",
    "__exit__ raises": """
    with Closing():
        BREAK
        fail("in the block")
""",
    "a generator": """
    for number in steps():
        y = y + number
        BREAK
""",
    "a tensor operation": """
    try:
        y.view(7, 7)
    except RuntimeError:
        BREAK
        y @ y[None, None, None]
        fail("not reached")
""",
    "kept and raised later": """
    kept = None
    try:
        fail("first")
    except Own as error:
        kept = error
    try:
        BREAK
        {}["missing"]
    except KeyError:
        BREAK
        raise kept
""",
    "set by hand": """
    error = ValueError("mine")
    error.__cause__ = KeyError("cause")
    BREAK
    try:
        fail("first")
    except Own:
        raise error
""",
    "a loop of handlers": """
    for number in range(3):
        try:
            fail(str(number))
        except Own as error:
            BREAK
            last = error
    raise ValueError("after") from last
""",
    "else and finally": """
    try:
        try:
            BREAK
        except Own:
            pass
        else:
            fail("in else")
        finally:
            BREAK
    except Own:
        raise Own("outside")
""",
}
BREAKS = ["pass", "frontend.graph_break()", "print(end='')"]


def chain(error, seen=()):
    if error is None or id(error) in seen:
        return None
    seen = (*seen, id(error))
    return (
        type(error).__name__,
        str(error),
        error.__suppress_context__,
        chain(error.__cause__, seen),
        chain(error.__context__, seen),
    )


def raised(function):
    try:
        function(torch.ones(2))
    except Exception as error:
        return chain(error)
    return None


def in_a_handler(function):
    try:
        try:
            raise KeyError("caller's first")
        except KeyError:
            raise OSError("caller's") from None
    except OSError:
        return raised(function)


def in_finally(function):
    found = []
    with contextlib.suppress(OSError):
        try:
            raise OSError("caller's")
        finally:
            found.append(raised(function))
    return found


def in_exit(function):
    class Manager:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.found = raised(function)
            return True

    with Manager() as manager:
        raise OSError("caller's")
    return manager.found


def in_a_generator(function):
    def steps():
        try:
            raise OSError("caller's")
        except OSError:
            yield raised(function)

    return next(steps())


@pytest.mark.parametrize("caller", [raised, in_a_handler, in_finally, in_exit, in_a_generator])
@pytest.mark.parametrize("broken", BREAKS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_exceptions_are_linked_as_in_eager(program: str, broken: str, caller) -> None:
    text = (HEAD + PROGRAMS[program] + "    return y\n").replace("BREAK", broken)
    eager, ours = load(text, "chain")["f"], frontend.compile(load(text, "chain")["f"], backend="eager")
    expected = caller(eager)
    assert expected is not None
    for _ in range(3):
        assert caller(ours) == expected


def test_the_chain_of_what_is_returned() -> None:
    def f(x):
        try:
            {}["missing"]
        except KeyError as error:
            return error

    def f_again(x, kept=ValueError("kept")):  # noqa: B008
        with contextlib.suppress(ValueError):
            raise kept
        return kept

    for function in (f, f_again):
        compiled = frontend.compile(function, backend="eager")
        found = []
        for one in (function, compiled, compiled):
            try:
                raise OSError("caller's")
            except OSError:
                found.append(chain(one(torch.ones(2))))
        assert found[1:] == found[:1] * 2


def test_reading_the_context_sees_what_the_caller_handles() -> None:
    def f(x):
        try:
            {}["missing"]
        except KeyError as error:
            return repr(error.__context__), x + 1

    compiled = frontend.compile(f, backend="eager")
    for _ in range(2):
        assert compiled(torch.ones(2))[0] == "None"
        try:
            raise OSError("caller's")
        except OSError:
            assert compiled(torch.ones(2))[0] == f(torch.ones(2))[0]


def test_what_the_caller_handles_keeps_its_chain_and_its_traceback() -> None:
    def f(x):
        frontend.graph_break()
        raise ValueError(x.shape[0])

    compiled = frontend.compile(f, backend="eager")
    found = []
    for function in (f, compiled, compiled):
        try:
            try:
                raise KeyError("outside") from TypeError("cause")
            except KeyError as error:
                before = error.__traceback__
                function(torch.ones(2))
        except ValueError as error:
            assert error.__context__.__traceback__ is before
            found.append(chain(error))
    assert found[0][4][3] == ("TypeError", "cause", False, None, None)
    assert found[1:] == found[:1] * 2
