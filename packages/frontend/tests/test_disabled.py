"""`framesmith.frontend.disabled`: the native form of a function, told from what only has its mark."""

import functools

import torch

from framesmith.frontend.disabled import calls_compiled_form, is_disabled, make_native


def twice(x):
    return x * 2


def test_a_native_form_calls_the_function_and_is_known():
    native = make_native(twice, "a reason")
    assert native(3) == 6
    assert is_disabled(native)
    assert native.__name__ == "twice"


def test_a_wrapper_with_the_copied_mark_is_none():
    @functools.wraps(make_native(twice, None))
    def outer(x):
        return twice(x) + 1

    assert not is_disabled(outer)
    assert not is_disabled(twice)


def test_modules_with_a_call_of_their_own_run_no_form_stored_in_place():
    class Own(torch.nn.Module):
        def __call__(self, x):
            return x

    assert calls_compiled_form(torch.nn.Linear)
    assert not calls_compiled_form(Own)
    assert not calls_compiled_form(torch.jit.ScriptModule)
