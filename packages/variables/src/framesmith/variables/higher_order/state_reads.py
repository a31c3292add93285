"""What Python code of the program that the graph runs as it is reads of existing objects.

    scale = 3.0               # replayed after the graph
    y = Double.apply(x)       # a node: its `forward` runs in the graph, and would find the old `scale`

So such code may read nothing that the trace has changed by the time at which the graph runs it. A checkpoint is the opposite: eager
runs the function again in the backward pass, and the graph what it was at first.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, final

import torch

from framesmith.graph.fakes.histories import passes_through
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.core.lazy import Lazy
from framesmith.variables.core.reach import reachable
from framesmith.variables.tensors.tensors import TensorTracker

_GRADIENT: Final = "grad"
"""The attribute of tensors that training changes all the time; reading it is seen by name."""


@final
class StateReads:
    """What was read, from the first `see` to `keep`, and what it held then.

    `step`: that of the trace which has to run natively if it changes later; None where only the backward pass has to.
    """

    def __init__(self, tx: TraceContext) -> None:
        self.step: int | None = None
        self._changes = tx.changes
        self._results: tuple[torch.Tensor, ...] = ()
        self._contents: tuple[tuple[torch.Tensor, int], ...] = ()
        self._was_outdated = False
        self._values: dict[int, Tracker] = {}
        self._names: dict[tuple[int, str], tuple[Mapping[str, Tracker | None], str]] = {}
        self._state: dict[Hashable, object] = {}

    def see(self, values: Sequence[Tracker]) -> None:
        """The trace has these values at hand, and may read all that they lead to."""
        self._values.update((id(value), value) for value in values)

    def see_name(self, stored: Mapping[str, Tracker | None], name: str) -> None:
        """The trace reads a name, where it may have stored something itself."""
        self._names[id(stored), name] = stored, name

    def seen(self) -> Iterator[Tracker]:
        """What was at hand, and what it leads to, as far as the trace has read it."""
        return (one for one in reachable(self._values.values()).values() if not isinstance(one, Lazy))

    def has_unwritten_changes(self) -> bool:
        """Whether some of it was changed before it was read, so that the existing objects do not hold what the trace read."""
        return (
            bool(self._changes.classes)
            or any(name in stored for stored, name in self._names.values())
            or any(self._is_unwritten(one) for one in reachable(self._values.values()).values())
        )

    def _is_unwritten(self, tracker: Tracker) -> bool:
        if isinstance(tracker, TensorTracker):
            return any(name != _GRADIENT for name in tracker.own)
        return self._changes.is_changed(tracker)

    def keep(
        self,
        results: Iterable[object],
        *,
        contents: Iterable[object] = (),
        step: int | None = None,
    ) -> None:
        """Note what it holds now, and let `is_outdated` compare with that, until a backward pass has used up `results`. Of the
        tensors in `contents` the data is read too."""
        self.step = step
        self._results = tuple(one for one in results if isinstance(one, torch.Tensor))
        if not any(one.requires_grad for one in self._results):
            return
        # tensors of inference mode have no version
        self._contents = tuple(
            (one, one._version)
            for one in contents
            if isinstance(one, torch.Tensor) and not one.is_inference()
        )
        self._values = reachable(self._values.values())
        self._state = self._current()
        self._changes.native_reads.append(self)

    def is_outdated(self) -> bool:
        """Whether some of it was changed since `keep`. What was found once stays true, though the change may be taken back."""
        self._was_outdated = (
            self._was_outdated
            or self._current() != self._state
            or any(one._version != version for one, version in self._contents)
        )
        return self._was_outdated

    def is_used_by(self, outputs: Iterable[torch.Tensor]) -> bool:
        """Whether a backward pass from these tensors goes through the operation."""
        return passes_through(outputs, self._results)

    def _current(self) -> dict[Hashable, object]:
        state: dict[Hashable, object] = {
            cls: self._changes.changed_at.get(id(holder)) for cls, holder in self._changes.classes.items()
        }
        for key, (stored, name) in self._names.items():
            state[key] = (name in stored, stored.get(name))
        for number, one in self._values.items():
            if isinstance(one, TensorTracker):
                state[number] = {name: value for name, value in one.own.items() if name != _GRADIENT}
            else:
                state[number] = self._changes.changed_at.get(number)
        return state
