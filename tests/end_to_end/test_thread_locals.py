"""`threading.local`: each thread has its own attributes, which the trace reads, guards and stores."""

import threading

import pytest
import torch

from framesmith import frontend

LOCAL = threading.local()


class Holder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.local = LOCAL

    def forward(self, x):
        self.local.depth = getattr(self.local, "depth", 0) + 1
        try:
            return x * self.local.depth
        finally:
            self.local.last = x


def counting(x):
    LOCAL.count += 1
    return x * LOCAL.count


def asked(x):
    if hasattr(LOCAL, "flag"):
        del LOCAL.flag
        return x + 1
    LOCAL.flag = x
    return x + LOCAL.flag, LOCAL.flag


def missing(x):
    try:
        return x * LOCAL.nothing
    except AttributeError as error:
        return x, str(error)


def within_a_break(x):
    LOCAL.count = 5
    print(LOCAL.count)
    LOCAL.count += x.shape[0]
    return x * LOCAL.count


def observe(function, number=3):
    vars(LOCAL).clear()
    LOCAL.count = 0
    found = [repr(function(torch.ones(2))) for _ in range(number)]
    return found, {name: repr(value) for name, value in vars(LOCAL).items()}


@pytest.mark.parametrize("function", [Holder(), counting, asked, missing, within_a_break])
def test_attributes_of_this_thread(function):
    expected = observe(function)
    full = function is not within_a_break
    assert observe(frontend.compile(function, backend="eager", fullgraph=full, dynamic=False)) == expected


def test_each_thread_has_its_own():
    compiled, results = frontend.compile(counting, backend="eager"), {}

    def work(start):
        LOCAL.count = start
        results[start] = [compiled(torch.ones(1)).item() for _ in range(3)], LOCAL.count

    for start in (0, 10, 0.5):
        thread = threading.Thread(target=work, args=(start,))
        thread.start()
        thread.join()
    assert results == {start: ([start + 1, start + 2, start + 3], start + 3) for start in (0, 10, 0.5)}


def test_a_derived_class_runs_natively():
    class Own(threading.local):
        def __init__(self):
            self.count = 7

    own = Own()

    def run(x):
        own.count += 1
        return x * own.count

    compiled = frontend.compile(run, backend="eager")
    assert [compiled(torch.ones(1)).item() for _ in range(3)] == [8, 9, 10]


def scoped(x):
    LOCAL.scope = x
    try:
        return x * 2
    finally:
        del LOCAL.scope


def test_a_scope_over_an_attribute_that_may_be_there():
    for order in ((True, False, True), (False, True, False)):
        results = []
        for function in (frontend.compile(scoped, backend="eager"), scoped):
            for is_there in order:
                vars(LOCAL).clear()
                if is_there:
                    LOCAL.scope = 1
                results.append((function(torch.ones(2)).tolist(), sorted(vars(LOCAL))))
        assert results[:3] == results[3:]


def test_the_end_of_what_an_attribute_held():
    class Ending:
        def __init__(self, log):
            self.log = log

        def __del__(self):
            self.log.append("end")

    def run(x, log):
        log.append("before")
        LOCAL.held = None
        log.append("after")
        return x + 1

    compiled, logs = frontend.compile(run, backend="eager"), []
    for function in (compiled, run):
        for _ in range(2):
            logs.append([])
            LOCAL.held = Ending(logs[-1])
            function(torch.ones(1), logs[-1])
    assert logs[:2] == logs[2:]
