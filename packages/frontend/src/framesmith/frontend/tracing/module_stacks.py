"""In the calls of which modules the innermost frame stands, for the metadata of nodes (`graph.recording.module_stacks`)."""

from typing import final

import torch

from framesmith.frontend.tracing.machine import Frame, Machine
from framesmith.graph.recording.module_stacks import NO_MODULES, ModuleStack, enter
from framesmith.guards import Source
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Lazy, Tracker
from framesmith.variables.objects.instances import InstanceTracker

_CALL_IMPL = torch.nn.Module._call_impl


@final
class ModuleStacks:
    """What is asked for each operation that is recorded; a frame remembers its answer."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def __call__(self) -> ModuleStack:
        """The stack of the present moment."""
        frames = self._machine.frames
        if not frames:
            return NO_MODULES
        if frames[-1].modules is None:
            stack = NO_MODULES
            for frame in frames:
                if frame.modules is None:
                    frame.modules = _of_frame(frame, stack)
                stack = frame.modules
        return frames[-1].modules or NO_MODULES


def _of_frame(frame: Frame, outer: ModuleStack) -> ModuleStack:
    """The stack in a frame: with the module whose call it is, which its first argument is."""
    is_call = frame.code is _CALL_IMPL.__code__ or (
        frame.skipped and frame.skipped[-1].function is _CALL_IMPL
    )
    names = frame.code.co_varnames[:1]
    if not is_call or not names:
        return outer
    held = frame.cells[names[0]].contents if names[0] in frame.cells else frame.locals.get(names[0])
    found = None if held is None else _module(held)
    return outer if found is None else enter(outer, *found)


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
