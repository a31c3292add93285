"""Run what leaves something behind in the process in a child of its own."""

import os
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
