"""The Python source of one entry: loads, the graph call, new objects, replayed mutations, and how it ends.

The `Writer` protocol of `variables`. Each line carries the user's line that it represents. What is written for a
value is said by its tracker (`Tracker.reconstruct`, `Tracker.replay`).
"""

import enum
import re
from collections.abc import Mapping
from typing import Final, final

from torch import fx

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_VALUE
from framesmith.guards import Scope, Source
from framesmith.guards.class_lookup import is_immutable
from framesmith.guards.comparison import is_immutable_constant
from framesmith.guards.names import PREFIX, Constants
from framesmith.guards.sources import Own, Pinned
from framesmith.variables.core import Constant, Lazy, Registry, Tracker
from framesmith.variables.core.constant import has_copies, is_nan
from framesmith.variables.core.made_classes import MadeClass

_UNFIT = re.compile(r"\W", re.ASCII)
_NO_ROWS: Final = Registry(())


class _BuiltInside(Exception):
    """What a value holds has built it: a function in a cell of its own, an exception that is an attribute of its argument."""


@final
class EntryWriter:
    """Collects the body of an entry.

    Invariant: `loads` are read before anything is changed; body lines use only earlier names. `registry`: the rows by which
    values are built; an entry that only forwards a call builds none. `made_classes`: those of the trace; `makes`: the lines that
    make those that the entry needs, which come before the body.
    """

    def __init__(
        self,
        line: int,
        registry: Registry = _NO_ROWS,
        made_classes: Mapping[int, MadeClass] | None = None,
    ) -> None:
        self.registry = registry
        self.constants = Constants(kind="k")
        self.made_classes = {} if made_classes is None else made_classes
        self.makes: list[tuple[str, int]] = []
        self.line = line
        self.loads: dict[Source, str] = {}
        self.outputs: dict[fx.Node, str] = {}
        self.body: list[tuple[str, int]] = []
        self._values: dict[int, tuple[Tracker, str]] = {}  # with the tracker, so that its id is not reused
        self._building: set[int] = set()
        self._classes: dict[int, str] = {}
        self._count = 0

    def name(self, hint: str) -> str:
        """A fresh local variable."""
        self._count += 1
        text = _UNFIT.sub("_", hint)
        return f"{PREFIX}v{self._count}_{text}"

    def constant(self, value: object, hint: str) -> str:
        """The name of this very object; for a class of the trace, or a member of an enumeration that it made, that of the entry's own."""
        if self.made_classes:
            made = self.made_classes.get(id(value))
            if made is not None:
                return self._make_class(made)
            made = self.made_classes.get(id(type(value)))
            if made is not None:
                assert isinstance(value, enum.Enum)
                return f"{self._make_class(made)}({self.constants(vars(value)['_value_'], hint)})"
        return self.constants(value, hint)

    def _make_class(self, made: MadeClass) -> str:
        known = self._classes.get(id(made.cls))
        if known is None:
            known = self._classes[id(made.cls)] = self.name(made.cls.__name__)
            self.makes.append((f"{known} = {self.constants(made.make, 'make_class')}()", self.line))
        return known

    def _check_shared(self, source: Source) -> None:
        """Break the graph for what a class of the trace holds, unless all such classes may share it: it would be one object in each call."""
        *_, root = (source, *source.ancestors())
        if (
            not isinstance(root, Pinned)
            or not {id(root.value), id(type(root.value))} & self.made_classes.keys()
        ):
            return
        found = source.read(Scope({}, {}))
        if not is_immutable_constant(found) and not (isinstance(found, type) and is_immutable(found)):
            raise GraphBreak(UNSUPPORTED_VALUE, f"{source.text()} of a class that the trace made")

    def load(self, source: Source) -> str:
        """The variable that holds the value at `source` as it was when the entry began."""
        if isinstance(source, Pinned):
            return self.constant(source.value, source.label)
        if isinstance(source, Own):
            return self.constant(source, source.label)
        found = self.loads.get(source)
        if found is None:
            if self.made_classes:
                self._check_shared(source)
            # the number tells them apart; the text is for readers only
            text = _UNFIT.sub("_", source.text())[:40]
            found = self.loads[source] = f"{PREFIX}l{len(self.loads)}_{text}"
        return found

    def node(self, node: fx.Node) -> str:
        """The variable that will hold the value of a graph node."""
        found = self.outputs.get(node)
        if found is None:
            found = self.outputs[node] = f"{PREFIX}o{len(self.outputs)}"
        return found

    def value(self, tracker: Tracker) -> str:
        """An expression for a tracker, built at its first use."""
        if isinstance(tracker, Lazy) and tracker.is_realized:
            tracker = tracker.realize()
        known = self._values.get(id(tracker))
        if known is not None:
            return known[1]
        if isinstance(tracker, Constant):
            return self._write_constant(tracker)
        if tracker.source is not None:
            text = self.load(tracker.source)
        else:
            text = self._reconstruct(tracker)
            # what it holds has built it meanwhile (`_BuiltInside`)
            if id(tracker) in self._values:
                return self._values[id(tracker)][1]
            if not text.isidentifier():
                return self.define(tracker, text, "value")
        self._values[id(tracker)] = (tracker, text)
        return text

    def _reconstruct(self, tracker: Tracker) -> str:
        """An expression that builds the value. What it holds may refer to it, and so has to build it on the way."""
        outermost = id(tracker) not in self._building
        self._building.add(id(tracker))
        try:
            return tracker.reconstruct(self)
        except _BuiltInside:
            return self._values[id(tracker)][1]
        finally:
            if outermost:
                self._building.discard(id(tracker))

    def _write_constant(self, tracker: Constant) -> str:
        """One object of the trace is one object of the entry, whichever trackers hold it."""
        if tracker.source is not None and has_copies(tracker.value):
            return self.load(tracker.source)  # the very object, not an equal one
        # NaN differs from itself: two objects in place of one show in `in`, and as keys
        if not is_nan(tracker.value):
            return tracker.reconstruct(self)
        # its tracker keeps the float, so its id is its own
        known = self._values.get(id(tracker.value))
        if known is None:
            name = self.define(tracker, tracker.reconstruct(self), "nan")
            known = self._values[id(tracker.value)] = (tracker, name)
        return known[1]

    def find_variable(self, tracker: Tracker) -> str | None:
        """The variable of a tracker, if something asked for it already."""
        if isinstance(tracker, Lazy) and tracker.is_realized:
            tracker = tracker.realize()
        known = self._values.get(id(tracker))
        return None if known is None else known[1]

    def define(self, tracker: Tracker, expression: str, hint: str) -> str:
        """Assign an expression to a fresh variable that holds the value of `tracker` from now on.

        Raises an exception of its own, for `value`, where a variable holds it already: one object is built once.
        """
        if id(tracker) in self._building and id(tracker) in self._values:
            raise _BuiltInside
        name = self.name(hint)
        self.statement(f"{name} = {expression}")
        self._values[id(tracker)] = (tracker, name)
        return name

    def statement(self, text: str) -> None:
        """Append one line at the current user line."""
        self.body.append((text, self.line))
