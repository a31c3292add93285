"""Keys by the identity of a tracked object, whatever its class says about `==` and `hash`."""

from typing import Final, final

from framesmith.variables.core.base import Tracker
from framesmith.variables.core.known_value import KnownValue


@final
class ByIdentity:
    """An object as a key: equal to a key of the same object. It holds the object, so that its address stays its own."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value: Final = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def identity_key(tracker: Tracker) -> ByIdentity:
    """The key of the object: a known one may have several trackers, any other has one."""
    return ByIdentity(tracker.value if isinstance(tracker, KnownValue) else tracker)
