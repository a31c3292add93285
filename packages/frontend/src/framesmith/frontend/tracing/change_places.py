"""Which objects a trace changes that outlive it: each by its name in the program, with the user's line of its first change.

Errors of `export` and the log topic `side_effects` say so. The changes themselves are in the mutation log.
"""

from typing import final

from framesmith.frontend.tracing.machine import Machine
from framesmith.frontend.tracing.user_stack import frame_text
from framesmith.guards.class_lookup import class_name
from framesmith.variables.builtin_types.cells import CellTracker
from framesmith.variables.builtin_types.namespaces import NamespaceTracker
from framesmith.variables.core import Tracker
from framesmith.variables.objects.instances import InstanceTracker


@final
class ChangePlaces:
    """Notes the line of each first change from now on, until the machine is released."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._places: dict[int, str] = {}
        # the machine listens as well (`value_ends.observe_changes`)
        self._earlier = machine.tx.changes.on_change
        machine.tx.changes.on_change = self._note

    def _note(self, changed: Tracker) -> None:
        if self._earlier is not None:
            self._earlier(changed)
        if changed.source is not None and id(changed) not in self._places:
            place = frame_text(self._machine.frames)
            self._places[id(changed)] = "" if place is None else f" at {place}"

    def describe(self, changed: Tracker) -> list[tuple[str, str]]:
        """What of a changed object it is, in words of the program, and ` at program.py:3 in f` behind it, if that is known."""
        if changed.source is None:
            return [(changed.describe(), "")]
        place = self._places.get(id(changed), "")
        return [(name, place) for name in _name_changes(changed, changed.source.text())]


def _name_changes(changed: Tracker, path: str) -> list[str]:
    """What of the object was changed, as the program names it: an attribute, a global, else the object itself."""
    if isinstance(changed, NamespaceTracker):
        owner = changed.value.get("__name__", path)
        return [f"the global {name} of {owner}" for name in changed.pending]
    if isinstance(changed, CellTracker):
        return [f"the variable {path}"]
    if isinstance(changed, InstanceTracker):
        own = changed.own
        names = [*own.pending, *own.deleted, *(slot.__name__ for slot in own.slots)]
        if names:
            return [f"{path}.{name}" for name in dict.fromkeys(names)]
    return [f"{path} ({class_name(changed.python_type)})"]
