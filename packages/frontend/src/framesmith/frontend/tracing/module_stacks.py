"""In the calls of which modules the innermost frame stands, for the metadata of nodes (`graph.recording.module_stacks`)."""

import os
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType
from typing import Final, final

import torch

from framesmith.frontend.tracing.machine import Frame, Machine
from framesmith.graph.inputs.input_names import CompiledFunction
from framesmith.graph.recording.module_stacks import NO_MODULES, ModuleStack, enter
from framesmith.guards import Source
from framesmith.guards.class_lookup import static_lookup
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Lazy, Tracker
from framesmith.variables.objects.instances import InstanceTracker

_CALL_IMPL: Final = torch.nn.Module._call_impl
MODULES: Final = os.path.dirname(torch.nn.modules.__file__) + os.sep
"""The folder of torch's own modules."""


@final
class ModuleStacks:
    """What is asked for each operation that is recorded; a frame remembers its answer."""

    def __init__(self, machine: Machine, compiled: Callable[[], CompiledFunction] = CompiledFunction) -> None:
        self._machine = machine
        self._compiled = compiled

    def __call__(self) -> ModuleStack:
        """The stack of the present moment."""
        frames = self._machine.frames
        if not frames:
            return NO_MODULES
        if frames[-1].modules is None:
            stack = NO_MODULES
            for frame in frames:
                if frame.modules is None:
                    # a compiled module itself is not named: all of the graph is in its call
                    is_root = frame is frames[0] and frame.code is _CALL_IMPL.__code__
                    frame.modules = stack if is_root else _of_frame(frame, stack, self._compiled().root)
                stack = frame.modules
        return frames[-1].modules or NO_MODULES

    def class_of(self, modules: ModuleStack) -> type | None:
        """The class of the innermost module, if the code that runs is one of torch's own modules'."""
        frames = self._machine.frames
        if not frames or not frames[-1].code.co_filename.startswith(MODULES):
            return None
        return [cls for _, cls in modules.values()][-1]


def compiled_function(machine: Machine) -> Callable[[], CompiledFunction]:
    """What names the inputs: asked for the first one, when the module that is called has been read."""
    frame, found = machine.frames[0], list[CompiledFunction]()

    def ask() -> CompiledFunction:
        if not found:
            found.append(CompiledFunction(str(frame.namespace.value.get("__name__")), _forward(frame)))
        return found[0]

    return ask


def _forward(frame: Frame) -> CodeType | None:
    """The code of `forward`, where the frame is the call of an existing module."""
    held = _first(frame) if frame.code is _CALL_IMPL.__code__ else None
    known = None if held is None else _as_read(held)
    if not isinstance(known, InstanceTracker) or known.value is None:
        return None
    function = vars(known.value).get("forward", static_lookup(known.cls, "forward"))
    function = function.__func__ if isinstance(function, MethodType) else function
    return function.__code__ if isinstance(function, FunctionType) else None


def _of_frame(frame: Frame, outer: ModuleStack, root: str) -> ModuleStack:
    """The stack in a frame: with the module whose call it is, which its first argument is."""
    is_call = frame.code is _CALL_IMPL.__code__ or (
        frame.skipped and frame.skipped[-1].function is _CALL_IMPL
    )
    held = _first(frame) if is_call else None
    found = None if held is None else _module(held)
    return outer if found is None else enter(outer, *found, root)


def _first(frame: Frame) -> Tracker | None:
    """The first argument."""
    for name in frame.code.co_varnames[:1]:
        return frame.cells[name].contents if name in frame.cells else frame.locals.get(name)
    return None


def _module(tracker: Tracker) -> tuple[Source, type] | None:
    """Where an existing module was read from, and its class."""
    known = _as_read(tracker)
    if isinstance(known, TupleTracker) and known.items:  # of a wrapper: `def wrapper(*args, **kwargs)`
        known = _as_read(known.items[0])
    if not isinstance(known, InstanceTracker) or known.source is None:
        return None
    return (known.source, known.cls) if issubclass(known.cls, torch.nn.Module) else None


def _as_read(tracker: Tracker) -> Tracker:
    """The tracker of a value that the trace has read; metadata is no reason to read it, and to guard it."""
    return tracker.realize() if isinstance(tracker, Lazy) and tracker.is_realized else tracker
