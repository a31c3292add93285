"""A container that another thread changes while a function is traced is read at one time, or the trace is made again."""

import collections
import sys
import threading
import types
import warnings

import pytest
import torch

from framesmith import frontend

PROGRAMS = {
    "items": lambda x, held: x + sum(value for _, value in list(held.dict.items())),
    "look-up": lambda x, held: x + held.dict.get(25, 0),
    "copy": lambda x, held: x + sum(held.dict.copy().values()),
    "an ordered dict": lambda x, held: x + sum(list(held.ordered.copy().values())),
    "attributes": lambda x, held: x + sum(list(vars(held.object).values())),
    "a list": lambda x, held: x + sum(held.list),
    "a set": lambda x, held: x + len(held.set | {1}),
    "a deque": lambda x, held: x + held.deque[-1],
    "threads": lambda x, held: x + (threading.current_thread() is threading.main_thread()),
}


@pytest.fixture
def held():
    """Containers that a thread changes as often as it can."""
    numbers = dict.fromkeys(range(20), 1)
    held = types.SimpleNamespace(
        dict={**numbers},
        ordered=collections.OrderedDict(numbers),
        object=types.SimpleNamespace(**{f"a{number}": 1 for number in numbers}),
        list=[*numbers],
        set={*numbers},
        deque=collections.deque(numbers),
    )
    ended = threading.Event()

    def change():
        number = 0
        while not ended.is_set():
            number = (number + 7) % 40
            for container in (held.dict, held.ordered, vars(held.object)):
                name = f"a{number}" if container is vars(held.object) else number
                if container.pop(name, None) is None:
                    container[name] = 1
            held.set ^= {number}
            held.deque.append(1)
            held.list.append(1)
            if number < 20:
                held.deque.popleft()
                held.list.pop()
            if len(held.list) > 40:
                del held.list[20:]
            while len(held.deque) > 40:
                held.deque.popleft()
            other = threading.Thread(target=int)
            other.start()
            other.join()

    thread, before = threading.Thread(target=change), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    yield held
    ended.set()
    thread.join()
    sys.setswitchinterval(before)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_trace_fails(name, held):
    with warnings.catch_warnings():
        warnings.simplefilter("error", frontend.TracingBugWarning)
        warnings.simplefilter("ignore", frontend.RecompileLimitWarning)
        for _ in range(10):
            program = types.FunctionType(PROGRAMS[name].__code__, globals())  # traced anew
            compiled = frontend.compile(program, backend="eager")
            assert torch.isfinite(compiled(torch.ones(2), held)).all()
