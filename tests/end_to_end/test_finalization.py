"""A suspended generator is closed when the last reference goes, neither earlier nor later; so are objects with `__del__`."""

import gc

import pytest
import torch
from tests.end_to_end.support import check, check_source

from framesmith import frontend

X = torch.arange(3.0)


def guarded(x, log):
    try:
        yield x
        yield x + 1
        yield x + 2
    finally:
        log.append("closed")


@frontend.disable
def native(x):
    return x


@frontend.disable
def failing(x):
    raise KeyError("native")


def raised_in_the_loop(x, log):
    for y in guarded(x, log):
        raise KeyError("traced")


def raised_natively_in_the_loop(x, log):
    for y in guarded(x, log):
        failing(y)


def raised_by_a_builtin(x, log):
    for y in guarded(x, log):
        log.append(int("x"))


def unbound_name_in_the_loop(x, log):
    for y in guarded(x, log):
        missing(y)  # noqa: F821


def unbound_name_in_try(x, log):
    for y in guarded(x, log):
        try:
            missing(y)  # noqa: F821
        finally:
            log.append("finally")


def in_an_inlined_function(x, log):
    raised_in_the_loop(x, log)


def natively_in_an_inlined_function(x, log):
    raised_natively_in_the_loop(x, log)


def raised_after_a_break(x, log):
    for y in guarded(x, log):
        native(y)
        log.append("in")
        raise KeyError("traced")


def raised_natively_after_a_break(x, log):
    for y in guarded(x, log):
        native(y)
        failing(y)


LEAVING = [
    raised_in_the_loop, raised_natively_in_the_loop, raised_by_a_builtin, unbound_name_in_the_loop, unbound_name_in_try,
    in_an_inlined_function, natively_in_an_inlined_function, raised_after_a_break, raised_natively_after_a_break,
]  # fmt: skip


@pytest.mark.parametrize("leaving", LEAVING, ids=lambda leaving: leaving.__name__)
def test_closed_when_an_exception_leaves_the_loop(leaving):
    check(leaving, X, [])


@pytest.mark.parametrize("leaving", LEAVING, ids=lambda leaving: leaving.__name__)
def test_closed_before_the_handler_runs(leaving):
    def f(x, log):
        try:
            leaving(x, log)
        except Exception as error:
            log.append(f"handled {type(error).__name__}")
        log.append("after")
        return x * len(log), log

    check(f, X, [])


@pytest.mark.parametrize("leaving", LEAVING, ids=lambda leaving: leaving.__name__)
def test_closed_before_finally_runs(leaving):
    def f(x, log):
        try:
            leaving(x, log)
        finally:
            log.append(x.sum().item())

    check(f, X, [])


def broken_off(x, log):
    for y in guarded(x, log):
        break
    log.append("after")
    return y, log


def broken_off_after_a_break(x, log):
    for y in guarded(x, log):
        print("break")
        break
    log.append("after")
    return y, log


def broken_off_in_the_second_turn(x, log):
    for i, y in enumerate(guarded(x, log)):
        print("turn", i)
        log.append(i)
        if i == 1:
            break
    log.append("after")
    return y, log


def returned_from_the_loop(x, log):
    def g():
        for y in guarded(x, log):
            print("break")
            return y

    y = g()
    log.append("after")
    return y, log


def zipped(x, log):
    for y, n in zip(guarded(x, log), [1]):
        log.append(n)
    log.append("after")
    return y, log


def temporary(x, log):
    y = next(guarded(x, log))
    log.append("after")
    return y, log


def temporary_after_a_break(x, log):
    y = next(native(guarded(x, log)))
    log.append("after")
    return y, log


def rebound(x, log):
    g = guarded(x, log)
    y = next(g)
    g = None
    log.append("after")
    return y, log


def rebound_after_a_break(x, log):
    g = guarded(x, log)
    y = next(g)
    print("break")
    log.append("before")
    g = None
    log.append("after")
    return y, log


def deleted(x, log):
    g = guarded(x, log)
    y = next(g)
    del g
    log.append("after")
    return y, log


def deleted_cell(x, log):
    g = guarded(x, log)

    def step():
        return next(g)

    y = step()
    g = None
    log.append("after")
    return y, log


def held_by_a_variable_until_the_end(x, log):
    g = guarded(x, log)
    y = next(g)
    print("break")
    log.append("after")
    return y, log


def held_by_a_list(x, log):
    held = [guarded(x, log)]
    y = next(held[0])
    log.append("before")
    held = None
    log.append("after")
    return y, log


def held_by_a_method(x, log):
    step = guarded(x, log).__next__
    y = step()
    log.append("before")
    z = step()
    step = None
    log.append("after")
    return y + z, log


def held_by_the_frame_in_a_traceback(x, log):
    def g():
        gen = guarded(x, log)
        next(gen)
        raise KeyError(1)

    try:
        g()
    except KeyError:
        log.append("handler")
    log.append("after")
    return x + 1, log


def held_by_the_frame_of_a_native_exception(x, log):
    def g():
        gen = guarded(x, log)
        next(gen)
        failing(x)

    try:
        g()
    except KeyError:
        log.append("handler")
    log.append("after")
    return x + 1, log


def nested_loops(x, log):
    try:
        for y in guarded(x, log):
            for z in guarded(y, log):
                print("break")
                log.append("inner")
                raise ValueError(1)
    except ValueError:
        log.append("handler")
    return x + len(log), log


def generator_in_a_generator(x, log):
    def outer():
        for y in guarded(x, log):
            yield y
            log.append("outer")

    for y in outer():
        print("break")
        break
    log.append("after")
    return y, log


DROPPED = [
    broken_off, broken_off_after_a_break, broken_off_in_the_second_turn, returned_from_the_loop, zipped, temporary,
    temporary_after_a_break, rebound, rebound_after_a_break, deleted, deleted_cell, held_by_a_variable_until_the_end,
    held_by_a_list, held_by_a_method, held_by_the_frame_in_a_traceback, held_by_the_frame_of_a_native_exception,
    nested_loops, generator_in_a_generator,
]  # fmt: skip


@pytest.mark.parametrize("function", DROPPED, ids=lambda function: function.__name__)
def test_closed_when_dropped(function):
    check(function, X, [])


class Loud:
    def __init__(self, log):
        self.log = log

    def __del__(self):
        self.log.append("del")


def object_rebound(x, log):
    one = Loud(log)
    one = None
    log.append("after")
    return x + 1


def object_never_bound(x, log):
    Loud(log)
    log.append("after")
    return x + 1


def object_held_across_a_break(x, log):
    one = Loud(log)
    print("break")
    log.append("after")
    return x + 1


def object_popped(x, log):
    held = [Loud(log)]
    held.pop()
    log.append("after")
    return x + 1


def object_of_an_inlined_function(x, log):
    def g():
        one = Loud(log)
        return x + len(log)

    y = g()
    log.append("after")
    return y


OBJECTS = [
    object_rebound, object_never_bound, object_held_across_a_break, object_popped, object_of_an_inlined_function,
]  # fmt: skip


@pytest.mark.parametrize("function", OBJECTS, ids=lambda function: function.__name__)
def test_objects_with_a_finalizer(function):
    check(function, X, [])


HELD_BY_A_DEAD_VARIABLE = """
import torch

class Holder:
    pass

def steps(x):
    try:
        yield x + 1
        yield x + 2
    finally:
        print("closed")

def f(x):
    held = steps(x)
    y = next(held)
    {hold}
    held = None
    print("one")
    y = y * 2
    print("two")
    return y

def args():
    return (torch.ones(2),)
"""
HOLDING = (
    "box = [held]",
    "box = (held,)",
    "box = {1: held}",
    "box = [[held]]",
    "box = Holder(); box.it = held",
)


@pytest.mark.parametrize("hold", HOLDING)
def test_a_generator_in_a_variable_that_nobody_reads_lives_as_long_as_the_frame(hold):
    check_source(HELD_BY_A_DEAD_VARIABLE.format(hold=hold))


def test_garbage_of_the_user_is_not_finalized_in_a_trace():
    seen = []

    def steps():
        try:
            yield
        finally:
            seen.append(type(torch.ones(1) + 1))

    def leave_garbage():
        held = [steps()]
        next(held[0])
        held.append(held)

    kept, thresholds = gc.get_threshold(), range(300, 4000, 400)
    try:
        for threshold in thresholds:  # the collector would start here and there
            gc.disable()
            leave_garbage()
            gc.set_threshold(threshold, 1, 1)
            gc.enable()
            frontend.compile(lambda x: [x + i for i in range(5)], backend="eager")(torch.ones(2))
            gc.collect()
    finally:
        gc.enable()
        gc.set_threshold(*kept)
    assert seen == [torch.Tensor] * len(thresholds)


MODULE_WITH_DEL = """
import torch

class Watched(torch.nn.Module):
    def __del__(self):
        LOG.append("gone")

def f(x):
    held = BOX.pop()
    y = x + 1
    held = None
    LOG.append("after")
    return y, list(LOG)

LOG = []

BOX = []

def args():
    BOX[:] = [Watched(), Watched(), Watched()]
    return (torch.ones(2),)
"""


def test_a_module_with_del_goes_when_its_last_variable_does():
    check_source(MODULE_WITH_DEL)
