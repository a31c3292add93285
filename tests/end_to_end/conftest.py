"""What holds for every end-to-end test: bugs of ours fail the test, emitted code and entries are verified, no state is left over."""

import ctypes

import pytest
import torch

from framesmith import frontend


@pytest.fixture(autouse=True)
def strict_framesmith():
    """Bugs are raised, emitted code is verified, and each test starts with nothing compiled."""
    torch.set_num_threads(1)
    frontend.reset()
    with frontend.config.patch(raise_bugs=True, verify_code=True, verify_entries=True):
        yield
    frontend.reset()
    evaluate_frames_as_ever()


def evaluate_frames_as_ever():
    """Take torch's hook out of CPython (PEP 523): it stays there where an operator of torch that compiles its body raises, and frames
    hold their arguments longer then."""
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = ctypes.c_void_p
    interpreter = ctypes.c_void_p(api.PyInterpreterState_Get())
    default = ctypes.cast(api._PyEval_EvalFrameDefault, ctypes.c_void_p)
    api._PyInterpreterState_SetEvalFrameFunc(interpreter, default)
