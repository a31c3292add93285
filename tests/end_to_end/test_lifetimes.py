"""A compiled function keeps nothing alive, and may be called and compiled by many threads at once."""

import gc
import threading
import weakref

import pytest
import torch

from framesmith import frontend

X = torch.arange(6.0).reshape(2, 3)


def closure_over_tensor():
    tensor = torch.ones(3)
    return lambda x: x * tensor + 1, weakref.ref(tensor)


def closure_over_module():
    module = torch.nn.Linear(3, 3)
    return lambda x: module(x).relu(), weakref.ref(module)


def closure_with_a_break():
    module = torch.nn.Linear(3, 3)

    def f(x):
        for _ in range(3):
            x = module(x)
            print(end="")
        return x

    return f, weakref.ref(module)


def closure_that_keeps_a_cell():
    module, count = torch.nn.Linear(3, 3), 0

    def f(x):
        nonlocal count
        count += 1
        return module(x) + count

    return f, weakref.ref(module)


MAKERS = (closure_over_tensor, closure_over_module, closure_with_a_break, closure_that_keeps_a_cell)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_a_compiled_closure_is_freed(make, backend):
    function, captured = make()
    compiled = frontend.compile(function, backend=backend)
    for _ in range(3):
        compiled(X)
    left = [weakref.ref(compiled), weakref.ref(function), captured]
    del compiled, function
    gc.collect()
    assert [one() for one in left] == [None, None, None]


def test_a_compiled_module_is_freed():
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    compiled = frontend.compile(module, backend="eager")
    compiled(X).sum().backward()
    left = [weakref.ref(module[0]), weakref.ref(module[0].weight), weakref.ref(compiled)]
    del module, compiled
    gc.collect()
    assert [one() for one in left] == [None, None, None]


def test_arguments_and_results_are_freed():
    compiled = frontend.compile(lambda x, items: items.append(x * 2) or x + 1, backend="eager")
    x = torch.ones(3)
    result = compiled(x, [])
    left = [weakref.ref(x), weakref.ref(result)]
    del x, result
    gc.collect()
    assert [one() for one in left] == [None, None]


def in_threads(work, count=8):
    """Run `work(number)` in threads that start together; what they raised."""
    start, raised = threading.Barrier(count), []

    def run(number):
        start.wait()
        try:
            work(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return raised


def program(x, n, log):
    total = x
    for i in range(n):
        total = total * 2 + i
        log.append(len(log))
    if total.sum() > 0:
        total = total - n
    return total, [total, n]


def test_eight_threads_compile_and_call_the_same_function():
    compiled = frontend.compile(program, backend="eager")

    def work(number):
        for turn in range(10):
            x, log, expected_log = X + number - turn, [], []
            result, expected = compiled(x, number, log), program(x, number, expected_log)
            assert torch.equal(result[0], expected[0])
            assert result[1][0] is result[0]
            assert (result[1][1], log) == (number, expected_log)

    assert in_threads(work) == []


def test_eight_threads_compile_functions_of_their_own():
    def work(number):
        compiled = frontend.compile(lambda x: program(x, number, [])[0] + number, backend="eager")
        for turn in range(5):
            assert torch.equal(compiled(X + turn), program(X + turn, number, [])[0] + number)

    assert in_threads(work) == []


def test_threads_keep_their_own_grad_mode():
    module = torch.nn.Linear(3, 3)
    compiled = frontend.compile(lambda x: module(x) * 2, backend="eager")

    def work(number):
        for _ in range(10):
            with torch.set_grad_enabled(number % 2 == 0):
                assert compiled(X).requires_grad is (number % 2 == 0)

    assert in_threads(work) == []
