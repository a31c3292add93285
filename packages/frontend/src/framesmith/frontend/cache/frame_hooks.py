"""Other compilers may have a hook in the interpreter that sees every frame: it has no business in our slow path.

TorchDynamo's is per thread. Nothing is imported for it: without `torch._dynamo` there is no hook of its.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from torch._C._dynamo import eval_frame


@contextmanager
def without_frame_hook() -> Iterator[None]:
    """The interpreter runs frames as they are."""
    if "torch._dynamo" not in sys.modules:
        yield
        return
    before = eval_frame.set_eval_frame(None)
    try:
        yield
    finally:
        eval_frame.set_eval_frame(before)
