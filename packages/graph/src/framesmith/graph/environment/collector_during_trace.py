"""The garbage collector is disabled while fake tensors are in force.

It finalizes what it finds: a suspended generator of the user's, say, whose `finally` would then run in the middle of a trace, under
torch's fake tensors. The collector has one state for the process, so the traces of all threads are counted.
A forked child has the forking thread only: no other trace goes on there. So a fork waits for them: a trace may be in the middle of
what torch does once in a process, under locks of its own that nobody would release in the child.
"""

import contextlib
import gc
import os
import threading
import time
from collections.abc import Iterator
from typing import Final

_FORK_TIMEOUT: Final = 10.0
"""Seconds. A trace may wait for the forking thread, or be long: then the child is as Python makes it."""
_PAUSE: Final = 0.001

_lock = threading.RLock()
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


def _before_fork() -> None:
    """Wait until no other thread traces; none begins before the fork has happened, since it needs the lock."""
    own, until = getattr(_own, "count", 0), time.monotonic() + _FORK_TIMEOUT
    _lock.acquire()
    while _resting > own and time.monotonic() < until:
        _lock.release()
        time.sleep(_PAUSE)
        _lock.acquire()


def _after_fork() -> None:
    _lock.release()


def _start_over() -> None:
    """In a forked child: a fresh lock, and the traces of this thread alone."""
    global _lock, _resting
    _lock = threading.RLock()
    others = _resting > 0
    _resting = getattr(_own, "count", 0)
    if others and not _resting and _was_enabled:
        gc.enable()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_start_over)
