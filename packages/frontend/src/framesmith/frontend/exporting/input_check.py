"""The check of arguments in front of an exported module: what the example fixed and the program read still holds.

Sizes that were declared, and relations between them, are checked in the graph (`conditions`).
"""

from collections.abc import Mapping, Sequence
from typing import final

import torch
from torch.utils import _pytree as pytree

from framesmith.frontend.errors import ExportError
from framesmith.frontend.exporting.dynamic_shapes import ExportPolicy
from framesmith.frontend.exporting.example import ExampleCall, bind_call
from framesmith.guards import Guard, GuardSet, Scope, first_failure
from framesmith.guards.kinds.tensor_spec import TensorSpec


@final
class InputCheck:
    """A hook that runs before `forward`. `specs`: what is fixed of the tensor at each leaf that the program read; `policy` says
    what may differ.

    It says nothing while another compiler traces the module, which has its own checks. `copy.deepcopy` of a
    GraphModule leaves its hooks out, and a pickled check is an empty one: copies are not checked.
    """

    def __init__(
        self,
        example: ExampleCall,
        parameters: Sequence[str],
        specs: Mapping[int, TensorSpec],
        guards: Sequence[Guard],
        policy: ExportPolicy,
    ) -> None:
        self._example = example
        self._parameters = tuple(parameters)
        self._specs = dict(specs)
        self._guards = GuardSet(guards)
        self._policy = policy

    def __call__(self, module: torch.nn.Module, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Raise ExportError if the module is not what the program does for these arguments."""
        if torch.compiler.is_compiling():
            return
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec == self._example.spec:  # else flattening them in the module raises
            for index, expected in self._specs.items():
                problem = _problem(expected, leaves[index])
                if problem is not None:
                    text = f"{self._example.names[index]}: {problem}"
                    raise make_input_error(
                        "the program", text, is_to_differ=self._differs(index, leaves[index])
                    )
            for index in self._policy.numbers:
                if type(leaves[index]) is not int:
                    problem = f"expected an int, found {type(leaves[index]).__name__}"
                    raise make_input_error("the program", f"{self._example.names[index]}: {problem}")
            values = bind_call(self._example.target, args, kwargs)
            failure = first_failure(self._guards, Scope(dict(zip(self._parameters, values, strict=True)), {}))
            if failure is not None:
                differs = self._policy.is_to_differ(failure)
                raise make_input_error("the program", f"an argument: {failure.text}", is_to_differ=differs)

    def _differs(self, index: int, value: object) -> bool:
        """Whether a tensor has the metadata of the example, but for sizes that were declared or marked."""
        example = self._example.leaves[index]
        if not isinstance(value, torch.Tensor) or not isinstance(example, torch.Tensor):
            return False
        if (value.dtype, value.device.type, value.dim()) != (
            example.dtype,
            example.device.type,
            example.dim(),
        ):
            return False
        dims = self._policy.dims_to_differ(example)
        sizes = zip(value.shape, example.shape, strict=True)
        return all(dim in dims or now == was for dim, (now, was) in enumerate(sizes))

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


def make_input_error(program: str, problem: str, *, is_to_differ: bool = False) -> ExportError:
    """The error for arguments that the exported graph does not serve. `is_to_differ`: in what was declared or marked."""
    remedy = (
        "the program asks for this of what was declared to differ: export it for these too, or change the line that asks"
        if is_to_differ
        else "export it for these, or declare what differs in dynamic_shapes"
    )
    return ExportError(f"{program} was exported for other arguments: {problem}; {remedy}")
