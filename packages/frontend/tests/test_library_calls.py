"""Which functions belong to libraries whose calls run natively as a whole."""

import abc
import contextlib
import copy
import functools
import heapq
import logging
import os
import queue

import torch

from framesmith.frontend.tracing.library_calls import is_library_code


def test_functions_of_the_standard_library():
    for function in (
        copy.deepcopy,
        heapq.merge,
        queue.Queue.put,
        logging.getLogger,
        os.path.join,
        abc.ABCMeta.register,
    ):
        assert is_library_code(function.__code__), function


def test_functions_that_wrap_others_are_none():
    for function in (functools.singledispatch, contextlib.ExitStack.__exit__, contextlib.contextmanager):
        assert not is_library_code(function.__code__), function


def test_functions_of_torch_that_manage_and_those_that_compute():
    module = torch.nn.Module
    for function in (
        module.register_forward_hook,
        module.named_modules,
        torch.utils.data.DataLoader.__init__,
    ):
        assert is_library_code(function.__code__), function
    for function in (
        module._call_impl,
        torch.nn.Linear.forward,
        torch.nn.functional.relu,
        torch.optim.Optimizer.zero_grad,
    ):
        assert not is_library_code(function.__code__), function


def test_functions_of_the_user_and_of_packages():
    assert not is_library_code(test_functions_of_the_user_and_of_packages.__code__)
    import pytest

    assert not is_library_code(pytest.approx.__code__)
