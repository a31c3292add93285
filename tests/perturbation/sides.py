"""The eager and the compiled world of one program, and a call of both with everything compared."""

import types
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from tests.end_to_end.compare import Difference
from tests.end_to_end.observe import Outcome, float_tensors, observe
from tests.end_to_end.worlds import World
from tests.perturbation.ambient_mutations import CALLS
from tests.perturbation.comparison import Robust, without_addresses
from tests.perturbation.corpus import Program

from framesmith import frontend


@dataclass
class Tally:
    """What one episode counted."""

    calls: int = 0
    raised: int = 0
    graphs: int = 0


class Sides:
    """The eager and the compiled world."""

    def __init__(self, program: Program, dynamic: bool | None) -> None:
        frontend.reset()
        self.tally = Tally()
        (self.eager, self.eager_names), (self.compiled, self.compiled_names) = (
            program.world(),
            program.world(),
        )
        self.callee = frontend.compile(self.compiled.function, backend=self._backend, dynamic=dynamic)

    def _backend(self, module: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        """Runs the graph as it is; not through `__call__`, which runs hooks that are set for all modules."""
        self.tally.graphs += 1
        return module.forward

    def call(self, context: AbstractContextManager[Any], how: str | None) -> None:
        """Call both, compare what can be seen, run backward on both, compare again."""
        self._carry_defaults()
        with (
            context,
            torch.backends.mkldnn.flags(enabled=False),
        ):  # its LSTM reads past the end of small weights
            left = _observed(self.eager.function, self.eager, how)
            right = _observed(self.callee, self.compiled, how)
            self.tally.calls += 1
            self.tally.raised += left.raised is not None
            self._compare(left, right)
            self._backward(left, right)

    def _carry_defaults(self) -> None:
        """A compiled function has defaults of its own (ADR 0011): who changes those of the original sets them there."""
        original = self.compiled.function
        if isinstance(original, types.FunctionType) and isinstance(self.callee, types.FunctionType):
            self.callee.__defaults__ = original.__defaults__

    def _compare(self, left: Outcome, right: Outcome) -> None:
        if right.raised is not None and left.raised is None:
            raise Difference(f"raises {type(right.raised).__name__}: {right.raised}") from right.raised
        if left.raised is not None and right.raised is None:
            raise Difference(f"does not raise {type(left.raised).__name__}: {left.raised}")
        Robust().same(left.raised, right.raised, "exception")
        texts = [without_addresses(one.output) for one in (left, right)]
        if texts[0] != texts[1]:
            raise Difference(f"printed {texts[0]!r} eagerly, {texts[1]!r} compiled")
        for key, value in left.state.items():
            Robust().same(value, right.state[key], key)
        Robust().same(
            self._roots(self.eager, self.eager_names, left),
            self._roots(self.compiled, self.compiled_names, right),
            "all",
        )

    def _roots(self, world: World, names: dict[str, Any], outcome: Outcome) -> list[Any]:
        data = {key: value for key, value in names.items() if not key.startswith("__") and key != "f"}
        classes = [
            [
                (key, value)
                for key, value in vars(one).items()
                if not callable(value) and not key.startswith("__")
            ]
            for one in names.values()
            if isinstance(one, type)
            and one.__module__ == "program"
            and not isinstance(one, types.GenericAlias)
        ]
        function = world.function
        inner = getattr(function, "__func__", function)
        held = [*(getattr(inner, "__closure__", None) or ()), getattr(function, "__self__", None)]
        return [list(world.args), world.kwargs, outcome.result, held, function, data, _plain(classes)]

    def _backward(self, left: Outcome, right: Outcome) -> None:
        raised: list[str] = []
        worked = False
        for side in (left.result, right.result):
            try:  # a view written with other modes than its base refuses even to tell its `grad_fn`
                tensors = [one for one in float_tensors(side) if one.grad_fn is not None]
                worked = worked or bool(tensors)
                if tensors:
                    sum(one.sum().double() for one in tensors).backward()  # type: ignore[union-attr]
                raised.append("")
            except Exception as error:  # a hook may be anything by now
                raised.append(f"{type(error).__name__}: {error}")
        if raised[0] != raised[1]:
            raise Difference(f"backward raised {raised[0]!r} eagerly, {raised[1]!r} compiled")
        if worked:
            sides = [
                self._roots(self.eager, self.eager_names, left),
                self._roots(self.compiled, self.compiled_names, right),
            ]
            Robust(1e-6, 1e-6).same(
                sides[0][:2] + sides[0][3:6], sides[1][:2] + sides[1][3:6], "after backward"
            )


def _plain(classes: list[list[tuple[str, Any]]]) -> list[list[tuple[str, Any]]]:
    kinds = (int, float, str, list, dict, tuple)
    return [[(key, value) for key, value in one if isinstance(value, kinds)] for one in classes]


def _observed(function: Any, world: World, how: str | None) -> Outcome:
    args, kwargs = CALLS[how](world) if how else (tuple(world.args), world.kwargs)
    return observe(function, args, kwargs)


def origin(error: BaseException | None) -> str:
    """The innermost frames of ours in a traceback."""
    if error is None:
        return ""
    frames: list[str] = []
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if "/framesmith/" in code.co_filename or "framesmith" in code.co_filename:
            frames.append(f"{code.co_filename.rpartition('framesmith/')[2]}:{traceback.tb_lineno}")
        traceback = traceback.tb_next
    return f" [{' <- '.join(frames[:-4:-1])}]" if frames else ""
