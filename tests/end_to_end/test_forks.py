"""A process that forks while other threads compile: the child compiles and calls, and does not hang."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, sys, threading, time, warnings
import torch
from framesmith import frontend

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
failed = []
for number in range(10):
    time.sleep(0.003 * number)
    child = os.fork()
    if not child:
        good = known(torch.ones(3)).tolist() == [5.0] * 3 and known(torch.ones(5, 2)).shape == (5, 2)
        os._exit(0 if good and small()(torch.ones(6)).tolist() == [8.0] * 6 else 1)
    until = time.monotonic() + 20
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < until:
        time.sleep(0.005)
    if done[0] == 0:
        os.kill(child, 6)
        os.waitpid(child, 0)
        failed.append("hangs")
        break
    if done[1]:
        failed.append(done[1])
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
