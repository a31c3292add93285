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


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_forked_while_threads_compile_goes_on():
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]", done.stderr
