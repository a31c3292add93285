"""When fake mode is on: in the span of a trace, but for the pauses in which real values are worked on."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import final

import torch._guards

from framesmith.graph.environment.collector_during_trace import pause_collector_for_trace
from framesmith.graph.shapes.shape_env import ShapeEnvAdapter


@final
class TracingSpan:
    """Fake mode, torch's tracing context and a resting garbage collector: all on, or all off."""

    def __init__(self, world: ShapeEnvAdapter) -> None:
        self._world = world
        self._open = ExitStack()
        self._active = False

    def resume(self) -> None:
        """Switch all on."""
        self._open.enter_context(pause_collector_for_trace())
        self._open.enter_context(torch._guards.tracing(self._world.context))
        self._open.enter_context(self._world.mode)
        # the hooks of the program for saved tensors are left for the run
        hooks = torch._C._autograd._saved_tensors_hooks_set_tracing(True)
        self._open.callback(torch._C._autograd._saved_tensors_hooks_set_tracing, hooks)
        self._active = True

    def pause(self) -> None:
        """Switch all off, if they are on."""
        self._active = False
        self._open.close()

    @contextmanager
    def pause_recording(self) -> Iterator[None]:
        """All off inside, and then as before."""
        was_active = self._active
        self.pause()
        try:
            yield
        finally:
            if was_active:
                self.resume()

    @contextmanager
    def running(self) -> Iterator[None]:
        """All on inside, and then as before."""
        if self._active:
            yield
            return
        self.resume()
        try:
            yield
        finally:
            self.pause()
