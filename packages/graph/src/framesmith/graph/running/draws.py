"""The random numbers of a graph that raised: the generator goes back to where it stood when the graph began.

    x = x + torch.randn(3)       a compiler's code has drawn, perhaps not all, perhaps in another order
    y = table[index]             and raises

A backend that runs something else than the captured operations cannot say how far it came, so these run again from the
beginning (`failures`), and draw again. Where our own module runs, what was drawn is there, and nothing goes back.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

import torch
from torch import fx

from framesmith.graph.operations.data_errors import may_have_effects
from framesmith.graph.operations.purity import draws


@final
@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """The state of the program's generator on the CPU before the graph's last call in this thread that raised."""

    _before: threading.local = field(default_factory=threading.local)

    def watch(
        self, call: Callable[..., tuple[object, ...]], module: fx.GraphModule
    ) -> Callable[..., tuple[object, ...]]:
        """The call, which keeps that state; the call itself for a graph that draws nothing.

        Which operation may raise is not asked: any may for want of a kernel or of memory, and the state takes a microsecond.
        """
        if not _may_draw(module):
            return call

        def run(*values: object) -> tuple[object, ...]:
            state = torch.get_rng_state()
            try:
                return call(*values)
            except Exception:
                self._before.state = state
                raise

        return run

    def take_back(self) -> None:
        """Set the generator back; nothing where no state was kept."""
        state = getattr(self._before, "state", None)
        if state is not None:
            torch.set_rng_state(state)


def _may_draw(module: fx.GraphModule) -> bool:
    """Whether the graph or one nested in it draws, or runs code of the program, which may."""
    return any(
        draws(node) or may_have_effects(node.op, node.target)
        for one in module.modules()
        if isinstance(one, fx.GraphModule)
        for node in one.graph.nodes
    )
