"""Side effects of an exported program: refused, each with the user's line, since a graph has none."""

from typing import final

from framesmith.frontend.build_entry import Trace
from framesmith.frontend.errors import ExportError
from framesmith.frontend.tracing.trace_end import RunRestNatively, TraceEnd
from framesmith.frontend.tracing.user_stack import user_location
from framesmith.frontend.user_lines import place_text
from framesmith.graph.shapes.shape_guards import Specialized
from framesmith.variables.builtin_types.cells import CellTracker
from framesmith.variables.builtin_types.namespaces import NamespaceTracker
from framesmith.variables.core import Tracker
from framesmith.variables.objects.instances import InstanceTracker


@final
class EffectsWatch:
    """A `TraceWatch` that notes where the trace changes what outlives it. Writes to tensors are operations of the graph.

    `uncaught`: the exception that leaves the program, as a traceback shows it; empty where none does. `fixed`: the numbers that
    were to differ, and that the trace has fixed.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._places: dict[int, str] = {}
        self._setting: str | None = None
        self.uncaught = ""
        self.fixed: list[Specialized] = []

    def begin(self, trace: Trace) -> None:
        """Note the user's line of each first change from now on."""
        self._places.clear()
        changes, machine = trace.tx.changes, trace.machine
        # the machine listens as well (`value_ends.observe_changes`)
        earlier = changes.on_change

        def note(changed: Tracker) -> None:
            if earlier is not None:
                earlier(changed)
            if changed.source is not None and id(changed) not in self._places:
                place = user_location(machine.frames)
                self._places[id(changed)] = "" if place is None else f" at {place_text(*place)}"

        changes.on_change = note

    def finish(self, trace: Trace, end: TraceEnd) -> None:
        """Raise ExportError if anything was changed that outlives the trace. What was set back is not written again."""
        self.uncaught = end.uncaught if isinstance(end, RunRestNatively) else ""
        self.fixed = trace.recorder.specialized()
        changes = trace.tx.changes
        found: list[str] = []
        for changed in changes.changed_trackers():
            if changed.is_restored():
                # the entry, which is run over nodes, must not write it
                changes.forget(changed)
            elif changed.source is not None:
                place = self._places.get(id(changed), "")
                found += [
                    f"{text} is changed{place}" for text in _name_changes(changed, changed.source.text())
                ]
        found += [f"the class {cls.__qualname__} is changed" for cls in changes.classes]
        found += [f"torch's {setting.name} is set" for setting, _ in changes.ambient.changes()]
        if found:
            listed = "\n".join(f"  {text}" for text in dict.fromkeys(found))
            raise ExportError(
                f"{self._name} has side effects, which an exported graph does not have:\n{listed}\n"
                "Return the value instead, keep it in a buffer that is written in place (self.count.add_(1)), "
                "or make the change outside of what is exported."
            )


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
    return [f"{path} ({changed.describe()})"]
