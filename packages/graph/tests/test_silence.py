"""What is not heard while an operation is inferred, and what a forked child has of it."""

import os
import sys
import threading
import warnings

import pytest
import torch

from framesmith.graph.environment.silence import SILENCE


def test_a_warning_is_heard_outside_only():
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with SILENCE, SILENCE:
            warnings.warn("inside", stacklevel=1)
        warnings.warn("outside", stacklevel=1)
    assert [str(one.message) for one in heard] == ["outside"]
    assert not torch._C._get_warnAlways()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_forked_while_another_thread_infers_starts_over():
    infers, forked = threading.Event(), threading.Event()

    def infer():
        with SILENCE:
            infers.set()
            forked.wait()

    thread = threading.Thread(target=infer)
    thread.start()
    infers.wait()
    child = os.fork()
    if not child:
        good = not torch._C._get_warnAlways()
        with SILENCE:
            good = good and torch._C._get_warnAlways()
        os._exit(0 if good and not torch._C._get_warnAlways() else 1)
    forked.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert not torch._C._get_warnAlways()
