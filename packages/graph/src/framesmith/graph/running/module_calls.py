"""What a call of a captured module runs: its `forward`, and no hook that the process registered for all modules.

Those are there for the modules of the program, which a captured graph is none of.
"""

from typing import Final

import torch
from torch import fx

from framesmith.graph.running.pinned_names import pin_names

CALL: Final = "_wrapped_call"  # what `GraphModule.__call__` runs
_HOOKS: Final = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def call_forward(module: fx.GraphModule, *values: object) -> object:
    """`module(*values)` with the hooks that a backend put on this very module."""
    if any(getattr(module, name) for name in _HOOKS):
        return torch.nn.Module.__call__(module, *values)
    return module.forward(*values)


def make_plain(module: fx.GraphModule) -> fx.GraphModule:
    """The module, calls of which are `call_forward` from now on, and run the operations that were captured.

    fx's own `__call__` also prints an error and removes its traceback, in which `failures` finds the operation (ADR 0015).
    """
    setattr(type(module), CALL, staticmethod(call_forward))
    pin_names(module)
    return module
