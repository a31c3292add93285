"""Looking ahead in builtin iterators without moving them.

A builtin iterator describes itself by `__reduce__`: its container and its position. From that a second iterator
is built at the same position, inner iterators (of `zip`, `enumerate`) included. Generators, `map` and `filter` run
user code when they advance: `clone` raises UnknownIterator for them, and for every type without a row below. Their
trackers are in `variables.builtin_types.existing_iterators`.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import length_hint
from typing import cast

from framesmith.guards.words import a_type

_DONE = object()


class UnknownIterator(TypeError):
    """The iterator cannot be copied without running user code, or the thing is no iterator at all."""

    def __init__(self, value: object) -> None:
        super().__init__(
            f"cannot look ahead in {a_type(type(value))}: only builtin iterators over containers"
        )


def clone(iterator: object) -> Iterator[object]:
    """An independent iterator at the same position; raises UnknownIterator."""
    row = _CLONERS.get(type(iterator))
    if row is None:
        raise UnknownIterator(iterator)
    try:
        return row(iterator)
    except RuntimeError as changed:  # the dictionary or set changed size under its iterator
        raise UnknownIterator(iterator) from changed


def is_known_iterator(cls: type) -> bool:
    """Whether iterators of this type can be copied, unless they hold what cannot."""
    return cls in _CLONERS


def can_clone(iterator: object) -> bool:
    """Whether `clone` would succeed now."""
    try:
        clone(iterator)
    except UnknownIterator:
        return False
    return True


def peek(iterator: object, ahead: int = 0) -> object:
    """The item that comes after `ahead` others; IndexError when there are fewer."""
    look = _LOOKS.get(type(iterator))
    return look(iterator, ahead) if look is not None else _look_slowly(iterator, ahead)


def has_at_least(iterator: object, count: int) -> bool:
    """Whether at least `count` items are left; the iterator does not move."""
    if type(iterator) in _LOOKS:
        return length_hint(iterator) >= count
    return count <= 0 or next(islice(clone(iterator), count - 1, None), _DONE) is not _DONE


def is_long_to_look_into(iterator: object) -> bool:
    """Whether each `peek` copies many items: an iterator over a dict, set or deque can only be copied, not indexed."""
    if type(iterator) in (enumerate, zip):
        # The parts of an `enumerate` include its count, which is no iterator.
        return any(is_long_to_look_into(part) for part in parts(iterator) if hasattr(type(part), "__next__"))
    return type(iterator) in _COPYING and length_hint(iterator) > _MANY


def parts(iterator: object) -> tuple[object, ...]:
    """What the iterator runs over, as its `__reduce__` says: `(list,)`, the inner iterators of a `zip`,
    `(function, inner, ...)` of a `map`, `(inner, count)` of an `enumerate`; empty containers once exhausted."""
    if type(iterator) not in _DESCRIBED:
        raise UnknownIterator(iterator)
    return _reduce_parts(iterator)[1]


def is_strict_iterator(iterator: object) -> bool:
    """Whether a `zip` or `map` was made with `strict=True`, so that it raises ValueError where its parts differ in length."""
    return bool(_reduce_parts(iterator)[2])


def _reduce_parts(iterator: object) -> tuple[Callable[..., Iterator[object]], tuple[object, ...], object]:
    """The pieces of `__reduce__`: constructor, arguments, state (None without)."""
    constructor, arguments, *state = cast(tuple[object, ...], iterator.__reduce__())
    build = cast(Callable[..., Iterator[object]], constructor)
    return build, cast(tuple[object, ...], arguments), state[0] if state else None


def _clone_flat(iterator: object) -> Iterator[object]:
    """The clone of an iterator over a container, made of its constructor, its argument and its position."""
    constructor, arguments, state = _reduce_parts(iterator)
    if not _runs_no_user_code(constructor, arguments[0]):
        raise UnknownIterator(iterator)
    # a list that has become shorter than the index of `reversed`: `__setstate__` would take the last item instead
    if constructor is reversed and length_hint(iterator) == 0:
        return iter(())
    copy = constructor(*arguments)
    # Iterators of dicts describe themselves by a list of what is left, exhausted ones by an empty container.
    if state is not None:
        set_state: Callable[[object], None] = getattr(copy, "__setstate__")  # noqa: B009  # who gives one takes one
        set_state(state)
    return copy


def _runs_no_user_code(constructor: object, container: object) -> bool:
    """Whether building the copy calls builtin code only: the container's class overrides nothing it uses."""
    # `reversed` asks for `__reversed__`, then reads by position.
    slots = ("__reversed__", "__getitem__", "__len__") if constructor is reversed else ("__iter__",)
    for cls in _CONTAINERS:
        if issubclass(type(container), cls):
            return all(getattr(type(container), slot, None) is getattr(cls, slot, None) for slot in slots)
    return False


def _clone_enumerate(iterator: object) -> Iterator[object]:
    inner, count = parts(iterator)
    assert isinstance(count, int)
    return enumerate(clone(inner), count)


def _clone_zip(iterator: object) -> Iterator[object]:
    _, inner, strict = _reduce_parts(iterator)
    return zip(*map(clone, inner), strict=bool(strict))


def _types_of(*iterators: object) -> tuple[type, ...]:
    return tuple(type(iterator) for iterator in iterators)


_COPYING = _types_of(
    iter({}),
    iter({}.values()),
    iter({}.items()),
    reversed({}),
    reversed({}.values()),
    reversed({}.items()),
    iter(set()),
    iter(OrderedDict()),
    iter(deque()),
    reversed(deque()),
)
# A table of its own: guards read real iterators while an entry runs, below `variables`, whose rows say which iterators a
# builtin type has. Only those belong here that can be copied, or looked into, without moving them.
_FLAT = (
    *_types_of(
        iter([]),
        iter(()),
        # Ranges beyond C's long and strings beyond ASCII have iterator types of their own.
        iter(range(0)),
        iter(range(1 << 70, (1 << 70) + 1)),
        iter("a"),
        iter("\u0100"),
        iter(b""),
        iter(bytearray()),
        reversed([]),
        reversed(()),
    ),
    *_COPYING,
)

# The types behind them: what a copy of the iterator reads its items from. For them the check that a subclass overrides nothing.
_CONTAINERS: tuple[type, ...] = (list, tuple, range, str, bytes, bytearray, deque)

# Each look copies all that is left, so a loop over n items would copy n * n of them.
_MANY = 32

# One row per iterator type; inner iterators are cloned too.
_CLONERS: dict[type, Callable[[object], Iterator[object]]] = {
    **dict.fromkeys(_FLAT, _clone_flat),
    enumerate: _clone_enumerate,
    zip: _clone_zip,
}


def _look_into_sequence(iterator: object, ahead: int) -> object:
    """`peek` for lists, tuples and ranges: container and position are in `__reduce__`, so the item is indexed."""
    reduced: tuple[object, ...] = iterator.__reduce__()  # type: ignore[assignment]  # never a name, for these types
    (container,) = cast(tuple[Sequence[object]], reduced[1])
    # A subclass may index and iterate differently.
    if type(container) not in _PLAIN_SEQUENCES:
        return _look_slowly(iterator, ahead)
    position = reduced[2] if len(reduced) > 2 else None
    return container[ahead + position if isinstance(position, int) else ahead]


_PLAIN_SEQUENCES: frozenset[type] = frozenset({list, tuple, range})


def _look_slowly(iterator: object, ahead: int) -> object:
    """`peek` for the rest: advance a clone; IndexError when it ends before."""
    item = next(islice(clone(iterator), ahead, None), _DONE)
    if item is _DONE:
        raise IndexError(f"the iterator has no item {ahead} ahead")
    return item


# Iterators over sequences: they know how many items are left, and their position.
_LOOKS: dict[type, Callable[[object, int], object]] = dict.fromkeys(
    _types_of(iter([]), iter(()), iter(range(0))), _look_into_sequence
)

_DESCRIBED = frozenset({*_CLONERS, map, filter})
