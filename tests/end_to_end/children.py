"""Run what leaves something behind in the process in a child of its own."""

import faulthandler
import os
import time
import traceback
from collections.abc import Callable


def in_child(run: Callable[[], object]) -> None:
    """Run it in a fork of this process; what it raises fails the test."""
    child = os.fork()
    if not child:
        try:
            run()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def failing_forks(count: int, pause: float, is_good: Callable[[], bool]) -> list[object]:
    """Fork while other threads work, later each time; what went wrong in the children: an exit status, or that one hangs.

    A child that hangs prints the tracebacks of its threads first.
    """
    failed: list[object] = []
    for number in range(count):
        time.sleep(pause * number)
        child = os.fork()
        if not child:
            faulthandler.dump_traceback_later(50)
            os._exit(0 if is_good() else 1)
        until = time.monotonic() + 60
        while (done := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < until:
            time.sleep(0.005)
        if done[0] == 0:
            os.kill(child, 6)
            os.waitpid(child, 0)
            return [*failed, "hangs"]
        if done[1]:
            failed.append(done[1])
    return failed
