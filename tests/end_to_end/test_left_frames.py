"""When a continuation cannot be made, the user's frames are left: `finally` and `with` run, `except` does not."""

import contextlib
import threading

import pytest
import torch

from framesmith import frontend

LOCK = threading.Lock()


class Manager:
    def __init__(self, log, takes):
        self.log, self.takes = log, takes

    def __enter__(self):
        self.log.append("enter")

    def __exit__(self, kind, error, traceback):
        self.log.append(("exit", kind is not None))
        return self.takes


class Failing(Manager):
    def __init__(self, log):
        super().__init__(log, False)

    def __exit__(self, kind, error, traceback):
        super().__exit__(kind, error, traceback)
        if kind is not None:
            raise KeyError("of the program")


@contextlib.contextmanager
def noted(log):
    log.append("in")
    try:
        yield
    finally:
        log.append("out")


def switched(x, log):
    x = x + 1
    try:
        with torch.no_grad():
            print(end="")
            x = x * 2
    finally:
        log.append("left")
    return x


def at_the_end_of_a_block(x, log):
    x = x + 1
    with Manager(log, False):
        print(end="")
    return x * 2


def entered_last(x, log):
    x = x + 1
    with noted(log):
        x = x * 2
        return x


def inner(x, log):
    with noted(log):
        print(end="")
        return x * 2


def inside_a_call(x, log):
    try:
        x = inner(x + 1, log)
    except Exception:
        log.append("wrong")
    finally:
        log.append("outer")
    return x * 3


def second_round(x, log):
    for number in range(3):
        try:
            print(end="")
        finally:
            log.append(number)
        x = x + 1
    return x


def steps(x, log):
    try:
        yield x + 1
        print(end="")
        yield x + 2
    finally:
        log.append("closed")


def inside_a_generator(x, log):
    return sum(y for y in [y * 2 for y in steps(x, log)])


def in_a_handler(x, log):
    try:
        x = x + 1
        raise ValueError
    except ValueError:
        try:
            print(end="")
            x = x * 2
        finally:
            log.append("handled")
    return x


def held_lock(x, log):
    x = x + 1
    with LOCK:
        print(end="")
        x = x + 1
    return x


def a_new_block(x, log):
    x = x + 1
    with noted(log):
        print(end="")
        with torch.no_grad():
            x = x * 2
    return x


def both_raise(x, log):
    x = x + 1
    with Failing(log):
        print(end="")
        x = x * 2
    return x


def taken(x, log):
    x = x + 1
    with Manager(log, True):
        print(end="")
        x = x * 2
    log.append("behind")
    return x


LEFT = {
    switched: ["left"],
    at_the_end_of_a_block: ["enter", ("exit", True)],
    entered_last: ["in", "out"],
    inside_a_call: ["in", "out", "outer"],
    second_round: [0, 1],
    inside_a_generator: ["closed"],
    in_a_handler: ["handled"],
    held_lock: [],
    a_new_block: ["in", "out"],
    both_raise: ["enter", ("exit", True)],
    taken: ["enter", ("exit", True), "behind"],
}


@pytest.mark.parametrize("program", LEFT)
def test_frames_are_left(program):
    graphs = []

    def backend(module, examples):
        graphs.append(module)
        if len(graphs) > 1:
            raise ValueError("the backend takes one graph")
        return module.forward

    log: list[object] = []
    compiled = frontend.compile(program, backend=backend)
    if program is entered_last:  # one graph
        assert compiled(torch.ones(2), log).tolist() == [4.0, 4.0]
    else:
        with pytest.raises(frontend.errors.BackendFailed, match="one graph"):
            compiled(torch.ones(2), log)
    assert log == LEFT[program]
    assert torch.is_grad_enabled()
    assert not LOCK.locked()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interruption_of_the_backend(error):
    count = []

    def backend(module, examples):
        count.append(module)
        if len(count) > 1:
            raise error
        return module.forward

    log: list[object] = []
    with pytest.raises((error, frontend.errors.BackendFailed)):
        frontend.compile(switched, backend=backend)(torch.ones(2), log)
    assert log == ["left"]
    assert torch.is_grad_enabled()


def test_the_next_call_compiles_again():
    count = []

    def backend(module, examples):
        count.append(module)
        if len(count) == 2:
            raise ValueError("once")
        return module.forward

    compiled, log = frontend.compile(switched, backend=backend), []
    with pytest.raises(frontend.errors.BackendFailed):
        compiled(torch.ones(2), log)
    assert compiled(torch.ones(2), log).tolist() == [4.0, 4.0]
    assert log == ["left", "left"]


def test_a_stance_that_refuses_a_second_entry():
    log: list[object] = []
    compiled = frontend.compile(switched, backend="eager")
    compiled(torch.ones(2), log)
    with frontend.config.patch(error_on_recompile=True), pytest.raises(frontend.errors.RecompileError):
        compiled(torch.ones(2, dtype=torch.float64), log)
    assert torch.is_grad_enabled()


def refused(x, log):
    try:
        with torch.no_grad(), Manager(log, False):
            x @ torch.ones(5)  # may raise, so it runs before the break is an error
            print(end="")
    except RuntimeError:
        log.append("raised")
        print(end="")
    finally:
        log.append("left")
    return x


def runs_natively(x, log):
    with torch.no_grad(), Manager(log, False):
        torch._foreach_addcdiv([x], [x], [x], torch.ones(1, dtype=torch.float64))
        x = x * 2
    return x


@pytest.mark.parametrize("program", [refused, runs_natively])
def test_a_break_that_is_an_error_behind_an_operation_that_ran(program):
    log: list[object] = []
    # torch 2.15 runs the operation of the second on fakes: there is no break then
    with (
        pytest.raises(frontend.errors.FullGraphError)
        if program is refused
        else contextlib.suppress(frontend.errors.FullGraphError)
    ):
        frontend.compile(program, backend="eager", fullgraph=True)(torch.ones(2), log)
    assert torch.is_grad_enabled()
    assert log.count("enter") == sum(type(one) is tuple for one in log)


def locked(x, log):
    with LOCK:
        y = x + 1
        print(end="")
    return y


def gradless(x, log):
    with torch.no_grad():
        print(end="")
        y = x + 1
        print(end="")
    return y


def handled_outside(x, log):
    try:
        print(end="")
        y = x + 1
        print(end="")
    except RuntimeError as error:
        log.append(str(error))
        return x
    finally:
        log.append("finally")
    return y


@pytest.mark.parametrize("program", [locked, gradless, handled_outside])
def test_a_graph_that_fails_for_a_reason_of_its_own(program):
    def backend(module, examples):
        def run(*values):
            if fails:
                raise RuntimeError("no memory")
            return module.forward(*values)

        return run

    fails, log = [], []
    compiled = frontend.compile(program, backend=backend)
    compiled(torch.ones(2), log)
    fails.append(True)
    log.clear()
    if program is handled_outside:
        assert compiled(torch.ones(2), log).tolist() == [1.0, 1.0]
        assert log == ["no memory", "finally"]
    else:
        with pytest.raises(RuntimeError, match="no memory"):
            compiled(torch.ones(2), log)
    assert torch.is_grad_enabled()
    assert not LOCK.locked()
    fails.clear()
    assert compiled(torch.ones(2), log).tolist() == [2.0, 2.0]
