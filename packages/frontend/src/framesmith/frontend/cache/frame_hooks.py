"""TorchDynamo's hook in CPython, which sees every frame: it is switched off while we trace and compile.

The hook is per thread. Nothing is imported for it: as long as `torch._dynamo` is not loaded there is none.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from torch._C._dynamo import eval_frame


@contextmanager
def without_frame_hook() -> Iterator[None]:
    """Inside of it CPython runs frames as they are; the hook is put back at the end."""
    if "torch._dynamo" not in sys.modules:
        yield
        return
    before = eval_frame.set_eval_frame(None)
    try:
        yield
    finally:
        eval_frame.set_eval_frame(before)
