"""Run a function once and note all that can be seen from outside: result, output, random and global state."""

import contextlib
import io
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch


@dataclass
class Outcome:
    """What one call did."""

    result: Any
    raised: BaseException | None
    output: str
    state: dict[str, Any]


def observe(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
    """Call the function with random numbers from a fixed seed; leave torch's global state as it was."""
    result, raised = None, None
    output = io.StringIO()
    with _state_kept(), contextlib.redirect_stdout(output):
        torch.default_generator.manual_seed(
            7
        )  # the devices have no part in it, and each would note a traceback
        random.seed(7)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            raised = error
        return Outcome(result, raised, output.getvalue(), ambient_state())


def ambient_state() -> dict[str, Any]:
    """torch's switches and the states of the random number generators."""
    return {
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "autocast dtype": torch.get_autocast_dtype("cpu"),
        "default dtype": torch.get_default_dtype(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "torch random": torch.get_rng_state().numpy().tobytes(),
        "python random": repr(random.getstate()),
    }


@contextlib.contextmanager
def _state_kept() -> Iterator[None]:
    before = ambient_state()
    try:
        yield
    finally:
        torch.set_grad_enabled(before["grad"])
        torch.set_default_dtype(before["default dtype"])
        torch.set_autocast_enabled("cpu", before["autocast"])
        torch.use_deterministic_algorithms(before["deterministic"])


def float_tensors(value: Any, seen: set[int] | None = None) -> list[torch.Tensor]:
    """Float tensors with a gradient function inside nested containers, each once."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return []
    seen.add(id(value))
    if isinstance(value, torch.Tensor):
        return [value] if value.requires_grad and value.is_floating_point() else []
    if isinstance(value, dict):
        value = list(value.values())
    return [t for one in value for t in float_tensors(one, seen)] if isinstance(value, list | tuple) else []
