"""What torch's dispatcher keeps for a thread is put back when something was raised: stacks of modes, levels of functorch, keys.

    with dispatch_state_kept():
        backend(module, inputs)     interrupted while AOTAutograd has entered its modes

Ctrl-C comes between any two instructions, those of the modes' own `__exit__` as well. What stays in force then would hold for the
rest of the program: its operations would give fakes, or fail with an assertion of torch.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

import torch
from torch._C import DispatchKey
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack, _pop_mode

_KEYS: Final = tuple(DispatchKey.__members__.values())


@contextmanager
def dispatch_state_kept() -> Iterator[None]:
    """Whatever is raised inside, the dispatcher is left as it was found."""
    modes, functions = _get_current_dispatch_mode_stack(), torch._C._len_torch_function_stack()
    levels = torch._C._functorch.get_dynamic_layer_stack_depth()
    included, excluded = (
        torch._C._dispatch_tls_local_include_set(),
        torch._C._dispatch_tls_local_exclude_set(),
    )
    try:
        yield
    except BaseException:
        if torch._C._functorch.get_dynamic_layer_stack_depth() > levels:
            torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth(levels)
        _take_off(modes)
        while torch._C._len_torch_function_stack() > functions:
            torch._C._pop_torch_function_stack()
        _restore_keys(included, excluded)
        raise


def _take_off(before: list[TorchDispatchMode]) -> None:
    known = {id(mode) for mode in before}
    for mode in reversed(_get_current_dispatch_mode_stack()):
        if id(mode) in known:
            continue
        count = torch._C._len_torch_dispatch_stack()
        # its own way out may do more than to take it off
        with suppress(Exception), ExitStack() as leaving:
            leaving.push(mode)
        if torch._C._len_torch_dispatch_stack() == count:
            _pop_mode(getattr(mode, "_mode_key", None))


def _restore_keys(included: torch._C.DispatchKeySet, excluded: torch._C.DispatchKeySet) -> None:
    """Of those that the dispatcher adds to each operation, and those that it leaves out."""
    now = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
    if [one.raw_repr() for one in now] == [included.raw_repr(), excluded.raw_repr()]:
        return
    for key in _KEYS:
        if now[0].has(key) != included.has(key):
            torch._C._dispatch_tls_set_dispatch_key_included(key, included.has(key))
        if now[1].has(key) != excluded.has(key):
            torch._C._dispatch_tls_set_dispatch_key_excluded(key, excluded.has(key))
