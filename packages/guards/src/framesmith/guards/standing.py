"""Facts that rest on classes and modules alone, answered by version numbers.

What a program is made of (which class defines `forward`, what `F` means in a module, whether a name is hidden) makes up
about half of the guards of a model and hardly ever changes. CPython numbers the states of classes (see `class_stamps`)
and of dictionaries (`dict_version`). As long as every class and namespace has the number it had when the facts were
last found true, they are true; when a number is new, the facts that rest on it are asked one by one, and the number is
then taken as known.

    F is functional and 'relu' not in relu.__dict__ and forward.__code__ is ... and ...
    ->  [*map(number_of, stamps)] == known and [*map(dict_version, namespaces)] == known or recheck()

Likewise the code and the defaults of functions, which have an identity instead of a number.

Only dictionaries of modules are asked for their version: those of instances do not always count (CPython 3.13).
"""

import builtins
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter, is_
from types import FunctionType, ModuleType
from typing import Final, TypeAlias, final

from framesmith.guards import class_stamps
from framesmith.guards.failure import MISSES
from framesmith.guards.guard_set import Guard
from framesmith.guards.kinds.aliasing import SameObject
from framesmith.guards.kinds.attributes import ClassAttribute, is_immutable
from framesmith.guards.kinds.base import Claim, Relation
from framesmith.guards.kinds.containers import HasKey
from framesmith.guards.kinds.functions import CodeIs
from framesmith.guards.kinds.identity import Identical, IsNone, NotIdentical, NotNone
from framesmith.guards.kinds.types import TypeIs
from framesmith.guards.kinds.values import EqualTo
from framesmith.guards.names import Names
from framesmith.guards.scope import Scope
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.containers import Item
from framesmith.guards.sources.functions import FunctionClosure, FunctionDefault
from framesmith.guards.sources.roots import Builtin, Pinned
from framesmith.guards.sources.steps import Attribute, ClassDict, ClassDictItem
from framesmith.guards.torch_adapter import dict_version

_UNKNOWN: Final = -1
_ABOUT_THE_OBJECT = (Identical, NotIdentical, IsNone, NotNone)
_SCALARS: Final = frozenset({type(None), bool, int, float, complex, str, bytes})
# What an object of the type gives under the name for as long as it lives.
_FIXED: Final = {
    (property, "fget"),
    (property, "fset"),
    (staticmethod, "__func__"),
    (classmethod, "__func__"),
}
_NOWHERE = Scope({}, {})


@final
@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of ground: `read` gives the state of what `view` makes of an object; states are compared by
    equality, or by identity where equality would run user code."""

    view: Callable[..., object]
    read: Callable[..., object]
    by_identity: bool = False


CLASS: Final = Kind(class_stamps.stamp_of, class_stamps.number_of)
NAMESPACE: Final = Kind(lambda names: names, dict_version)
CODE: Final = Kind(lambda function: function, attrgetter("__code__"))
DEFAULTS: Final = Kind(lambda function: function, attrgetter("__defaults__"), by_identity=True)
_KINDS: Final = (CLASS, NAMESPACE, CODE, DEFAULTS)

#: What a fact rests on: the state, of this kind, of an object.
Ground: TypeAlias = tuple[Kind, object]


def grounds(guard: Guard) -> tuple[Ground, ...] | None:
    """What alone the guard rests on, which may be nothing; None when it rests on anything else."""
    claim = guard.claim
    if isinstance(claim, SameObject):
        left, right = _holder(claim.left), _holder(claim.right)
        return None if left is None or right is None else left + right
    if isinstance(claim, Relation):
        return None
    if isinstance(claim, ClassAttribute):
        return _pinned_class(guard.source)
    if isinstance(claim, HasKey):
        return _container(guard.source)
    if isinstance(claim, CodeIs):
        return _function(CODE, guard.source)
    return _holder(guard.source) if _lasting(claim) else None


def _lasting(claim: Claim) -> bool:
    """Whether the claim stays true of an object once it was: of its identity, or of what cannot change."""
    if isinstance(claim, EqualTo):
        return type(claim.value) in _SCALARS
    if isinstance(
        claim, TypeIs
    ):  # `__class__` may be assigned on modules, and on instances of other mutable types
        return is_immutable(claim.expected) and claim.expected is not ModuleType
    return isinstance(claim, _ABOUT_THE_OBJECT)


def _holder(source: Source | None) -> tuple[Ground, ...] | None:
    """The grounds that give the value of the source."""
    if isinstance(source, Builtin):
        return ((NAMESPACE, vars(builtins)),)
    if isinstance(source, Item):
        return _namespace(source.base) if type(source.key) is str else None
    if isinstance(source, ClassDictItem):
        return _pinned_class(source.base)
    if isinstance(source, FunctionDefault):
        return _function(DEFAULTS, source.base)
    if isinstance(source, FunctionClosure):
        return () if _function(CODE, source.base) else None
    if isinstance(source, Attribute) and (type(_value(source.base)), source.name) in _FIXED:
        return _holder(source.base)
    return None


def _container(source: Source | None) -> tuple[Ground, ...] | None:
    """The ground of which the source is the dictionary."""
    return _pinned_class(source.base) if isinstance(source, ClassDict) else _namespace(source)


def _pinned_class(source: Source | None) -> tuple[Ground, ...] | None:
    if not isinstance(source, Pinned) or not isinstance(source.value, type):
        return None
    return () if is_immutable(source.value) else ((CLASS, source.value),)


def _function(kind: Kind, source: Source | None) -> tuple[Ground, ...] | None:
    if isinstance(source, Pinned) and type(source.value) is FunctionType:
        return ((kind, source.value),)
    return None


def _namespace(source: Source | None) -> tuple[Ground, ...] | None:
    """A pinned dictionary of an imported module."""
    if not isinstance(source, Pinned) or type(source.value) is not dict:
        return None
    module = sys.modules.get(str(source.value.get("__name__")))
    imported = isinstance(module, ModuleType) and vars(module) is source.value
    return ((NAMESPACE, source.value),) if imported else None


def _value(source: Source) -> object:
    try:
        return source.read(_NOWHERE)
    except MISSES:
        return None


def standing(guards: Sequence[Guard]) -> "Standing | None":
    """The facts among the guards, if there are enough of them for numbers to be cheaper."""
    if not class_stamps.USABLE:
        return None
    facts = {guard: found for guard in guards if (found := grounds(guard)) is not None}
    result = Standing(facts)
    looks = sum(2 if isinstance(guard.claim, ClassAttribute) else 1 for guard in facts)
    return result if looks > 4 + 1.5 * result.size else None


@final
class Standing:
    """Facts and the grounds they rest on.

    Invariant: `_known` holds, kind by kind, states that the grounds had before the facts were last found true.
    """

    def __init__(self, facts: dict[Guard, tuple[Ground, ...]]) -> None:
        self.facts = tuple(facts)
        on: dict[Kind, dict[int, tuple[object, list[Guard]]]] = {kind: {} for kind in _KINDS}
        for guard, found in facts.items():
            for kind, ground in found:
                on[kind].setdefault(id(ground), (ground, []))[1].append(guard)
        self._classes = [cls for cls, _ in on[CLASS].values() if isinstance(cls, type)]
        self._over = {
            kind: tuple(kind.view(ground) for ground, _ in held.values()) for kind, held in on.items() if held
        }
        self._on = {kind: [guards for _, guards in held.values()] for kind, held in on.items() if held}
        self._known: dict[Kind, list[object]] = {
            kind: [_UNKNOWN] * len(over) for kind, over in self._over.items()
        }
        self._groundless = [guard for guard, found in facts.items() if not found]

    @property
    def size(self) -> int:
        """How many states are compared."""
        return sum(map(len, self._over.values()))

    def render(self, names: Names) -> str:
        """One comparison a kind for all of them; the facts themselves where it fails."""
        terms = [_same(kind, over, self._known[kind], names) for kind, over in self._over.items()]
        return f"({' and '.join(terms)} or {names.constant(self.recheck, 'recheck')}())"

    def recheck(self) -> bool:
        """Ask the facts on grounds with a new state; when all are true, take the states of this moment as known."""
        for cls, stamp in zip(self._classes, self._over.get(CLASS, ()), strict=True):
            if not class_stamps.number_of(stamp):
                class_stamps.give_number(cls)
        states = {kind: [kind.read(view) or None for view in over] for kind, over in self._over.items()}
        for kind, now in states.items():
            for held, new, old in zip(self._on[kind], now, self._known[kind], strict=True):
                changed = new is not old if kind.by_identity else new != old
                if (changed or new is None) and not all(map(_is_true, held)):
                    return False
        if not all(map(_is_true, self._groundless)):
            return False
        for kind, now in states.items():
            self._known[kind][:] = now
        return True


def _is_true(guard: Guard) -> bool:
    try:
        if isinstance(guard.claim, Relation):
            return guard.claim.holds([_NOWHERE.value_of(source) for source in guard.claim.over])
        assert guard.source is not None
        return guard.claim.check(_NOWHERE.value_of(guard.source))
    except MISSES:
        return False


def _same(kind: Kind, over: tuple[object, ...], known: list[object], names: Names) -> str:
    mapping = names.constant(map, "map")
    states = f"{mapping}({names.constant(kind.read, 'state')}, {names.constant(over, 'over')})"
    expected = names.constant(known, "known")
    if kind.by_identity:
        return f"{names.constant(all, 'all')}({mapping}({names.constant(is_, 'is')}, {states}, {expected}))"
    return f"[*{states}] == {expected}"
