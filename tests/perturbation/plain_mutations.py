"""Mutations of plain values and containers: numbers, strings, None, enum members, dtypes, lists, dicts, sets, tuples."""

import copy
import enum
import math
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

import torch
from tests.perturbation.locations import Location, Mutation, Undo, replacement

INTEGERS = (0, 1, -1, 2, 7, 2**63)
FLOATS = (0.0, -0.0, math.nan, math.inf, -1.5, 1e-300)


def for_value(location: Location, value: Any, constants: list[Any]) -> Iterator[Mutation]:
    """The mutations that a plain value or a container has by its type."""
    for kind, make in TABLE:
        if isinstance(value, kind) and not isinstance(value, torch.Tensor):
            yield from make(location, value, constants)
            return


def _put(location: Location, name: str, value: Any) -> Mutation:
    return replacement(name, location, lambda _: value)


def _booleans(location: Location, value: bool, constants: list[Any]) -> Iterator[Mutation]:
    yield _put(location, "not", not value)
    yield _put(location, "as int", int(value))
    yield _put(location, "None", None)


def _integers(location: Location, value: int, constants: list[Any]) -> Iterator[Mutation]:
    for new in INTEGERS:
        if new != value:
            yield _put(location, f"int {new}", new)
    yield _put(location, "int +1", value + 1)
    yield _put(location, "bool", bool(value))
    if abs(value) < 2**53:
        yield _put(location, "as float", float(value))
    yield _put(location, "None", None)


def _floats(location: Location, value: float, constants: list[Any]) -> Iterator[Mutation]:
    for new in FLOATS:
        yield _put(location, f"float {new}", new)
    yield _put(location, "float +1", value + 1)
    yield _put(location, "negated", -value)
    if math.isfinite(value):
        yield _put(location, "as int", int(value))
    yield _put(location, "None", None)


def _strings(location: Location, value: str, constants: list[Any]) -> Iterator[Mutation]:
    yield _put(location, "string empty", "")
    yield _put(location, "string +x", value + "x")
    yield _put(location, "string copy", "".join(list(value)) if len(value) > 1 else value)
    for other in [one for one in constants if isinstance(one, str) and one != value][:3]:
        yield _put(location, f"string {other!r}", other)
    yield _put(location, "None", None)


def _none(location: Location, value: None, constants: list[Any]) -> Iterator[Mutation]:
    yield _put(location, "int 1", 1)
    yield _put(location, "float 2.5", 2.5)
    yield replacement("tensor", location, lambda _: torch.arange(3.0))
    yield replacement("list", location, lambda _: [])
    yield _put(location, "string s", "s")


def _members(location: Location, value: enum.Enum, constants: list[Any]) -> Iterator[Mutation]:
    for other in type(value):
        if other is not value:
            yield _put(location, f"member {other.name}", other)


def _dtypes(location: Location, value: torch.dtype, constants: list[Any]) -> Iterator[Mutation]:
    for new in (torch.float64, torch.int64, torch.float32, torch.bfloat16):
        if new is not value:
            yield _put(location, f"{new}", new)


def _ranges(location: Location, value: range, constants: list[Any]) -> Iterator[Mutation]:
    yield _put(location, "range empty", range(0))
    yield _put(location, "range +1", range(value.start, value.stop + 1, value.step))


def _tuples(location: Location, value: tuple[Any, ...], constants: list[Any]) -> Iterator[Mutation]:
    if hasattr(value, "_make"):
        return
    yield _put(location, "tuple empty", ())
    if value:
        yield _put(location, "tuple shorter", value[:-1])
        yield _put(location, "tuple longer", (*value, value[-1]))
        yield _put(location, "tuple reversed", value[::-1])
        yield _put(location, "as list", list(value))


def _inside(name: str, location: Location, act: Callable[[Any], Any]) -> Mutation:
    """Change the container itself; taken back, it has the items of before in their order."""

    def apply() -> Undo:
        container = location.get()
        before = container.copy()
        act(container)

        def undo() -> None:
            container.clear()
            (container.update if isinstance(container, (dict, set)) else container.extend)(before)

        return undo

    return Mutation(name, apply)


def _lists(location: Location, value: list[Any], constants: list[Any]) -> Iterator[Mutation]:
    yield _inside("append", location, lambda it: it.append(copy.copy(it[-1]) if it else 1))
    yield _inside("clear", location, lambda it: it.clear())
    if value:
        yield _inside("pop", location, lambda it: it.pop())
        yield _inside(
            "remove first", location, lambda it: it.remove(it[0]) if len(it) < 2 else it.__delitem__(0)
        )
        yield _inside("insert copy", location, lambda it: it.insert(0, copy.copy(it[0])))
        yield _inside("item copied", location, lambda it: it.__setitem__(0, copy.copy(it[0])))
        yield _inside("repeat an object", location, lambda it: it.append(it[0]))
    if len(value) > 1:
        yield _inside("reverse", location, lambda it: it.reverse())
        yield _inside("one object twice", location, lambda it: it.__setitem__(1, it[0]))
    yield replacement("list copied", location, copy.copy)
    yield replacement("as tuple", location, tuple)
    yield replacement("list subclass", location, type("MyList", (type(value),), {"__module__": "program"}))


def _deques(location: Location, value: deque[Any], constants: list[Any]) -> Iterator[Mutation]:
    yield _inside("append", location, lambda it: it.append(it[-1] if it else 1))
    yield _inside("clear", location, lambda it: it.clear())
    yield _inside("rotate", location, lambda it: it.rotate(1))
    yield replacement("maxlen", location, lambda it: deque(it, maxlen=max(len(it), 1)))
    yield replacement("as list", location, list)


def _move_to_end(it: Any) -> None:
    key = next(iter(it))
    if isinstance(it, OrderedDict):
        it.move_to_end(key)
    else:
        it[key] = it.pop(key)


def _rename(key: Any) -> Callable[[dict[Any, Any]], None]:
    def act(it: dict[Any, Any]) -> None:
        items = [(one if one != key else f"{key}_renamed", value) for one, value in it.items()]
        it.clear()
        it.update(items)

    return act


def _dicts(location: Location, value: dict[Any, Any], constants: list[Any]) -> Iterator[Mutation]:
    yield _inside("clear", location, lambda it: it.clear())
    yield _inside("key added", location, lambda it: it.__setitem__("extra_key", next(iter(it.values()), 1)))
    for key in list(value)[:4]:
        yield _inside(f"key {key!r} renamed", location, _rename(key))
        yield _inside(f"key {key!r} removed", location, lambda it, key=key: it.pop(key))
    for key in [one for one in constants if one not in value][:6]:
        yield _inside(f"key {key!r} added", location, lambda it, key=key: it.__setitem__(key, 1))
    if len(value) > 1:
        yield _inside("first key to the end", location, _move_to_end)
    yield replacement("dict copied", location, copy.copy)
    if type(value) is dict:
        yield replacement("as OrderedDict", location, OrderedDict)
    yield replacement("dict subclass", location, type("MyDict", (type(value),), {"__module__": "program"}))


def _sets(location: Location, value: set[Any], constants: list[Any]) -> Iterator[Mutation]:
    yield _inside("clear", location, lambda it: it.clear())
    for new in [*constants[:3], "extra"]:
        yield _inside(f"add {new!r}", location, lambda it, new=new: it.add(new))
    if value:
        first = min(value, key=repr)
        yield _inside("item removed", location, lambda it: it.discard(first))
    yield replacement("as frozenset", location, frozenset)


TABLE: tuple[tuple[Any, Callable[[Any, Any, list[Any]], Iterator[Mutation]]], ...] = (
    (enum.Enum, _members),
    (bool, _booleans),
    (int, _integers),
    (float, _floats),
    (str, _strings),
    (types.NoneType, _none),
    (torch.dtype, _dtypes),
    (range, _ranges),
    (torch.Size, lambda *_: iter(())),
    (tuple, _tuples),
    (list, _lists),
    (deque, _deques),
    (dict, _dicts),
    (set, _sets),
)
"""Type -> its mutations; the first row that fits counts."""
