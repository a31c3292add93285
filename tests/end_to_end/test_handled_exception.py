"""`sys.exc_info()` and `sys.exception()`: inside and outside of handlers, of the compiled function's and of its caller's."""

import contextlib
import sys

import torch
from tests.end_to_end.support import check

from framesmith import frontend


def after_a_handler(x):
    y = x + 1
    try:
        raise ValueError("traced")
    except ValueError:
        inside = sys.exc_info()[0]
    return y * 2, inside, sys.exc_info(), sys.exception()


def test_no_exception_is_handled():
    check(after_a_handler, torch.ones(2), breaks=0)


def test_the_caller_is_in_a_handler_or_not():
    compiled = frontend.compile(after_a_handler, backend="eager")
    for order in ((False, True, False, True), (True, False, True)):
        frontend.reset()
        for is_handling in order:
            found = []
            for function in (after_a_handler, compiled):
                try:
                    if is_handling:
                        raise KeyError("native")
                    found.append(function(torch.ones(2))[1:])
                except KeyError as error:
                    _, inside, now, current = function(torch.ones(2))
                    assert current is error and now[1] is error
                    found.append((inside, now[0]))
            assert found[0] == found[1]


def test_a_generator_is_asked_in_a_handler_of_its_caller():
    def asking():
        yield sys.exception()
        yield sys.exception()

    def f(x):
        generator = asking()
        first = next(generator)
        try:
            raise ValueError(3)
        except ValueError as error:
            return x + 1, first, next(generator) is error

    check(f, torch.ones(2), breaks=0)


def test_an_exit_stack_is_one_graph_up_to_3_14():
    class Manager:
        def __init__(self, log):
            self.log = log

        def __enter__(self):
            return self

        def __exit__(self, kind, error, traceback):
            self.log.append((kind, repr(error)))
            return kind is not None

    def f(x, fails):
        log = []
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            stack.enter_context(Manager(log))
            x = x * 2
            if fails:
                raise ValueError("inside")
        return x + 1, log

    # from 3.15 on it looks up `__exit__` with inspect.getattr_static, which breaks the graph
    breaks = 0 if sys.version_info < (3, 15) else None
    check(f, torch.ones(2, requires_grad=True), False, breaks=breaks)
    check(f, torch.ones(2, requires_grad=True), True)
