"""Mutations of the process and of the call: gradient mode, default dtype, autocast, global hooks; keywords, missing arguments.

Ambient state is one for both worlds: a mutation is a context that both calls are made in. A way to call is a function
that makes the call.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch
from tests.end_to_end.worlds import World


@contextlib.contextmanager
def _default_dtype() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextlib.contextmanager
def _deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@contextlib.contextmanager
def _global_hook(register: Callable[..., Any], hook: Callable[..., Any]) -> Iterator[None]:
    handle = register(hook)
    try:
        yield
    finally:
        handle.remove()


def _say(module: torch.nn.Module, *rest: Any) -> None:
    print("global hook", type(module).__name__, len(rest))


class _Doubling(torch.overrides.TorchFunctionMode):
    """Doubles what `torch.relu`, `sin` and `add` give."""

    def __torch_function__(self, function: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        return out * 2 if function in (torch.relu, torch.Tensor.relu, torch.sin, torch.Tensor.sin) else out


modules = torch.nn.modules.module
AMBIENT: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "default dtype": _default_dtype,
    "deterministic": _deterministic,
    "detect_anomaly": lambda: torch.autograd.set_detect_anomaly(True),
    "function mode": _Doubling,
    "device cpu": lambda: torch.device("cpu"),
    # indices stay as they are: with others, torch writes beyond the memory of a gradient
    "saved tensors hooks": lambda: torch.autograd.graph.saved_tensors_hooks(
        lambda t: t, lambda t: t * 2 if t.is_floating_point() else t
    ),
    "global forward hook": lambda: _global_hook(modules.register_module_forward_hook, _say),
    "global forward pre-hook": lambda: _global_hook(modules.register_module_forward_pre_hook, _say),
    "multithreading": lambda: torch.autograd.set_multithreading_enabled(False),
}

Call = tuple[tuple[Any, ...], dict[str, Any]]


def _renamed(world: World) -> Call:
    function = getattr(world.function, "forward", world.function)
    code = getattr(function, "__func__", function).__code__
    first = 1 if hasattr(function, "__func__") else 0
    names = code.co_varnames[first : first + len(world.args)]
    return (), {**dict(zip(names, world.args, strict=True)), **world.kwargs}


CALLS: dict[str, Callable[[World], Call]] = {
    "one argument too few": lambda world: (tuple(world.args[:-1]), world.kwargs),
    "one argument too many": lambda world: ((*world.args, 1), world.kwargs),
    "unexpected keyword": lambda world: (tuple(world.args), {**world.kwargs, "unexpected": 1}),
    "last argument twice": lambda world: (
        ((*world.args[:-2], world.args[-1], world.args[-1]), world.kwargs)
        if len(world.args) > 1
        else (tuple(world.args), world.kwargs)
    ),
    "all by keyword": _renamed,
}
