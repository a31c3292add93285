"""The dependencies of a guard: classes, dictionaries of modules and classes, functions, slots of objects found there (ADR 0008).

A *dependency* is an object together with a kind of state (a version number, an identity) that CPython changes with every
change that matters. How the states are compared is in `versioned`.

Only dictionaries of modules and plain ones held by classes are asked for their version, the latter where the version of
an instance's dictionary, which it may be, counts every store (see `dict_versions`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Final, TypeAlias, final

from framesmith.guards import dict_versions, type_versions
from framesmith.guards.class_lookup import is_immutable, static_lookup
from framesmith.guards.failure import MISSES
from framesmith.guards.guards import Guard
from framesmith.guards.imported import is_namespace
from framesmith.guards.kinds.aliasing import SameObject
from framesmith.guards.kinds.attributes import ClassAttribute
from framesmith.guards.kinds.base import Claim, Relation
from framesmith.guards.kinds.classes import ClassStructure
from framesmith.guards.kinds.containers import HasKey, KeysAre, LengthIs
from framesmith.guards.kinds.functions import CodeIs
from framesmith.guards.kinds.identity import Identical, NotIdentical
from framesmith.guards.kinds.presence import Present
from framesmith.guards.kinds.types import TypeIs
from framesmith.guards.kinds.values import EqualTo
from framesmith.guards.scope import Scope
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.containers import Item
from framesmith.guards.sources.functions import FunctionClosure, FunctionDefault
from framesmith.guards.sources.roots import Pinned
from framesmith.guards.sources.steps import Attribute, ClassDict, ClassDictItem
from framesmith.guards.torch_adapter import dict_version

_ABOUT_THE_OBJECT = (Identical, NotIdentical, Present)
_SCALARS: Final = frozenset({type(None), bool, int, float, complex, str, bytes})
# (type, attribute): an object of the type has the same value there for as long as it lives.
_FIXED: Final = {
    (property, "fget"),
    (property, "fset"),
    (staticmethod, "__func__"),
    (classmethod, "__func__"),
}
EMPTY_SCOPE: Final = Scope({}, {})


@final
@dataclass(frozen=True, slots=True)
class StateKind:
    """One kind of dependency: `read` gives the state of what `view` makes of an object; states are compared by
    equality, or by identity where equality would run user code. `attribute`: what `read` reads, if it is one."""

    view: Callable[..., object]
    read: Callable[..., object]
    by_identity: bool = False
    attribute: str = ""


CLASS: Final = StateKind(type_versions.version_field, type_versions.version_of)
NAMESPACE: Final = StateKind(lambda names: names, dict_version)
CODE: Final = StateKind(lambda function: function, attrgetter("__code__"), attribute="__code__")
# By identity: `==` would compare the defaults, which are values of the user.
DEFAULTS: Final = StateKind(
    lambda function: function, attrgetter("__defaults__"), by_identity=True, attribute="__defaults__"
)
TYPE: Final = StateKind(lambda value: value, type, by_identity=True)


# One object for each name, since states are grouped by their kind: two equal lambdas would make two groups.
@cache
def slot(name: str) -> StateKind:
    """The kind of state of a slot: what an object holds under this name, by identity."""
    return StateKind(lambda value: value, attrgetter(name), by_identity=True)


#: What a fact rests on: the state, of this kind, of an object. For one that a class holds, also how it is read: the class may hold
#: another one later.
Dependency: TypeAlias = tuple[StateKind, object, Source | None]


def dependencies_of(guard: Guard) -> tuple[Dependency, ...] | None:
    """The dependencies that decide the guard alone, possibly none; None if anything else can change its answer."""
    claim = guard.claim
    if isinstance(claim, SameObject):
        left, right = _holder(claim.left), _holder(claim.right)
        return None if left is None or right is None else left + right
    if isinstance(claim, Relation):
        return None
    if isinstance(claim, ClassAttribute | ClassStructure):
        return _pinned_class(guard.source)
    if isinstance(claim, HasKey | KeysAre | LengthIs):
        return _container(guard.source)
    if isinstance(claim, CodeIs):
        return _function(CODE, guard.source)
    # An instance of a class of the user may get another `__class__` in place.
    if isinstance(claim, TypeIs) and not _is_permanent(claim):
        return _of_class(TYPE, guard.source)
    return _holder(guard.source) if _is_permanent(claim) else None


def _is_permanent(claim: Claim) -> bool:
    """Whether a claim that once held of an object always holds of it: it is about identity, or about what cannot change."""
    if isinstance(claim, EqualTo):
        return claim.is_about_identity or type(claim.value) in _SCALARS
    # `__class__` may be assigned on modules, and on instances of other mutable types
    if isinstance(claim, TypeIs):
        return is_immutable(claim.expected) and claim.expected is not ModuleType
    return isinstance(claim, _ABOUT_THE_OBJECT)


def _holder(source: Source | None) -> tuple[Dependency, ...] | None:
    """The dependencies that decide which object the source gives; None if anything else can."""
    if isinstance(source, Item):
        return _container(source.base) if type(source.key) is str else None
    if isinstance(source, ClassDictItem):
        return _pinned_class(source.base)
    if isinstance(source, FunctionDefault):
        return _function(DEFAULTS, source.base)
    if isinstance(source, FunctionClosure):
        # The closure of a function cannot be replaced, so nothing has to be compared.
        return () if _function(CODE, source.base) else None
    if isinstance(source, Attribute) and source.name == "__code__" and _function(CODE, source.base):
        return _function(CODE, source.base)
    if isinstance(source, Attribute):
        cls = type(_value(source.base))
        # The object itself may still be replaced where it is held.
        if (cls, source.name) in _FIXED:
            return _holder(source.base)
        if isinstance(static_lookup(cls, source.name), MemberDescriptorType):
            return _of_class(slot(source.name), source.base)
    return None


def _of_class(kind: StateKind, source: Source | None) -> tuple[Dependency, ...] | None:
    """The state of an object that a class holds, in its dictionary or below; None for other objects.

    The guards keep the object alive, so it has to be one that its class keeps alive anyway.
    """
    below = source
    while isinstance(below, Item | Attribute):
        below = below.base
    held = _holder(source) if isinstance(below, ClassDictItem) else None
    return None if source is None or held is None else (*held, (kind, _value(source), source))


def _container(source: Source | None) -> tuple[Dependency, ...] | None:
    """The dependencies for the content of a dictionary: of a class, held by a class, or of a module; else None."""
    if isinstance(source, ClassDict):
        return _pinned_class(source.base)
    if isinstance(source, ClassDictItem):
        # It may be the `__dict__` of an instance, `names = vars(holder)` in a class body.
        counted = dict_versions.ALSO_OF_INSTANCES and type(_value(source)) is dict
        return _of_class(NAMESPACE, source) if counted else None
    return _namespace(source)


def _pinned_class(source: Source | None) -> tuple[Dependency, ...] | None:
    if not isinstance(source, Pinned) or not isinstance(source.value, type):
        return None
    # It never changes, so nothing has to be compared.
    return () if is_immutable(source.value) else ((CLASS, source.value, None),)


def _function(kind: StateKind, source: Source | None) -> tuple[Dependency, ...] | None:
    if isinstance(source, Pinned) and type(source.value) is FunctionType:
        return ((kind, source.value, None),)
    return None


def _namespace(source: Source | None) -> tuple[Dependency, ...] | None:
    """The dependency for a pinned dictionary of an imported module; None for anything else."""
    if not dict_versions.USABLE or not isinstance(source, Pinned) or not is_namespace(source.value):
        return None
    return ((NAMESPACE, source.value, None),)


def _value(source: Source) -> object:
    try:
        return source.read(EMPTY_SCOPE)
    except MISSES:
        return None
