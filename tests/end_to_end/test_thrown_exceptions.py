"""What an exception that is thrown into a generator has as its context: what the generator handles, not what its caller does."""

import contextlib
import functools

import pytest

from framesmith import frontend


def plain():
    yield 1


def handling():
    try:
        raise KeyError("inner")
    except KeyError:
        yield 1


def raising(error):
    try:
        yield 1
    finally:
        raise error


def replacing():
    try:
        yield 1
    except ValueError:
        raise KeyError("replaced") from None


def closing():
    try:
        yield 1
    except GeneratorExit:
        raise KeyError("closed")  # noqa: B904


def delegating():
    yield from plain()


def chain(error):
    texts = []
    while error is not None:
        texts.append(repr(error))
        error = error.__context__
    return texts


def throw_while_handling(items, thrown, *, advance=True):
    if advance:
        next(items)
    try:
        raise ValueError("handled by the caller")
    except ValueError:
        try:
            items.throw(thrown)
        except (KeyError, ValueError) as error:
            return chain(error), chain(thrown)


def throw(items, thrown):
    next(items)
    try:
        items.throw(thrown)
    except ValueError as error:
        return chain(error)


def close_while_handling(items):
    next(items)
    try:
        raise ValueError("handled by the caller")
    except ValueError:
        try:
            items.close()
        except KeyError as error:
            return chain(error)


def ended():
    items = plain()
    return [*items], throw_while_handling(items, ValueError("thrown"), advance=False)


def stacked():
    @contextlib.contextmanager
    def replaces(error):
        try:
            yield
        finally:
            raise error

    first, second, third, fourth = (Exception(number) for number in range(4))
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(replaces(fourth))
            stack.enter_context(replaces(third))
            stack.enter_context(replaces(second))
            raise first
    except Exception as error:
        return chain(error)


PROGRAMS = {
    "suspended": lambda: throw_while_handling(plain(), ValueError("thrown")),
    "not begun": lambda: throw_while_handling(plain(), ValueError("thrown"), advance=False),
    "handling": lambda: throw_while_handling(handling(), ValueError("thrown")),
    "handling, from outside": lambda: throw(handling(), ValueError("thrown")),
    "raising": lambda: throw_while_handling(raising(ValueError("other")), ValueError("thrown")),
    "replacing": lambda: throw_while_handling(replacing(), ValueError("thrown")),
    "delegating": lambda: throw_while_handling(delegating(), ValueError("thrown")),
    "closing": lambda: close_while_handling(closing()),
    "ended": ended,
    "a stack of context managers": stacked,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_contexts_are_those_of_eager(name):
    program = PROGRAMS[name]
    compiled = frontend.compile(program, backend="eager")
    for _ in range(3):
        assert compiled() == program()


def named(x):
    def wrapper():
        pass

    try:
        functools.update_wrapper(wrapper, type)
    except TypeError as error:  # 3.12 refuses what it reads itself
        return str(error)
    return wrapper.__name__, wrapper.__qualname__, wrapper.__module__, "__name__" in wrapper.__dict__


def test_an_entry_of_its_dictionary_does_not_hide_a_field_of_a_function():
    def target():
        pass

    def read(x):
        return target.__name__, target.mark

    target.mark = 1
    compiled = frontend.compile(read, backend="eager")
    assert compiled(1) == ("target", 1)
    target.__dict__["__name__"] = "hidden"
    assert compiled(1) == read(1) == ("target", 1)
    target.__name__ = "renamed"
    assert compiled(1) == read(1) == ("renamed", 1)
    assert frontend.compile(named, backend="eager")(1) == named(1)
