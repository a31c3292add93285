"""Whether code of the user runs when an existing value ends: it has `__del__`, is a suspended generator, or holds such a value.

Read with `gc` and the C-level descriptors of `type`, so that no code of the user runs.
"""

import gc
import inspect
import itertools
from collections.abc import Callable
from types import CodeType, FunctionType, GeneratorType, ModuleType
from typing import Final

import torch

from framesmith.guards.class_lookup import MISSING, static_lookup
from framesmith.guards.imported import is_namespace

# Objects walked before a search gives up and says "yes": the value is treated as finalized, which only ends the entry
# earlier. What is plain does not count, and is passed over many at a time: a guard searches at each call.
_FAR: Final = 1000
# What a search does not walk into. Classes, modules, code and plain values lead to nothing that ends with them, and from
# functions and models one gets to the whole program; what ends with those is seen by the interpreter, value by value.
_NO_HOLDERS: Final = (
    type,
    ModuleType,
    FunctionType,
    CodeType,
    torch.Tensor,
    torch.nn.Module,
    torch.SymInt,  # what a trace knows of a number, not an object of the user's
    torch.SymFloat,
    torch.SymBool,
    str,
    int,
    float,
)
# C iterators that hold others: dropping one may drop a suspended generator inside.
CHAINS: Final = (zip, enumerate, map, filter, itertools.chain, itertools.islice)
# Nothing ends with these, nor with a list or tuple of these.
_PLAIN: Final = frozenset({type(None), int, float, bool, str, bytes, torch.dtype})
# By identity: a metaclass of the user may define `__hash__`.
_PLAIN_IDS: Final = frozenset(map(id, _PLAIN))
# Tensors are not finalized, but may have weak references.
_WITH_TENSORS: Final = _PLAIN_IDS | {id(torch.Tensor), id(torch.nn.Parameter)}


def is_finalized(value: object) -> bool:
    """Whether dropping an existing object may run code of the user."""
    cls = type(value)
    if cls is GeneratorType:
        assert isinstance(value, GeneratorType)
        # one that has not begun, or has ended, runs nothing
        return inspect.getgeneratorstate(value) == inspect.GEN_SUSPENDED
    if issubclass(cls, CHAINS):
        return any(is_finalized(inner) for inner in inner_objects(value))
    return static_lookup(cls, "__del__") is not MISSING


def inner_objects(iterator: object) -> list[object]:
    """What an iterator over iterators holds, also in its tuple of them."""
    held = gc.get_referents(iterator)
    return [one for value in held for one in (value if type(value) is tuple else (value,))]


def holds_finalized(value: object) -> bool:
    """Whether an existing container or object leads to something that is finalized; True after a long search."""
    return leads_to_any(value, is_finalized, plain=_WITH_TENSORS)


def may_come_to_hold_finalized(value: object) -> bool:
    """As `holds_finalized`; also where it is a generator that has not begun, which a native operation may start, or leads to one."""
    return _has_not_begun(value) or leads_to_any(
        value, lambda held: is_finalized(held) or _has_not_begun(held), plain=_WITH_TENSORS
    )


def _has_not_begun(value: object) -> bool:
    if type(value) is not GeneratorType:  # a dead proxy, asked for its class, would raise
        return False
    assert isinstance(value, GeneratorType)
    return inspect.getgeneratorstate(value) == inspect.GEN_CREATED


def leads_to_any(
    value: object,
    is_wanted: Callable[[object], bool],
    most: int = _FAR,
    plain: frozenset[int] = _PLAIN_IDS,
) -> bool:
    """Whether an existing container or object leads to what is wanted; True after `most` objects without an answer.

    `plain`: the ids of the types of which nothing is wanted.
    """
    todo, seen = [value], {id(value)}
    while todo:
        if len(seen) > most:
            return True
        holder = todo.pop()
        if issubclass(type(holder), _NO_HOLDERS) or is_namespace(holder):
            continue
        found = gc.get_referents(holder)
        if plain.issuperset(map(id, map(type, found))):
            continue
        for held in found:
            if id(type(held)) in plain:
                continue
            if is_wanted(held):
                return True
            if id(held) not in seen:
                seen.add(id(held))
                todo.append(held)
    return False


def ends_unseen(value: object) -> bool:
    """Whether dropping an existing value runs no code of the user, as far as a search goes: not into functions and tensors."""
    if id(type(value)) in _WITH_TENSORS:
        return True
    if (type(value) is tuple or type(value) is list) and _WITH_TENSORS.issuperset(map(id, map(type, value))):
        return True
    return not is_finalized(value) and not holds_finalized(value)
