"""Side effects of an exported program: refused, each with the user's line, since a graph has none."""

from typing import final

from framesmith.frontend.build_entry import Trace
from framesmith.frontend.errors import ExportError
from framesmith.frontend.tracing.change_places import ChangePlaces
from framesmith.frontend.tracing.trace_end import RunRestNatively, TraceEnd
from framesmith.graph.shapes.shape_guards import Specialized


@final
class EffectsWatch:
    """A `TraceWatch` that notes where the trace changes what outlives it. Writes to tensors are operations of the graph.

    `uncaught`: the exception that leaves the program, as a traceback shows it; empty where none does. `fixed`: the numbers that
    were to differ, and that the trace has fixed.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._places: ChangePlaces | None = None
        self.uncaught = ""
        self.fixed: list[Specialized] = []

    def begin(self, trace: Trace) -> None:
        """Note the user's line of each first change from now on."""
        self._places = ChangePlaces(trace.machine)

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
            elif changed.source is not None and self._places is not None:
                found += [f"{name} is changed{place}" for name, place in self._places.describe(changed)]
        found += [f"the class {cls.__qualname__} is changed" for cls in changes.classes]
        found += [f"torch's {setting.name} is set" for setting, _ in changes.ambient.changes()]
        if found:
            listed = "\n".join(f"  {text}" for text in dict.fromkeys(found))
            raise ExportError(
                f"{self._name} has side effects, which an exported graph does not have:\n{listed}\n"
                "Return the value instead, keep it in a buffer that is written in place (self.count.add_(1)), "
                "or make the change outside of what is exported."
            )
