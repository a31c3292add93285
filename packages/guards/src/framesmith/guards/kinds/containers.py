"""Claims about builtin containers and their iterators: lengths, keys and their order, membership.

The type of the container has to be guarded as well (`TypeIs`), so that `len`, `in` and iteration are builtin code.
The casts below are false for a value of another type: its TypeError is a miss, as in the generated text.
"""

from collections import OrderedDict, deque
from collections.abc import Container, Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import cast, final

from framesmith.guards.comparison import hash_key, same_constant
from framesmith.guards.iterators import has_at_least
from framesmith.guards.kinds.base import Claim, show_value
from framesmith.guards.names import Names, literal
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.containers import DictKeys
from framesmith.guards.words import write_count

_SIZED = (list, tuple, dict, set, frozenset, str, bytes, OrderedDict, deque)


@final
@dataclass(frozen=True, slots=True, eq=False)
class LengthIs(Claim):
    """`len(value)` is this number."""

    length: int

    def check(self, value: object) -> bool:
        return len(cast(Sized, value)) == self.length

    def render(self, value_expression: str, names: Names) -> str:
        return f"{names.constant(len, 'len')}({value_expression}) == {self.length}"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: length changed from {self.length} to {_length(value)}"

    def text(self, source: Source) -> str:
        return f"len({source.text()}) == {self.length}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class KeysAre(Claim):
    """Exactly these keys in this order, compared as constants (see `comparison`)."""

    keys: tuple[object, ...]

    def hash_fields(self) -> tuple[object, ...]:
        return (hash_key(self.keys),)

    def check(self, value: object) -> bool:
        return _Listed(self.keys).check([*cast(Iterable[object], value)])

    def render(self, value_expression: str, names: Names) -> str:
        return _Listed(self.keys).render(f"[*{value_expression}]", names)

    def explain(self, value: object, source: Source) -> str:
        found = [*cast(Iterable[object], value)]
        missing = [key for key in self.keys if not _holds(found, key)]
        extra = [key for key in found if not _holds(self.keys, key)]
        if missing or extra:
            changes = [
                f"{label} {show_value(keys)}"
                for label, keys in (("without", missing), ("new", extra))
                if keys
            ]
            return f"{source.text()}: keys changed ({', '.join(changes)})"
        return f"{source.text()}: the order of the keys changed from {show_value([*self.keys])} to {show_value(found)}"

    def text(self, source: Source) -> str:
        return f"list({source.text()}) == {show_value([*self.keys])}"

    def lower(self, source: Source) -> list[tuple[Source, Claim]]:
        return [(DictKeys(source), _Listed(self.keys))]


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Listed(Claim):
    """`KeysAre` as a claim about the list of the keys (`DictKeys`), which other guards share."""

    keys: tuple[object, ...]

    def hash_fields(self) -> tuple[object, ...]:
        return (hash_key(self.keys),)

    def check(self, value: object) -> bool:
        return same_constant(value, [*self.keys])

    def render(self, value_expression: str, names: Names) -> str:
        expected = names.constant([*self.keys], "keys")
        # `==` of lists would run the `__eq__` of a key that is an object of the user.
        if any(type(key) is not str for key in self.keys):
            return f"{names.constant(same_constant, 'same')}({value_expression}, {expected})"
        # A member of a string enumeration equals its string, hence the types; they come first because two strings
        # are then compared without user code.
        types = names.constant([str] * len(self.keys), "types")
        listed = f"[*{names.constant(map, 'map')}({names.constant(type, 'type')}, {value_expression})]"
        return f"{listed} == {types} and {value_expression} == {expected}"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: changed from {show_value([*self.keys])} to {show_value(value)}"

    def text(self, source: Source) -> str:
        return f"{source.text()} == {show_value([*self.keys])}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class HasKey(Claim):
    """`key in value`, or not."""

    key: object
    present: bool = True

    def hash_fields(self) -> tuple[object, ...]:
        return (hash_key(self.key), self.present)

    def check(self, value: object) -> bool:
        return (self.key in cast(Container[object], value)) is self.present

    def render(self, value_expression: str, names: Names) -> str:
        # The container is on the right of `in`: the constant on the left is no user code and no temporary.
        return f"{literal(self.key, names)} {'in' if self.present else 'not in'} {value_expression}"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: {show_value(self.key)} is {'no longer' if self.present else 'now'} in it"

    def text(self, source: Source) -> str:
        return f"{show_value(self.key)} {'in' if self.present else 'not in'} {source.text()}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class IteratorHasAtLeast(Claim):
    """A builtin iterator has this many items to come (it does not move)."""

    count: int

    def check(self, value: object) -> bool:
        return has_at_least(value, self.count)

    def render(self, value_expression: str, names: Names) -> str:
        return f"{names.constant(has_at_least, 'has_at_least')}({value_expression}, {self.count})"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: has fewer than {write_count(self.count, 'item')} left"

    def text(self, source: Source) -> str:
        return f"{source.text()} has at least {write_count(self.count, 'item')} left"


@final
@dataclass(frozen=True, slots=True, eq=False)
class IteratorExhaustedAfter(Claim):
    """A builtin iterator has at most this many items to come (it does not move)."""

    count: int

    def check(self, value: object) -> bool:
        return not has_at_least(value, self.count + 1)

    def render(self, value_expression: str, names: Names) -> str:
        return f"not {names.constant(has_at_least, 'has_at_least')}({value_expression}, {self.count + 1})"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: has more than {write_count(self.count, 'item')} left"

    def text(self, source: Source) -> str:
        return f"{source.text()} has at most {write_count(self.count, 'item')} left"


def _length(value: object) -> str:
    return str(len(value)) if isinstance(value, _SIZED) and type(value) in _SIZED else "another one"


def _holds(keys: Sequence[object], key: object) -> bool:
    """Whether the key is among `keys`; its own `__eq__` is not called."""
    return any(same_constant(one, key) for one in keys)
