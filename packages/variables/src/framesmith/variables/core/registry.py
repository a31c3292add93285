"""The registry: all rows and rules of a process, by table. It is built once, explicitly, and never changes (ADR 0018).

A *table* is declared beside the code that looks into it, and holds nothing. What a module adds to tables are its *rows*
(`core.rows`), which stand beside their code; `variables.catalog` lists the rows of all modules. Where two rows have
one key, the higher priority counts; two of one priority are refused. So import order decides nothing.
"""

import enum
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Generic, TypeAlias, TypeVar, cast, final

K = TypeVar("K")
V = TypeVar("V")
_NOTHING: Final[Mapping[object, object]] = MappingProxyType({})


class Priority(enum.IntEnum):
    """Which of two rows for one key counts: the more a row is made for its key, the higher it is."""

    GENERAL = 0
    """By a rule over everything of a kind: a node for each function of torch."""
    LISTED = 1
    """By a list of names: functions of torch that break the graph."""
    OWN = 2
    """Written for this key."""


class DuplicateRow(Exception):
    """Two rows of one priority for one key. Cause: the same key registered twice. Cure: keep one."""


class LateRule(Exception):
    """A rule for a registry that is built already. Cause: `Rows.for_each` in rows that are added later: the rows that
    follow from known ones were made when the registry was built. Cure: add the rows that the rule gives."""


@final
class Table(Generic[K, V]):
    """The declaration of a table, by which the registry is asked. `in_order`: its rows are read in the order of their keys."""

    def __init__(self, name: str, *, in_order: bool = False) -> None:
        self.name = name
        self.in_order = in_order

    def __repr__(self) -> str:
        return f"<Table {self.name}>"


@final
@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """One row on its way into a registry. `Rows.add` and `Rows.entry` keep its key and value to the types of its table."""

    table: "Table[object, object]"
    key: Hashable
    value: object
    priority: Priority


_Ranked: TypeAlias = dict[Table[object, object], dict[Hashable, dict[Priority, object]]]


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """Rows that follow from each row of a table: `rows_of(row)`. Rules look into tables to which no rule adds."""

    table: "Table[object, object]"
    rows_of: Callable[[object], "Iterable[RegistryEntry | Rule]"]


@final
class Registry:
    """All rows, by table and key. Invariant: it does not change, so that a trace may rely on what it read."""

    __slots__ = ("_tables",)

    def __init__(self, entries: Iterable[RegistryEntry | Rule]) -> None:
        self._tables: Mapping[object, Mapping[object, object]] = MappingProxyType(_group(entries))

    def __getitem__(self, table: Table[K, V]) -> Mapping[K, V]:
        """The rows of a table; none, where the families that fill it were left out."""
        return cast("Mapping[K, V]", self._tables.get(table, _NOTHING))

    def get_single(self, table: Table[None, V]) -> V:
        """The row of a table that has just one: what a lower module needs of a higher one."""
        return self[table][None]

    def with_rows(self, entries: Iterable[RegistryEntry | Rule]) -> "Registry":
        """A registry that has these rows too. Refuses keys that have a row, whatever its priority, and rules."""
        added = list[RegistryEntry]()
        for entry in entries:
            if isinstance(entry, Rule):
                raise LateRule(
                    f"a rule for each row of {entry.table.name} comes after the rows; add the rows it gives"
                )
            added.append(entry)
            known = self[entry.table]
            if entry.key in known:
                raise _duplicate(entry.table, entry.key, known[entry.key], entry.value)
        more = _group(added)
        merged = {
            table: MappingProxyType({**self._tables.get(table, {}), **more.get(table, {})})
            for table in {**self._tables, **more}
        }
        # past `__init__`, which takes entries: these rows are grouped already
        result = object.__new__(Registry)
        result._tables = MappingProxyType(merged)
        return result

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Registry) and self._tables == other._tables


def _group(entries: Iterable[RegistryEntry | Rule]) -> dict[object, Mapping[object, object]]:
    """The rows that count, by table and key, whatever the order of the entries."""
    ranked: _Ranked = {}
    rules = list[Rule]()
    for entry in entries:
        if isinstance(entry, Rule):
            rules.append(entry)
        else:
            _rank(ranked, entry)
    # before any rule adds rows, so that what a rule sees does not depend on the order of the rules
    chosen = {rule.table: _choose(ranked.get(rule.table, {})) for rule in rules}
    for rule in rules:
        for row in chosen[rule.table].values():
            for following in rule.rows_of(row):
                assert isinstance(following, RegistryEntry), "a rule gives rows, not rules"
                _rank(ranked, following)
    found: dict[object, Mapping[object, object]] = {}
    for table, rows in ranked.items():
        counting = _choose(rows)
        # only tables that are read in order have keys that can be compared with each other
        keys = sorted(cast("dict[int, object]", counting)) if table.in_order else list(counting)
        found[table] = MappingProxyType({key: counting[key] for key in keys})
    return found


def _rank(ranked: _Ranked, entry: RegistryEntry) -> None:
    """Put an entry beside those of other priorities for its key."""
    rivals = ranked.setdefault(entry.table, {}).setdefault(entry.key, {})
    if entry.priority in rivals:
        raise _duplicate(entry.table, entry.key, rivals[entry.priority], entry.value)
    rivals[entry.priority] = entry.value


def _choose(rows: dict[Hashable, dict[Priority, object]]) -> dict[Hashable, object]:
    return {key: rivals[max(rivals)] for key, rivals in rows.items()}


def _duplicate(table: Table[object, object], key: object, known: object, added: object) -> DuplicateRow:
    return DuplicateRow(
        f"{table.name}: {key!r} has a row already, {known!r}, and gets another, {added!r}; keep one"
    )
