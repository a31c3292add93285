"""Process-wide torch state that a trace may change and must put back (grad mode, autocast ...).

Here: the mechanism. The settings are in `torch_contexts`, with the torch functions that change them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, final

V = TypeVar("V")


@final
@dataclass(frozen=True, slots=True)
class Setting:
    """A piece of ambient state: `get()` reads it, `set(value)` restores it. Without `set` only blocks change it."""

    name: str
    get: Callable[[], object]
    set: Callable[[object], object] | None


class AmbientState(Generic[V]):
    """The settings that a trace has changed, with the values they had when it began, and the blocks that it has entered: objects
    in C that turn settings and put back what they found.

    Setters run for real while tracing, so that operations on fake tensors see the right state; `restore` sets the
    first values again, `changes` lists what an entry has to set after its graph, after the open blocks were replayed.
    """

    def __init__(self) -> None:
        self._before: dict[str, tuple[Setting, object]] = {}
        self.open_blocks: list[V] = []  # from the outermost to the innermost
        # grows with each change, also one that turns a setting back: a nested graph must turn none
        self.version = 0

    def touch(self, setting: Setting) -> None:
        """Remember a setting just before it is changed."""
        self.version += 1
        if setting.name not in self._before:
            self._before[setting.name] = (setting, setting.get())

    def is_touched(self, name: str) -> bool:
        """Whether the trace has changed the setting of this name."""
        return name in self._before

    def before(self) -> dict[str, object]:
        """The first values of the settings that were touched, by name."""
        return {name: value for name, (_, value) in self._before.items()}

    def values(self) -> dict[str, object]:
        """The present values of the settings that were touched, by name."""
        return {name: setting.get() for name, (setting, _) in self._before.items()}

    def present(self) -> tuple[dict[str, object], int]:
        """What `has_changed` compares with: the values of what was touched, and the number of open blocks."""
        return self.values(), len(self.open_blocks)

    def has_changed(self, since: tuple[dict[str, object], int]) -> bool:
        """Whether a setting has another value than at that moment, or a block is open that was not."""
        values, blocks = since
        now = ((name, before, setting.get()) for name, (setting, before) in self._before.items())
        return len(self.open_blocks) != blocks or any(
            values.get(name, before) != value for name, before, value in now
        )

    def changes(self) -> tuple[tuple[Setting, object], ...]:
        """Settings whose present value differs from the beginning, with the present value; where blocks are open, which turn
        settings as well, all that were touched."""
        # entering the open blocks again turns settings, so one that has its first value has to be set as well
        now = ((setting, before, setting.get()) for setting, before in self._before.values())
        return tuple(
            (setting, value) for setting, before, value in now if value != before or self.open_blocks
        )

    def restore(self) -> None:
        """Set every setting to its value at the beginning of the trace."""
        for setting, before in reversed(self._before.values()):
            if setting.set is not None:
                setting.set(before)
