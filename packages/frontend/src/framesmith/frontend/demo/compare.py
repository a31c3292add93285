"""Whether a compiled program did what eager does: outputs, gradients, parameters, buffers, optimizer state, print-outs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import final

import torch

from framesmith.frontend.demo.cases import DemoProgram

CALLS = 3
"""Each program is called this often, so that later calls go through the guards and meet changed state."""

RELATIVE, ABSOLUTE = 1e-3, 1e-4
"""A compiler may reorder float32 sums; three steps of an optimizer carry the difference on."""

Leaves = dict[str, object]


@final
@dataclass(frozen=True, slots=True)
class Difference:
    """One leaf that differs: where it is, and what eager and the compiled program hold there."""

    where: str
    eager: str
    compiled: str

    def __str__(self) -> str:
        return f"{self.where}: eager {self.eager}, compiled {self.compiled}"


def leaves(value: object, name: str) -> Iterator[tuple[str, object]]:
    """(name, leaf) of a nest of mappings, lists and tuples; the type of each container is a leaf too."""
    if isinstance(value, Mapping):
        yield f"type({name})", type(value).__qualname__
        for key, one in value.items():
            yield from leaves(one, f"{name}[{key!r}]")
    elif isinstance(value, list | tuple):
        yield f"type({name})", type(value).__qualname__
        for index, one in enumerate(value):
            yield from leaves(one, f"{name}[{index}]")
    else:
        yield name, value


def differentiable(outputs: object) -> list[torch.Tensor]:
    """The tensors among the outputs that carry a gradient."""
    return [one for _, one in leaves(outputs, "") if isinstance(one, torch.Tensor) and one.requires_grad]


def call(program: DemoProgram, function: Callable[..., object]) -> object:
    """One call, with the backward pass where the program asks for it."""
    outputs = function(*program.arguments, **program.keywords)
    if program.backward:
        total = torch.stack([one.float().square().mean() for one in differentiable(outputs)]).sum()
        total.backward()  # type: ignore[no-untyped-call]  # torch leaves Tensor.backward without annotations
    return outputs


def state(program: DemoProgram) -> Leaves:
    """What the program may have changed."""
    found: Leaves = {}
    for index, module in enumerate(program.modules):
        found |= leaves(module.state_dict(), f"module {index}")
        found |= {f"gradient of {name}": parameter.grad for name, parameter in module.named_parameters()}
    if program.optimizer is not None:
        found |= leaves(program.optimizer.state_dict(), "optimizer")
    found |= leaves(program.arguments, "argument")
    found["printed"] = program.printed.getvalue()
    return found


def observe(program: DemoProgram, function: Callable[..., object]) -> Leaves:
    """Call the function CALLS times; all outputs, and the state at the end."""
    found: Leaves = {}
    for number in range(CALLS):
        found |= leaves(call(program, function), f"output {number}")
    return found | state(program)


def show(value: object) -> str:
    """A short text of a leaf."""
    if isinstance(value, torch.Tensor):
        return f"{value.dtype}{tuple(value.shape)} {value.detach().flatten()[:3].tolist()}..."
    return repr(value)


def equal(eager: object, compiled: object) -> bool:
    """Tensors: same dtype, shape, need of gradient, and close values; plain values: equal; other objects: same type."""
    if isinstance(eager, torch.Tensor) and isinstance(compiled, torch.Tensor):
        facts = [(one.dtype, one.shape, one.requires_grad, type(one)) for one in (eager, compiled)]
        return facts[0] == facts[1] and torch.allclose(eager, compiled, RELATIVE, ABSOLUTE, equal_nan=True)
    if isinstance(eager, int | float | str | bool | None):
        return type(eager) is type(compiled) and eager == compiled
    return type(eager) is type(compiled)


def differences(eager: Leaves, compiled: Leaves) -> list[Difference]:
    """Every leaf that differs or that only one side has."""
    missing = "nothing"
    return [
        Difference(name, show(eager.get(name, missing)), show(compiled.get(name, missing)))
        for name in dict.fromkeys((*eager, *compiled))
        if name not in eager or name not in compiled or not equal(eager[name], compiled[name])
    ]
