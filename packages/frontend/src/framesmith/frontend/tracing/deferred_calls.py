"""Calls whose only effect is seen from outside of the trace: made after the graph, in order with the other changes.

    warnings.warn("old", stacklevel=2)     inlined into f, while the filters say "default"
    ->  __fs_k1_warn("old", k2_category, 2)          called from a frame with the name, file and line of the inlined one

A warning may be an exception, and is nothing at all where it is ignored: the filters decide, which the trace reads and
guards. Where the trace itself has changed them, only a warning that is ignored or recorded is modelled.

Each object has one place in the order of changes, that of its first one. So a call is deferred only where it runs no code
of the user, who would see in it what is changed later: not where a warning has a class with code of its own, or is shown
by a `showwarning` or written to a `sys.stderr` of the program.
"""

import _warnings
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import BuiltinMethodType, NoneType
from typing import Final, final

from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.generated.synthetic_frames import FramePlace, make_synthetic_frame
from framesmith.frontend.tracing.frame_places import places_of
from framesmith.frontend.tracing.machine import Machine
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import PRINT_OR_LOG
from framesmith.guards.class_lookup import is_heap_type
from framesmith.guards.kinds import KeysAre, ShowsWarningsPlainly, TypeIs
from framesmith.guards.sources import Attribute, Pinned
from framesmith.guards.warning_hooks import is_shown_plainly
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.namespaces import NamespaceTracker, namespace_of
from framesmith.variables.core import Constant, PendingCall, Rows, TraceContext, Tracker, Writer
from framesmith.variables.objects.classes import ClassTracker
from framesmith.variables.objects.lookup import find

ROWS: Final = Rows()

_LOCKED_CHANGE: Final = getattr(warnings, "_filters_mutated_lock_held", None)  # from Python 3.14 on
_CHANGED: Final = _LOCKED_CHANGE or getattr(warnings, "_filters_mutated", None)
_LOCK: Final = getattr(warnings, "_lock", None)
_LOCK_CALLS: Final = tuple(
    found
    for name in ("_acquire_lock", "_release_lock")
    if (found := getattr(_warnings, name, None)) is not None
)
# Not "error": such a warning is an exception, to be raised at the call.
_KNOWN: Final = frozenset({"default", "always", "all", "ignore", "module", "once"})
_PATTERNS: Final = (NoneType, str, re.Pattern)
_READ: Final = "a warning is issued"
# 3.14 can keep the filters in a context variable, of which the trace knows nothing.
_MODULE: Final = Pinned(warnings, "warnings")
_PER_CONTEXT: Final = bool(getattr(sys.flags, "context_aware_warnings", False))


@final
class DeferredCall(Tracker):
    """A call that is made after the graph. It counts as a change of the callable, which so gets its place in the order.

    `places` are the frames around it, the outermost first, in which the entry itself runs.
    """

    def __init__(self, function: object, args: Sequence[Tracker], places: Sequence[FramePlace]) -> None:
        self.function = function
        self.name = str(getattr(function, "__name__", "function"))
        self.source = Pinned(function, self.name)
        self.args = args
        self.places = places

    @property
    def python_type(self) -> type:
        """The type of the callable."""
        return type(self.function)

    def children(self) -> Iterator[Tracker]:
        """The arguments."""
        return iter(self.args)

    def replay(self, writer: Writer) -> None:
        """Make the call, at the user's line."""
        assert isinstance(writer, EntryWriter)
        texts = [writer.constant(self.function, self.name), *map(writer.value, self.args)]
        synthetic = make_synthetic_frame(self.places[1:])
        if synthetic is not None:
            texts.insert(0, writer.constant(synthetic, "stands_for"))
        before = writer.line
        if self.places:
            # the entry itself represents the outermost frame
            writer.line = self.places[0].line
        writer.statement(f"{texts[0]}({', '.join(texts[1:])})")
        writer.line = before


@ROWS.call(_CHANGED)
def filters_changed(tx: TraceContext) -> Tracker:
    """`warnings._filters_mutated()`: what was shown once may be shown again."""
    tx.changes.note(DeferredCall(_CHANGED if _LOCKED_CHANGE is None else _change_with_lock, (), ()))
    return Constant(None)


def _change_with_lock() -> None:
    assert _LOCKED_CHANGE is not None and _LOCK is not None
    with _LOCK:
        _LOCKED_CHANGE()


if _LOCK_CALLS:

    @ROWS.call(*_LOCK_CALLS)
    def use_lock(tx: TraceContext) -> Tracker:
        """The lock around a change of the filters: the change is made after the graph, which takes it itself."""
        return Constant(None)


def warn(
    machine: Machine, args: Sequence[Tracker], kwargs: Mapping[str, Tracker]
) -> Tracker | PendingCall | None:
    """`warnings.warn(message, category=None, stacklevel=1)`; None where it has to run natively."""
    given = dict(zip(("message", "category", "stacklevel"), args, strict=False)) | dict(kwargs)
    # `source` and `skip_file_prefixes` are left to CPython
    if len(args) > 3 or not given.keys() <= {"message", "category", "stacklevel"} or _PER_CONTEXT:
        return None
    given = {name: value.realize() for name, value in given.items()}
    message, level = given.get("message"), given.get("stacklevel", Constant(1))
    category = _category(given.get("category"))
    if category is not None and _has_code(machine.tx, category):
        return None
    if (
        message is None
        # a message that is an object of Warning brings its own class, perhaps with code of the user
        or message.python_type is not str
        or category is None
        or not isinstance(level, Constant)
    ):
        return None
    namespace = namespace_of(machine.tx, vars(warnings))
    filters = _filters(machine.tx, namespace)
    default = namespace.find(machine.tx, "defaultaction")
    default = None if default is None else default.realize()
    if filters is None or not isinstance(default, Constant):
        return None
    text = message.value if isinstance(message, Constant) else None
    # where no filter fits, the default action holds: a last filter without conditions
    actions = _possible_actions(category, text, [*filters, (default.value, None, Warning, None, 0)])
    if actions is None or not actions <= _KNOWN:
        return None
    if not namespace.is_restored():
        return _note_ignored(machine, level.value) if actions == {"ignore"} else None
    if actions != {"ignore"} and not _is_shown_plainly(machine.tx):
        return None
    if not _hide_records(machine.tx):
        return None
    order = [message, given.get("category", Constant(None)), level]
    machine.tx.changes.note(DeferredCall(warnings.warn, order, places_of(machine.frames)))
    return Constant(None)


def _has_code(tx: TraceContext, category: type) -> bool:
    """Whether making or writing a warning of a class runs Python code of that class; guarded."""
    if not is_heap_type(category):
        return False  # nor can that change
    found = [find(tx, category, name) for name in ("__new__", "__init__", "__str__", "__format__", "__del__")]
    return any(one is not None and is_heap_type(one.owner) for one in found)


def _is_shown_plainly(tx: TraceContext) -> bool:
    """Whether showing a warning runs no code of the user; guarded."""
    if not is_shown_plainly() or not namespace_of(tx, vars(sys)).is_restored():
        return False
    tx.guard(_MODULE, ShowsWarningsPlainly(), _READ)
    return True


def _hide_records(tx: TraceContext) -> bool:
    """`catch_warnings(record=True)` has put a list there to which warnings are appended. This one is after the graph, so that a
    look into the list ends that. False where the trace has looked into it already."""
    shown: object = getattr(warnings, "_showwarnmsg_impl", None)
    if type(shown) is not BuiltinMethodType or type(shown.__self__) is not list:
        return True
    found = tx.wrap(shown.__self__, Attribute(Attribute(_MODULE, "_showwarnmsg_impl"), "__self__"))
    return isinstance(found, ListTracker) and found.hide(
        "a list of warnings, one of which is issued after the graph"
    )


def check_filters(tx: TraceContext, operation: str) -> None:
    """An operation has warned on fakes, and does so again when the graph runs. Breaks the graph where the trace has changed what
    becomes of warnings, which is done after that, or has looked into the list to which they are appended; and where code
    of the user shows them, which would not find what was changed before."""
    namespace = namespace_of(tx, vars(warnings))
    filters = namespace.find(tx, "filters")
    is_changed = filters is not None and tx.changes.is_changed(filters.realize())
    if is_changed or not namespace.is_restored() or not _hide_records(tx):
        raise GraphBreak(PRINT_OR_LOG, f"{operation} warns, and what becomes of warnings was changed")
    # without changes so far, code of the user sees what it sees in eager: the rest is changed after the graph
    if tx.changes.has_changes and not _is_shown_plainly(tx):
        raise GraphBreak(PRINT_OR_LOG, f"{operation} warns, and warnings are shown by code of the program")


def _note_ignored(machine: Machine, level: object) -> Tracker | None:
    """A warning that the filters of the trace ignore leaves a registry in the globals of the frame that it names."""
    places = places_of(machine.frames)
    if not isinstance(level, int) or not 0 < level <= len(places):
        return None
    machine.tx.changes.note(DeferredCall(partial(_make_registry, places[-level].namespace), (), ()))
    return Constant(None)


def _make_registry(namespace: dict[str, object]) -> None:
    namespace.setdefault("__warningregistry__", {})


def _category(tracker: Tracker | None) -> type[Warning] | None:
    """The class of the warning; None where it is no class of warnings with the plain metaclass."""
    if tracker is None or (isinstance(tracker, Constant) and tracker.value is None):
        return UserWarning
    value = tracker.value if isinstance(tracker, ClassTracker) else None
    return value if type(value) is type and issubclass(value, Warning) else None


def _filters(tx: TraceContext, namespace: NamespaceTracker) -> list[object] | None:
    """The filters in force, guarded; None where they are not known."""
    found = namespace.find(tx, "filters")
    found = None if found is None else found.realize()
    if not isinstance(found, ListTracker) or found.python_type is not list:
        return None
    if found.value is not None and found.source is not None and not tx.changes.is_changed(found):
        tx.guard(found, TypeIs(list), _READ)
        tx.guard(found, KeysAre(tuple(found.value)), _READ)
        return list(found.value)
    items = [item.realize() for item in found.items]
    if not all(item.is_python_constant() or _is_known(item) for item in items):
        return None
    return [_constant(item) for item in items]


def _is_known(item: Tracker) -> bool:
    return all(
        one.is_python_constant() or isinstance(one, ClassTracker)
        for one in (child.realize() for child in item.children())
    )


def _constant(item: Tracker) -> object:
    """A filter as it is in the program."""
    if item.is_python_constant():
        return item.as_python_constant()
    return tuple(
        one.value if isinstance(one, ClassTracker) else one.as_python_constant()
        for one in (child.realize() for child in item.children())
    )


def _possible_actions(category: type, text: object, filters: Sequence[object]) -> set[object] | None:
    """What may become of the warning, as Python/_warnings.c finds it. A filter that asks for a module or
    a line may or may not fit. None where that is not known."""
    found: set[object] = set()
    for one in filters:
        if type(one) is not tuple or len(one) != 5:
            return None
        action, message, kind, module, line = one
        if not isinstance(kind, type) or type(kind) is not type or type(action) is not str:
            return None
        # CPython calls the `match` of any other object
        if not all(type(pattern) in _PATTERNS for pattern in (message, module)):
            return None
        if not issubclass(category, kind):
            continue
        fits = _fits(message, text)
        if fits is False:
            continue
        found.add(action)
        if fits and module is None and line == 0:
            break
    return found


def _fits(pattern: object, text: object) -> bool | None:
    """Whether a filter's pattern fits the message; None where that is not known."""
    if pattern is None:
        return True
    if not isinstance(text, str):
        return None
    if isinstance(pattern, str):
        return pattern == text
    return pattern.match(text) is not None if isinstance(pattern, re.Pattern) else None
