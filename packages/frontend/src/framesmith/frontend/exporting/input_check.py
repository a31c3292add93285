"""The check of arguments in front of an exported module: what the example fixed and the program read still holds.

Sizes that were declared, and relations between them, are checked in the graph (`conditions`).
"""

from collections.abc import Mapping, Sequence, Set
from typing import final

import torch
from torch.utils import _pytree as pytree

from framesmith.frontend.errors import ExportError
from framesmith.frontend.exporting.example import ExampleCall, bind_call
from framesmith.guards import Guard, GuardSet, Scope, first_failure
from framesmith.guards.kinds.tensor_spec import TensorSpec


@final
class InputCheck:
    """A hook that runs before `forward`. `specs`: what is fixed of the tensor at each leaf that the program read; `numbers`: the
    leaves that are ints and may differ.

    It says nothing while another compiler traces the module, which has its own checks. `copy.deepcopy` of a
    GraphModule leaves its hooks out, and a pickled check is an empty one: copies are not checked.
    """

    def __init__(
        self,
        example: ExampleCall,
        parameters: Sequence[str],
        specs: Mapping[int, TensorSpec],
        guards: Sequence[Guard],
        numbers: Set[int] = frozenset(),
    ) -> None:
        self._example = example
        self._parameters = tuple(parameters)
        self._specs = dict(specs)
        self._guards = GuardSet(guards)
        self._numbers = frozenset(numbers)

    def __call__(self, module: torch.nn.Module, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Raise ExportError if the module is not what the program does for these arguments."""
        if torch.compiler.is_compiling():
            return
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec == self._example.spec:  # else flattening them in the module raises
            for index, expected in self._specs.items():
                problem = _problem(expected, leaves[index])
                if problem is not None:
                    raise make_input_error("the program", f"{self._example.names[index]}: {problem}")
            for index in self._numbers:
                if type(leaves[index]) is not int:
                    problem = f"expected an int, found {type(leaves[index]).__name__}"
                    raise make_input_error("the program", f"{self._example.names[index]}: {problem}")
            values = bind_call(self._example.target, args, kwargs)
            failure = first_failure(self._guards, Scope(dict(zip(self._parameters, values, strict=True)), {}))
            if failure is not None:
                raise make_input_error("the program", f"an argument: {failure.text}")

    def __reduce__(self) -> tuple[object, ...]:
        return (NoCheck, ())


@final
class NoCheck:
    """The hook of a module that was pickled: the guards hold objects that only this process has."""

    def __call__(self, module: torch.nn.Module, args: object, kwargs: object) -> None:
        """Accept all arguments."""


def _problem(expected: TensorSpec, value: object) -> str | None:
    """What differs of a tensor, or None."""
    if not isinstance(value, torch.Tensor):
        return f"expected a tensor, found {type(value).__name__}"
    if value.dtype is not expected.dtype:
        return f"dtype changed from {expected.dtype} to {value.dtype}"
    if value.device.type != expected.device.type:
        return f"device changed from {expected.device} to {value.device}"
    sizes = expected.sizes
    if sizes is not None and (
        len(sizes) != value.dim()
        or any(size is not None and size != found for size, found in zip(sizes, value.shape, strict=True))
    ):
        shown = ", ".join("any" if size is None else str(size) for size in sizes)
        return f"sizes changed from [{shown}] to {list(value.shape)}"
    return None


def make_input_error(program: str, problem: str) -> ExportError:
    """The error for arguments that the exported graph does not serve."""
    return ExportError(
        f"{program} was exported for other arguments: {problem}; export it for these, or declare what differs in dynamic_shapes"
    )
