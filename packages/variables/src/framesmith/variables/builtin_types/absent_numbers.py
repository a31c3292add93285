"""A number that may differ from call to call, looked up in a dict or a set that does not have it: its absence is guarded, not its value.

Before: `if step not in milestones` makes an entry for each step. After: one entry serves all steps between two milestones.
"""

from collections.abc import Collection, Iterable
from typing import Final

from framesmith.guards import Guard, Reason, Source
from framesmith.guards.class_lookup import owner_of
from framesmith.guards.comparison import is_plain_constant
from framesmith.guards.kinds import ShapeExpression
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.computable import Computable
from framesmith.variables.core.constant import Constant
from framesmith.variables.operations.index import known_equal

_NUMBERS: Final = (int, float, bool, complex)
_MANY: Final = 100  # keys that are written into one guard
_FEW: Final = 4
_NATIVE_MODULES: Final = ("builtins", "collections")


def is_absent_number(
    tx: TraceContext,
    key: Tracker,
    container: Tracker,
    unread: Collection[object] | None,
    known: Iterable[Tracker],
) -> bool:
    """Whether a changing number is no key of a container, guarded; False, without a guard, where its value has to be known.

    `unread`: the keys of an existing container that the trace has not read whole; `known`: those that it knows besides.
    """
    if not isinstance(key, Computable):
        return False
    formula, number = key.formula, key.number
    others = _find_numbers(known)
    if formula is None or number is None or number != number or others is None:
        return False
    if unread is not None and not all(map(is_plain_constant, unread)):
        return False
    if number in others or (unread is not None and number in unread):
        # the program decides among few keys, as it would with `==`; each of them may have an entry (ADR 0010)
        if not key.is_python_constant() and len(others) + len(unread or ()) <= _FEW:
            known_equal(tx, key, Constant(number))
        return False
    # the guard searches the existing container, and must run no code of the user
    if (
        unread is not None
        and owner_of(container.python_type, "__contains__").__module__ not in _NATIVE_MODULES
    ):
        return False
    # it may be an address
    tx.changes.has_number_keys = True
    if others:
        _add_guard(tx, f"{{0}} not in {tuple(others)!r}", formula)
    if unread is not None:
        assert container.source is not None
        _add_guard(tx, "{0} not in {1}", formula, container.source)
    return True


def _add_guard(tx: TraceContext, template: str, *sources: Source) -> None:
    claim = ShapeExpression(template, sources)
    tx.guards.add(Guard.relation(claim, Reason("a number that is not there", None)))


def _find_numbers(keys: Iterable[Tracker]) -> list[object] | None:
    """The numbers among the keys; None where a key may equal a number without being one, or there are many."""
    found: list[object] = []
    for key in keys:
        key = key.realize()
        if not isinstance(key, Constant) or not is_plain_constant(key.value):
            return None
        if type(key.value) in _NUMBERS:
            found.append(key.value)
    return found if len(found) <= _MANY else None
