"""A process that forks while other threads compile: the child compiles and calls, and does not hang."""

import subprocess
import sys

import pytest

PROGRAM = """
import threading, warnings
import torch
from framesmith import frontend
from tests.end_to_end.children import failing_forks

torch.set_num_threads(1)
warnings.simplefilter("ignore")

def small():
    def f(x, n=2):
        return x * n + x.shape[0]
    return frontend.compile(f, backend="eager", dynamic=True)

known = small()
known(torch.ones(3))
stop = False

def compile_on():
    while not stop:
        small()(torch.ones(4))

threads = [threading.Thread(target=compile_on) for _ in range(2)]
for thread in threads:
    thread.start()
def is_good():
    good = known(torch.ones(3)).tolist() == [5.0] * 3 and known(torch.ones(5, 2)).shape == (5, 2)
    return good and small()(torch.ones(6)).tolist() == [8.0] * 6

failed = failing_forks(10, 0.003, is_good)
stop = True
for thread in threads:
    thread.join()
print(failed)
"""


def assert_nothing_fails(program: str) -> None:
    """Run it in a process of its own; what it prints is the list of what failed."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_forked_while_threads_compile_goes_on():
    assert_nothing_fails(PROGRAM)


WITH_ANOTHER_BACKEND = """
import os, threading, time, torch
from framesmith import frontend
from tests.end_to_end.children import failing_forks

reached, parent = threading.Event(), os.getpid()

def slow(module, examples):
    reached.set()
    if os.getpid() == parent:
        time.sleep(1)
    return module.forward

x = torch.ones(2)
compiled = frontend.compile(lambda x: x * 2, backend="eager")
compiled(x)
with torch.compiler.set_stance(force_backend=slow):
    thread = threading.Thread(target=lambda: compiled(x))
    thread.start()
    assert reached.wait(60)
    print(failing_forks(1, 0, lambda: compiled(x).tolist() == [2.0, 2.0]))
    thread.join()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_forked_while_a_stance_compiles_goes_on():
    assert_nothing_fails(WITH_ANOTHER_BACKEND)


WHILE_A_LEAF_IS_ASKED = """
import torch
from framesmith.guards import gradient_nodes
from tests.end_to_end.children import failing_forks

leaf = torch.ones(2, requires_grad=True)
with gradient_nodes._Known.lock:
    print(failing_forks(1, 0, lambda: not gradient_nodes.has_node_hooks(leaf)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_forked_while_the_hooks_of_a_leaf_are_asked_for_goes_on():
    assert_nothing_fails(WHILE_A_LEAF_IS_ASKED)


DURING_IMPORT = """
import os, sys, threading, time, torch
from framesmith import frontend
from tests.end_to_end.children import failing_forks

reached = threading.Event()

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name in {slow!r}:
            reached.set()
            time.sleep(0.3)

sys.meta_path.insert(0, Slow())
compiled, other = (frontend.compile(lambda x: x * 2, backend="eager") for _ in range(2))
thread = threading.Thread(target=lambda: compiled(torch.ones(2)))
thread.start()
assert reached.wait(60)
print(failing_forks(1, 0, lambda: other(torch.ones(2)).tolist() == [2.0, 2.0]))
thread.join()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.parametrize("slow", ["torch._dynamo.exc", "torch.fx.experimental.validator"])
def test_a_fork_waits_for_what_the_first_call_imports(slow: str):
    assert_nothing_fails(DURING_IMPORT.format(slow=(slow,)))


IMPORTED_LATER = """
import sys, torch
from framesmith import frontend
from framesmith.graph.environment import dynamo_package

dynamo_package.prepare()
before = set(sys.modules)
model = torch.nn.Linear(3, 3)
frontend.compile(lambda x: model(x * 2).sum(), backend="eager")(torch.ones(2, 3)).backward()
print(sorted(name for name in set(sys.modules) - before if name.startswith("torch.")))
"""


def test_the_first_call_imports_no_more_of_torch_than_a_fork_waits_for():
    assert_nothing_fails(IMPORTED_LATER)
