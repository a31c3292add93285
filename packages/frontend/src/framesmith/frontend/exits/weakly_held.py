"""Dead variables that a break must still keep alive, because a weak reference may observe them.

**An instance that a native operation was given may be weakly referenced afterwards**, by a registry or a cache, so it
has to live as long as it does in CPython. The same goes for an instance that existed before the trace, and for a new
one in something that is handed over as well. Tensors are kept only where the trace saw a weak reference to them being
made: keeping all would keep their memory. Values whose end the trace itself sees are in `tracing.value_ends`.
"""

import weakref
from collections.abc import Sequence
from typing import Final, final

import torch

from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.tracing.finalizers import (
    guard_type_if_taken_out,
    has_observable_lifetime,
    may_be_weakly_referenced,
    real_object,
    variables_of,
)
from framesmith.frontend.tracing.frame_layout import live_names, values_in_slots
from framesmith.frontend.tracing.machine import Frame, Machine
from framesmith.guards.class_lookup import is_heap_type
from framesmith.variables.core import Constant, Lazy, Null, Tracker
from framesmith.variables.core.reach import reachable
from framesmith.variables.objects.weak_references import WeakReferenceTracker

_REFERENCES: Final = (weakref.ref, weakref.ProxyType, weakref.CallableProxyType)
_MAKERS: Final = (weakref.proxy, weakref.ref.__new__)


@final
class WeaklyHeld:
    """Decides, for the end of one entry, which variables are handed over although they are not read again."""

    def __init__(self, machine: Machine, writer: EntryWriter) -> None:
        self._machine = machine
        self._writer = writer
        self._tensors: list[object] | None = None
        self._operands: set[int] = set()
        self._held: set[int] | None = None

    def note_operands(self, operands: Sequence[Tracker], refers: bool) -> None:
        """Note the operands of an operation that runs natively; `refers`: it was seen to make weak references."""
        # the callable is in one of the first two slots, beside NULL
        if refers or any(makes_reference(value) for value in operands[:2] if not isinstance(value, Null)):
            self._machine.value_ends.watched = True
            self._operands.update(reachable(value for value in operands if not isinstance(value, Null)))

    def keeps(self, value: Tracker) -> bool:
        """Whether a variable is handed over although it is not read again."""
        guard_type_if_taken_out(self._machine, value)
        return has_observable_lifetime(value) or any(
            self._is_seen(found) for found in reachable([value]).values()
        )

    def _is_seen(self, value: Tracker) -> bool:
        """Whether a weak reference may show how long the value lives."""
        if isinstance(value, Constant | Null):
            return False
        # an existing value is asked for its real class: its tracker may be unread
        real = real_object(value)
        cls = value.python_type if real is None else type(real)
        if issubclass(cls, _REFERENCES):
            return True  # without the reference its callback is not called
        if not may_be_weakly_referenced(cls):
            return False
        if self._machine.value_ends.notes(real):
            return True
        if issubclass(cls, torch.Tensor):
            return id(value) in self._operands or self._is_referent(value, real)
        if real is None:
            # a new value: a weak reference needs an object, which exists only if the entry builds it
            is_written = self._writer.find_variable(value) is not None
            return is_written or (is_heap_type(cls) and id(value) in self._find_held())
        return is_heap_type(cls) or weakref.getweakrefcount(real) > 0

    def _find_held(self) -> set[int]:
        """What the variables that are read again and the stacks lead to: a weak
        reference to something in there may be made later, when they have let go of it."""
        if self._held is None:
            live = [
                value
                for frame in self._machine.frames
                for value in (*_read_again(frame), *values_in_slots(frame.stack))
            ]
            self._held = set(reachable(live))
        return self._held

    def _is_referent(self, value: Tracker, real: object) -> bool:
        """Whether a variable is a weak reference to this value."""
        if self._tensors is None:
            held = [one for frame in self._machine.frames for one in variables_of(frame)]
            self._tensors = [
                referent for one in reachable(held).values() if (referent := referent_of(one)) is not None
            ]
        return any(one is value or (real is not None and one is real) for one in self._tensors)


def _read_again(frame: Frame) -> list[Tracker]:
    names = live_names(frame, frame.index) | live_names(frame, frame.current)
    return [value for name, value in frame.locals.items() if name in names]


def referent_of(value: Tracker) -> object:
    """What a weak reference refers to, as an object or a tracker."""
    if isinstance(value, WeakReferenceTracker):
        real = real_object(value.target)
        return value.target if real is None else real
    real = real_object(value)
    return real() if type(real) is weakref.ref else None


def makes_reference(value: Tracker) -> bool:
    """Whether a callable makes weak references."""
    if isinstance(value, Lazy):
        found = value.peek
    else:
        found = value.as_python_constant() if value.is_python_constant() else None
    if type(found) is type:
        assert isinstance(found, type)
        return issubclass(found, weakref.ref | weakref.finalize)
    return any(found is maker for maker in _MAKERS)
