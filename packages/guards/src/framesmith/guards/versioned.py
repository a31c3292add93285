"""Guards on classes, modules and functions, checked by comparing version numbers (ADR 0008).

Guards on the program itself (which class defines `forward`, what `F` means in a module, whether a name is hidden) are
about half of the guards of a model and hardly ever fail. Here they are called facts. CPython numbers the states of
classes (see `type_versions`) and of dictionaries (`dict_version`). As long as every class and namespace has the number
it had when the facts were last found true, they are true; when a number is new, the facts that depend on it are checked
one by one, and if they hold, the number counts as known.

    F is functional and 'relu' not in relu.__dict__ and forward.__code__ is ... and ...
    ->  known == join(numbers) and [*map(dict_version, namespaces)] == known or recheck()

The numbers of classes are compared as bytes, read directly from memory: a third of the time that int objects take.

The code and the defaults of functions have an identity instead of a number, which is compared in the same way.
The kinds of dependencies are in `dependencies`.
"""

import struct
from collections.abc import Sequence
from itertools import chain, repeat
from operator import is_
from types import FunctionType
from typing import Final, final

from framesmith.guards import type_versions
from framesmith.guards.class_lookup import resolution_order
from framesmith.guards.dependencies import CLASS, CODE, EMPTY_SCOPE, Dependency, StateKind, dependencies_of
from framesmith.guards.failure import MISSES
from framesmith.guards.guards import Guard
from framesmith.guards.kinds.attributes import ClassAttribute
from framesmith.guards.kinds.base import Claim, Relation
from framesmith.guards.kinds.classes import ClassStructure
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source

#: The state that nothing has.
_UNKNOWN: Final = object()
#: The number in the bytes where none is known; CPython gives none as high.
_NO_NUMBER: Final = 2**32 - 1
#: What the comparison of versions costs, in look-ups of a plain guard: once, and for each state; an estimate, which no benchmark here fixes.
#: Tuning only: both ways of checking say the same.
_FIXED_COST: Final = 4
_COST_OF_STATE: Final = 1.5
#: Up to so many states of a kind are compared one by one.
_FEW: Final = 3


def versioned_guards(guards: Sequence[Guard]) -> "VersionedGuards | None":
    """The guards that versions can check; None if there are too few of them for that to be cheaper, or no versions."""
    if not type_versions.USABLE:
        return None
    facts = {guard: found for guard in guards if (found := dependencies_of(guard)) is not None}
    result = VersionedGuards(facts)
    looks = sum(_estimate_cost(guard.claim) for guard in facts)
    return result if result.size and looks > _FIXED_COST + _COST_OF_STATE * result.size else None


def _estimate_cost(claim: Claim | Relation) -> int:
    """The estimated cost of checking the claim itself, in look-ups."""
    return 2 if isinstance(claim, ClassAttribute) else 100 if isinstance(claim, ClassStructure) else 1


@final
class VersionedGuards:
    """Facts and the dependencies they rest on.

    Invariant: `_known` holds, kind by kind, states that the dependencies had before the facts were last found true.
    """

    def __init__(self, facts: dict[Guard, tuple[Dependency, ...]]) -> None:
        self.facts = tuple(facts)
        self._held: dict[tuple[StateKind, int], tuple[object, set[Source]]] = {}
        # By id: a class may have a metaclass with `__eq__` and `__hash__`. The tuple keeps the object.
        on: dict[StateKind, dict[int, tuple[object, list[Guard]]]] = {CLASS: {}}
        for guard, found in facts.items():
            for kind, dependency, source in found:
                on.setdefault(kind, {}).setdefault(id(dependency), (dependency, []))[1].append(guard)
                if source is not None:
                    self._held.setdefault((kind, id(dependency)), (dependency, set()))[1].add(source)
        self._bases = _merge_bases(on[CLASS])
        self._classes = [cls for cls, _ in on[CLASS].values() if isinstance(cls, type)]
        self._over = {
            kind: tuple(kind.view(dependency) for dependency, _ in held.values())
            for kind, held in on.items()
            if held
        }
        self._keys = {kind: [(kind, key) for key in held] for kind, held in on.items() if held}
        self._on = {kind: [guards for _, guards in held.values()] for kind, held in on.items() if held}
        self._known: dict[StateKind, list[object]] = {
            kind: [_UNKNOWN] * len(over) for kind, over in self._over.items()
        }
        self._touched = (
            *(each.__code__ for each in self._over.get(CODE, ()) if isinstance(each, FunctionType)),
            *chain.from_iterable(self._over.values()),
        )
        self._independent = [guard for guard, found in facts.items() if not found]
        self._numbers = [bytearray(each) for each in _as_bytes(self._known.get(CLASS, ()))]

    @property
    def size(self) -> int:
        """How many states are compared on each call."""
        return sum(map(len, self._over.values()))

    def render(self, names: Names) -> str:
        """Python text: the comparisons of all states, kind by kind, `or` a call of `recheck`."""
        terms = [
            _same_numbers(over, self._numbers, names)
            if kind is CLASS
            else _same(kind, over, self._known[kind], names)
            for kind, over in self._over.items()
        ]
        # Copying the references brings the objects into the processor's caches, many at a time (ADR 0008).
        if self.size > _FEW:
            terms.insert(0, f"[*{names.constant(self._touched, 'touched')}]")
        return f"({' and '.join(terms)} or {names.constant(self.recheck, 'recheck')}())"

    def recheck(self) -> bool:
        """Check the facts on dependencies with a new state; if all hold, the present states become the known ones.

        The states are read before the facts are checked, so a change in between shows as a new state in the next call.
        """
        # A class loses its number when it changes, and gets the next one only when it is looked up.
        for cls, field in zip(self._classes, self._over.get(CLASS, ()), strict=True):
            if not type_versions.version_of(field):
                type_versions.assign_version(cls)
        states = {
            kind: [*map(self._read, repeat(kind), over, self._keys[kind])]
            for kind, over in self._over.items()
        }
        for kind, now in states.items():
            for held, new, old in zip(self._on[kind], now, self._known[kind], strict=True):
                # Only facts on what changed are asked again: a store elsewhere in a module costs a few look-ups.
                changed = new is not old if kind.by_identity else new != old
                if (changed or new is _UNKNOWN) and not all(map(_is_true, held)):
                    return False
        if not all(map(_is_true, self._independent)):
            return False
        # A number covers a base only as long as the class derives from it.
        if not all(id(base) in _order_of(cls) for base, cls in self._bases):
            return False
        for kind, now in states.items():
            # In place, as the numbers below: the generated text holds these very lists and buffers.
            self._known[kind][:] = now
        for known, packed in zip(self._numbers, _as_bytes(states.get(CLASS, ())), strict=True):
            known[:] = packed
        return True

    def _read(self, kind: StateKind, view: object, key: tuple[StateKind, int]) -> object:
        """The state of a dependency; `_UNKNOWN` where changes would not show, so that its facts are checked each time.

        That is so for a class without a number, which reads 0, and for an object that its class holds no longer.
        """
        held = self._held.get(key)
        if held is not None and not all(_value(source) is held[0] for source in held[1]):
            return _UNKNOWN
        state = kind.read(view)
        return _UNKNOWN if kind is CLASS and not state else state


def _merge_bases(classes: dict[int, tuple[object, list[Guard]]]) -> list[tuple[type, type]]:
    """Remove classes that are bases of other ones: the number of a derived class changes with that of its base.

    The facts on a base go to a derived class that stays. Returns the pairs (base, derived class that covers it).
    """
    found: list[tuple[type, type]] = []
    held = [cls for cls, _ in classes.values() if isinstance(cls, type)]
    orders = {id(cls): _order_of(cls) for cls in held}
    for cls in held:
        derived = next((one for one in held if one is not cls and id(cls) in orders[id(one)]), None)
        if derived is not None:
            held_by_base = classes.pop(id(cls))[1]
            # `derived` may itself have been removed before, in favour of a class below it.
            stands = next(one for one in held if id(derived) in orders[id(one)] and id(one) in classes)
            classes[id(stands)][1].extend(held_by_base)
            found.append((cls, stands))
    return found


def _order_of(cls: type) -> frozenset[int]:
    """The resolution order by identity: a metaclass may have an `__eq__`."""
    return frozenset(map(id, resolution_order(cls)))


def _value(source: Source) -> object:
    try:
        return EMPTY_SCOPE.value_of(source)
    except MISSES:
        return _UNKNOWN


def _is_true(guard: Guard) -> bool:
    try:
        if isinstance(guard.claim, Relation):
            return guard.claim.holds([EMPTY_SCOPE.value_of(source) for source in guard.claim.all_sources])
        assert guard.source is not None
        return guard.claim.check(EMPTY_SCOPE.value_of(guard.source))
    except MISSES:
        return False


def _as_bytes(numbers: Sequence[object]) -> list[bytes]:
    """Version numbers as the bytes they are in memory: each by itself if they are few, else all joined."""
    # No class has this number, so a state that is not known never compares equal.
    known = [each if isinstance(each, int) else _NO_NUMBER for each in numbers]
    packed = [struct.pack("I", each) for each in known]
    return packed if len(packed) <= _FEW else [b"".join(packed)]


def _same_numbers(fields: tuple[object, ...], numbers: list[bytearray], names: Names) -> str:
    views = tuple(memoryview(field) for field in fields if isinstance(field, type_versions.VersionField))
    if len(views) <= _FEW:
        # Views of one native number each are compared without unpacking: two thirds of the time that bytes take.
        known = (memoryview(each).cast("I") for each in numbers)
        each = zip(known, (view.cast("B").cast("I") for view in views), strict=True)
        return " and ".join(f"{names.constant(a, 'known')} == {names.constant(b, 'number')}" for a, b in each)
    joined = f"{names.constant(b''.join, 'join')}({names.constant(views, 'numbers')})"
    return f"{names.constant(numbers[0], 'known')} == {joined}"


def _same(kind: StateKind, over: tuple[object, ...], known: list[object], names: Names) -> str:
    if len(over) <= _FEW:
        return " and ".join(_same_one(kind, view, index, known, names) for index, view in enumerate(over))
    mapping = names.constant(map, "map")
    states = f"{mapping}({names.constant(kind.read, 'state')}, {names.constant(over, 'over')})"
    expected = names.constant(known, "known")
    if kind.by_identity:
        return f"{names.constant(all, 'all')}({mapping}({names.constant(is_, 'is')}, {states}, {expected}))"
    return f"[*{states}] == {expected}"


def _same_one(kind: StateKind, view: object, index: int, known: list[object], names: Names) -> str:
    """The comparison of one state as text.

    What an attribute holds is compared by identity, because `==` would compare two code objects item by item.
    """
    held = names.constant(view, "over")
    state = f"{held}.{kind.attribute}" if kind.attribute else f"{names.constant(kind.read, 'state')}({held})"
    return f"{state} {'is' if kind.by_identity or kind.attribute else '=='} {names.constant(known, 'known')}[{index}]"
