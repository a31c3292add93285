"""The garbage collector is disabled while fake tensors are in force.

It finalizes what it finds: a suspended generator of the user's, say, whose `finally` would then run in the middle of a trace, under
torch's fake tensors. The collector has one state for the process, so the traces of all threads are counted.
A forked child has the forking thread only: no other trace goes on there.
"""

import contextlib
import gc
import os
import threading
from collections.abc import Iterator

_lock = threading.Lock()
_resting = 0
_was_enabled = False
_own = threading.local()  # count: how many of the pauses are this thread's


@contextlib.contextmanager
def pause_collector_for_trace() -> Iterator[None]:
    """A context in which no automatic garbage collection starts, in any thread."""
    global _resting, _was_enabled  # one collector for the process
    with _lock:
        if not _resting:
            _was_enabled = gc.isenabled()
            gc.disable()
        _resting += 1
    _own.count = getattr(_own, "count", 0) + 1
    try:
        yield
    finally:
        _own.count -= 1
        with _lock:
            _resting -= 1
            if not _resting and _was_enabled:
                gc.enable()


def _start_over() -> None:
    """In a forked child: a fresh lock, and the traces of this thread alone."""
    global _lock, _resting
    _lock = threading.Lock()
    others = _resting > 0
    _resting = getattr(_own, "count", 0)
    if others and not _resting and _was_enabled:
        gc.enable()


os.register_at_fork(after_in_child=_start_over)
