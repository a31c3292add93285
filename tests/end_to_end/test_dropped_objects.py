"""What the user drops dies at once, without the collector; modules and processes keep to themselves."""

import gc
import linecache
import os
import subprocess
import sys
import threading
import time

import pytest
import torch
from tests.end_to_end.dropped import KINDS

from framesmith import frontend

X = torch.ones(3)


def compile(function, backend="eager", **options):
    return frontend.compile(function, backend=backend, **options)


@pytest.fixture
def no_collector():
    """torch itself leaves rings behind when it loads its parts: they are loaded before."""
    compile(lambda x: x + 1)(X)
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("calls", [1, 2, 3])
@pytest.mark.parametrize("program", KINDS, ids=lambda program: program.__name__)
def test_it_dies_when_it_is_dropped(program, calls, no_collector):
    kept, references = program(compile, calls)
    assert references
    assert [type(one()) for one in references if one() is not None] == []
    del kept


def cycle():
    def f(x):
        return x * 2 + 1

    compile(f)(X)


def test_texts_of_graphs_are_forgotten_with_them():
    cycle()
    gc.collect()
    before = len(linecache.cache)
    for _ in range(20):
        cycle()
    gc.collect()
    assert len(linecache.cache) <= before + 2


def test_objects_do_not_accumulate():
    counts = []
    for _ in range(3):
        for _ in range(20):
            cycle()
        gc.collect()
        counts.append(len(gc.get_objects()))
    assert counts[2] - counts[1] <= 20, counts


def test_a_child_forked_while_threads_compile_calls_and_compiles():
    shared = compile(lambda x, n: x * 2 + len(n))
    shared(X, "")
    stop = threading.Event()

    def work():
        while not stop.is_set():
            for n in range(4):
                shared(X, "a" * n)
            cycle()
            frontend.reset()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        codes = [forked(shared) for _ in range(20)]
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert codes == [0] * 20


def forked(shared):
    """Exit status of a child that calls a compiled function and compiles another one; -1: it hung."""
    child = os.fork()
    if not child:
        code = 1
        try:
            good = torch.equal(shared(X, "abc"), X * 2 + 3)
            code = 0 if good and torch.equal(compile(lambda x: x + 2)(X), X + 2) else 2
        finally:
            os._exit(code)
    for _ in range(600):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return -1


def test_importing_loads_no_compiler_and_no_command_line():
    program = (
        "import sys, framesmith.frontend\n"
        "print([name for name in ('torch._dynamo', 'torch._inductor', 'typer', 'rich', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
