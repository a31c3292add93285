"""Relations about the state of the process and thread: grad mode, autocast, modes, levels, hooks.

What a trace itself switches is in `variables.core.ambient`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import final

import torch
from torch.utils._device import DeviceContext

from framesmith.guards import torch_adapter
from framesmith.guards.comparison import same_constant
from framesmith.guards.kinds.base import Relation, show_value
from framesmith.guards.names import Names, literal
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True, eq=False)
class GlobalState(Relation):
    """torch's switches, mode stacks and levels are as they were when this was captured.

    Beside a native tensor check the dispatch modes, functorch levels and inference mode need no check of their own:
    they change the dispatch keys in force, which that check compares (see `torch_adapter`).

    Hooks for saved tensors are no part of it: they run when a graph saves its tensors, whichever hooks were there
    when it was traced, and `torch.utils.checkpoint` enters new ones on every call.
    """

    switches: torch_adapter.StateSnapshot = field(repr=False)
    dispatch: torch_adapter.DispatchState = field(repr=False)
    function_modes: tuple[object, ...]
    dispatch_modes: tuple[object, ...]
    functorch_levels: tuple[tuple[str, int], ...]
    forward_ad_level: int
    inference: bool

    @classmethod
    def capture(cls) -> "GlobalState":
        """The claim that the state stays what it is now. To be called before the compiler enters a mode of its own."""
        return cls(
            torch_adapter.StateSnapshot(),
            torch_adapter.DispatchState(),
            _marks_of(torch_adapter.function_modes()),
            _marks_of(torch_adapter.dispatch_modes()),
            tuple(torch_adapter.functorch_levels()),
            torch_adapter.forward_ad_module._current_level,
            torch_adapter.is_inference_mode(),
        )

    def comparison_fields(self) -> tuple[object, ...]:
        # torch's snapshot has no equality of its own; its fields, of lists and numbers, are compared as text.
        return (tuple(sorted(map(str, self.switches.fields.items()))), *self._stacks())

    @property
    def all_sources(self) -> tuple[Source, ...]:
        return ()

    def holds(self, values: Sequence[object] = ()) -> bool:
        return self.switches.check() and same_constant(self._stacks(), GlobalState.capture()._stacks())

    def render(self, expressions: Sequence[str], names: Names, *, beside_tensors: bool = False) -> str:
        parts = [f"{names.constant(self.switches.check, 'global_state')}()"]
        # Seldom: the stacks are compared item by item, by `holds`.
        if self.function_modes or self.dispatch_modes or self.functorch_levels:
            return f"{names.constant(self.holds, 'global_state')}()"
        adapter = torch_adapter
        if self.switches.allows_function_modes:
            parts.append(f"not {names.constant(adapter.function_mode_applies, 'function_mode')}(None)")
        else:
            # The quicker question always says no while torch functions are disabled, so modes have to be counted.
            parts.append(f"not {names.constant(adapter.function_mode_depth, 'function_modes')}()")
        level = f"{names.constant(adapter.forward_ad_module, 'forward_ad')}._current_level"
        parts.append(f"{level} == {self.forward_ad_level}")
        if not beside_tensors:
            parts.append(f"not {names.constant(adapter.dispatch_mode_depth, 'dispatch_modes')}()")
            parts.append(f"{names.constant(adapter.functorch_top, 'functorch')}() is None")
            parts.append(f"{names.constant(adapter.is_inference_mode, 'inference')}() is {self.inference}")
        return " and ".join(parts)

    def explain(self, values: Sequence[object] = ()) -> str:
        changes = [] if self.switches.check() else self.switches.changes() or ["a switch of torch changed"]
        now = GlobalState.capture()
        for label, name in _STACK_FIELDS.items():
            was, found = getattr(self, name), getattr(now, name)
            if not same_constant(was, found):
                changes.append(f"{label} changed from {show_value(was)} to {show_value(found)}")
        return f"the global state of torch changed: {'; '.join(changes)}"

    def text(self) -> str:
        # what tells the entries of one function apart that differ in this alone
        special = {
            "gradients off": not self.switches.records_gradients,
            "inference mode": self.inference,
            "autocast": self.switches.has_autocast,
            "torch-function modes": bool(self.function_modes),
            "dispatch modes": bool(self.dispatch_modes),
            "functorch levels": bool(self.functorch_levels),
            "forward-mode differentiation": self.forward_ad_level >= 0,
        }
        inside = ", ".join(name for name, is_on in special.items() if is_on)
        state = "torch's global state (grad mode, autocast, default dtype, modes, levels) is unchanged"
        return f"{state}: {inside}" if inside else state

    def _stacks(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in _STACK_FIELDS.values())


_STACK_FIELDS = {
    "torch-function modes": "function_modes",
    "dispatch modes": "dispatch_modes",
    "functorch levels": "functorch_levels",
    "forward-mode differentiation level": "forward_ad_level",
    "inference mode": "inference",
}


@final
@dataclass(frozen=True, slots=True, eq=False)
class AmbientValue(Relation):
    """A question to the process has the same answer: `AmbientValue(torch.is_grad_enabled, (), True)`.

    For functions that were folded to a constant while tracing. The function must have no effects; the answer is
    compared as `EqualTo` does.
    """

    function: Callable[..., object]
    arguments: tuple[object, ...]
    answer: object

    def comparison_fields(self) -> tuple[object, ...]:
        return (id(self.function), self.arguments, self.answer)

    @property
    def all_sources(self) -> tuple[Source, ...]:
        return ()

    def holds(self, values: Sequence[object] = ()) -> bool:
        return same_constant(self.function(*self.arguments), self.answer)

    def render(self, expressions: Sequence[str], names: Names) -> str:
        arguments = ", ".join(literal(argument, names, "argument") for argument in self.arguments)
        call = f"{names.constant(self.function, self._name())}({arguments})"
        # There is one object of each of these values.
        if self.answer is None or isinstance(self.answer, bool | torch.dtype):
            return f"{call} is {literal(self.answer, names, 'answer')}"
        return f"{names.constant(same_constant, 'same')}({call}, {names.constant(self.answer, 'answer')})"

    def explain(self, values: Sequence[object] = ()) -> str:
        return f"{self.text()}, and is {show_value(self.function(*self.arguments))} now"

    def text(self) -> str:
        return f"{self._name()}({', '.join(map(show_value, self.arguments))}) was {show_value(self.answer)}"

    def _name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)


def _marks_of(modes: Sequence[object]) -> tuple[object, ...]:
    """Modes as they are compared: a `with torch.device(...)` block by its device, any other mode by identity."""
    return tuple(("device", mode.device) if isinstance(mode, DeviceContext) else mode for mode in modes)
