"""Errors of this layer that are no graph breaks: mistakes of the user's program, failed backends, bugs of our own."""

from collections.abc import Sequence
from typing import Final, final


@final
class FakeFailure(Exception):
    """Running an operation on fake tensors raised what eager would raise: the user's mistake.

    `original` is that exception. No node was recorded and no fake was changed.
    """

    def __init__(self, operation: str, original: BaseException) -> None:
        self.operation = operation
        self.original = original
        super().__init__(f"{operation} raised {type(original).__name__}: {original}")


@final
class FloatNeeded(Exception):
    """An operation decided on a symbolic float, or computed a size from it, so the float has to be fixed (ADR 0011)."""

    def __init__(self, operation: str) -> None:
        super().__init__(f"a float that {operation} has to know")


@final
class NumbersNeeded(Exception):
    """An operation of torch read the numbers in these tensors, where a graph needs numbers. No node was recorded."""

    def __init__(self, operation: str, tensors: Sequence[object]) -> None:
        self.tensors = tuple(tensors)
        super().__init__(f"a number that {operation} reads out of a tensor")


_NEXT_STEP: Final = 'try backend="eager" (the captured graph as it is) or backend="aot_eager" (with autograd) to see which part fails'


@final
class BackendFailed(RuntimeError):
    """The backend raised, or gave back something that cannot be called. `original` is its exception, if any. `next_step` says what to
    do; without it, how to find the part that fails."""

    def __init__(
        self,
        backend: str,
        problem: str,
        original: BaseException | None = None,
        *,
        next_step: str = _NEXT_STEP,
    ) -> None:
        self.backend = backend
        self.original = original
        super().__init__(f"backend {backend!r} {problem}\nnext step: {next_step}")


@final
class UnknownBackend(ValueError):
    """A backend name that is neither registered nor an entry point of an installed distribution."""

    def __init__(self, name: str, known: tuple[str, ...], near: str = "") -> None:
        self.name = name
        self.known = known
        super().__init__(
            f"backend {name!r} is not known{near}; known are {', '.join(known)}. Pass a callable "
            "(graph_module, example_inputs) -> callable, register one with register_backend, or install the "
            "distribution that provides it as an entry point of the group 'torch_dynamo_backends'"
        )


@final
class RecorderMisuse(AssertionError):
    """A bug of the layers above: the recorder was used against its contract."""
