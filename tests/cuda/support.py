"""Programs for CUDA: how they are found, run and compared.

A program is a function that gives a function, the arguments of each call, and maybe what is called with the compiled function and
those arguments in its place.
"""

import contextlib
import functools
import io
from collections.abc import Callable
from typing import Any

import torch

Program = Callable[[], tuple[Any, ...]]
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]

PROGRAMS: dict[str, Program] = {}


def register(name: str, build: Program) -> None:
    """Add a program under a name."""
    assert name not in PROGRAMS
    PROGRAMS[name] = build


def program(build: Program) -> Program:
    """Add a program under the name of the function."""
    register(build.__name__, build)
    return build


def random(*sizes: int, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Random numbers on CUDA."""
    return torch.randn(*sizes, device="cuda", dtype=dtype)


def outcomes(build: Program, wrap: Wrap) -> list[Any]:
    """What each call of a program gives, prints and leaves behind: arguments, random streams, the stream and the settings."""
    torch.manual_seed(0)
    function, calls, *around = build()
    wrapped = wrap(function)
    called = functools.partial(around[0], wrapped) if around else wrapped
    found = []
    for arguments in calls:
        own = tuple(one.clone() if isinstance(one, torch.Tensor) else one for one in arguments)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                result = plain(called(*own))
            except Exception as error:
                result = type(error).__name__, str(error).partition("\n")[0]
        found.append(
            {
                "result": result,
                "printed": printed.getvalue(),
                "arguments": plain(own),
                "random stream": plain(torch.get_rng_state()),
                "random stream of CUDA": plain(torch.cuda.get_rng_state()),
                "default stream": torch.cuda.current_stream() == torch.cuda.default_stream(),
                "autocast": torch.is_autocast_enabled("cuda"),
                "TF32": torch.backends.cuda.matmul.allow_tf32,
            }
        )
    return found


def plain(value: Any) -> Any:
    """A value that `==` compares to the bit: tensors by their facts and bytes, anything but containers by its text."""
    if isinstance(value, torch.Tensor):
        held = value.detach().cpu()
        held = held if held.layout == torch.strided else held.to_dense()
        data = held.contiguous().reshape(-1).view(torch.uint8).tolist() if held.numel() else []
        return str(value.dtype), str(value.device), tuple(value.shape), value.requires_grad, data
    if isinstance(value, tuple | list):
        return type(value).__name__, [plain(item) for item in value]
    if isinstance(value, dict):
        return [(key, plain(item)) for key, item in value.items()]
    return type(value).__name__, repr(value)
