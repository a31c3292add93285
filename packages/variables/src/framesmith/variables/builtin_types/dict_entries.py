"""The content of a modelled dict, shared by its tracker, its views and its iterators."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import final

from framesmith.variables.core.base import Tracker


@final
@dataclass(slots=True)
class Entry:
    """One item. `original`: it stands where the existing dict has it; `changed`: its value is another one."""

    key: Tracker
    value: Tracker
    original: bool = False
    changed: bool = False


@final
@dataclass(slots=True)
class Entries:
    """What is known of a dict: by hash key, in order. `structure` grows when keys come or go, `moves` when they
    change places."""

    by_name: dict[Hashable, Entry] = field(default_factory=dict)
    structure: int = 0
    moves: int = 0
