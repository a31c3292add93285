"""Calls that are made while tracing, though changes of the trace wait for their replay: whether the called code could see them."""

import builtins
import dis
import gc
from collections import deque
from collections.abc import Iterable, Sequence
from types import CellType, FunctionType, ModuleType
from typing import Final

from framesmith.guards.class_lookup import static_lookup
from framesmith.variables.builtin_types.namespaces import NamespaceTracker
from framesmith.variables.callables.reachable_objects import may_see
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.wrapping.wrap import Wrapper

_CONTAINERS: Final = (dict, list, set, deque)
_LIBRARIES: Final = (
    "typing",
    "types",
    "builtins",
    "collections",
    "collections.abc",
    "torch",
    "functools",
    "_abc",
)
"""Modules whose classes are subscripted without code of the program."""


def may_see_changes(tx: TraceContext, waiting: Sequence[Tracker], start: Iterable[object]) -> bool:
    """Whether code that runs from these objects on (a function and its arguments) may come upon one of the changed objects, which are as
    they were still, or upon tensors where the graph writes to some or draws random numbers."""
    if not waiting and not tx.changes.classes and not tx.graph.has_changes:
        return False
    changed = _objects_of(tx, waiting)
    if tx.changes.classes or changed is None or any(type(one) not in _CONTAINERS for one in changed):
        return True
    return may_see(start, changed, tensors=tx.graph.has_changes)


def read_annotations(tx: TraceContext, function: FunctionType) -> bool:
    """Make sure that the annotations of a function are computed, which its first reader does (PEP 649, since Python 3.14): reading them
    runs no code then. False if that has to be done natively."""
    annotate: object = getattr(function, "__annotate__", None)
    if annotate is None or _has_annotations(function):
        return True
    if type(annotate) is not FunctionType or not _only_names_classes(annotate) or _changes_names(tx):
        return False
    with tx.graph.pause_recording():
        try:
            getattr(function, "__annotations__")  # noqa: B009  # for its effect
        except Exception:
            return False
    return _has_annotations(function)


def _has_annotations(function: FunctionType) -> bool:
    """Whether the function holds a dictionary besides those that each function has."""
    names = ("__globals__", "__dict__", "__kwdefaults__", "__builtins__")
    others = [getattr(function, name, None) for name in names]
    return any(
        type(held) is dict and all(held is not other for other in others)
        for held in gc.get_referents(function)
    )


def _only_names_classes(function: FunctionType) -> bool:
    """Whether its code is made of names of modules, classes and forms of `typing`, their attributes and subscripts: it computes what most
    annotations are, and runs no code of the program."""
    known = {**vars(builtins), **function.__globals__}
    for one in dis.get_instructions(function.__code__):
        if one.opname.startswith("CALL"):
            return False
        if one.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME")) and not _is_harmless(known.get(one.argval)):
            return False
    return all(_is_harmless(cell.cell_contents) for cell in function.__closure__ or () if cell != CellType())


def _is_harmless(value: object) -> bool:
    if isinstance(value, type):
        return (
            not isinstance(static_lookup(value, "__class_getitem__"), classmethod)
            or value.__module__ in _LIBRARIES
        )
    return value is None or type(value) is ModuleType or type(value).__module__ in _LIBRARIES


def _changes_names(tx: TraceContext) -> bool:
    """Whether the trace has changed what a name leads to: a class, a module or its variables."""
    changed = tx.changes.changed_trackers()
    if tx.changes.classes or any(isinstance(one, NamespaceTracker) for one in changed):
        return True
    found = _objects_of(tx, changed)
    return found is None or any(isinstance(one, type | ModuleType) for one in found)


def _objects_of(tx: TraceContext, trackers: Sequence[Tracker]) -> list[object] | None:
    """The existing objects of these trackers; None if one of them is not known."""
    if not isinstance(tx.wrap, Wrapper):
        return None if trackers else []
    held = [tx.wrap.object_of(one) for one in trackers]
    found = [one[0] for one in held if one is not None]
    return found if len(found) == len(held) else None
