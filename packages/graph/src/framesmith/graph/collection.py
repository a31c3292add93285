"""The garbage collector rests while fake tensors are in force.

It finalises what it finds: a suspended generator of the user's, say, whose `finally` would then run in the middle of a trace, under
torch's fake tensors. The state of the collector belongs to the process, so traces in several threads count themselves.
"""

import contextlib
import gc
import threading
from collections.abc import Iterator

_lock = threading.Lock()
_resting = 0
_was_enabled = False


@contextlib.contextmanager
def resting() -> Iterator[None]:
    """No collection starts by itself inside."""
    global _resting, _was_enabled  # one collector for the process
    with _lock:
        if not _resting:
            _was_enabled = gc.isenabled()
            gc.disable()
        _resting += 1
    try:
        yield
    finally:
        with _lock:
            _resting -= 1
            if not _resting and _was_enabled:
                gc.enable()
