"""`Rows`: what one module adds to the registry. A module keeps its own, beside the code that the rows point to.

How rows become a registry: `core.registry`.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeAlias, TypeVar, cast, final

from framesmith.guards.class_lookup import type_dict
from framesmith.variables.core.builtin_methods import RECEIVERS
from framesmith.variables.core.builtin_type import (
    ACCESS_METHODS,
    BUILTIN_TYPES,
    CONTAINERS,
    GENERIC_ACCESS,
    BuiltinType,
    GenericAccess,
)
from framesmith.variables.core.constant import CONSTANT_TYPES
from framesmith.variables.core.folding import BUILDERS, Builder
from framesmith.variables.core.pure import PURE, PURE_TYPES
from framesmith.variables.core.registry import Priority, RegistryEntry, Rule, Table
from framesmith.variables.core.table import CALLS, Row, RowFunction, row_signature
from framesmith.variables.core.wrap_rules import EXACT, TESTS, TestedRule, TypeTest, WrapRule, WrapTest

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
RowsOf: TypeAlias = Callable[[V], "Iterable[RegistryEntry | Rule]"]


@final
class Rows:
    """The rows of one module, in order. Adding one changes nothing else: `catalog.build` reads them."""

    def __init__(self) -> None:
        self._entries: list[RegistryEntry | Rule] = []

    def __iter__(self) -> Iterator[RegistryEntry | Rule]:
        return iter(self._entries)

    def add(self, table: Table[K, V], key: K, value: V, priority: Priority = Priority.OWN) -> None:
        """Add a row to a table."""
        self._entries.append(RegistryEntry(cast("Table[object, object]", table), key, value, priority))

    def entry(self, table: Table[K, V], *keys: K) -> Callable[[V], V]:
        """Decorator: the decorated function is the row of these keys."""

        def register(value: V) -> V:
            for key in keys:
                self.add(table, key, value)
            return value

        return register

    def for_each(self, table: Table[K, V]) -> Callable[[RowsOf[V]], RowsOf[V]]:
        """Decorator: the decorated function gives the rows that follow from a row of the table."""

        def register(rows_of: RowsOf[V]) -> RowsOf[V]:
            rule = Rule(cast("Table[object, object]", table), cast("RowsOf[object]", rows_of))
            self._entries.append(rule)
            return rows_of

        return register

    # -- the tables to which most modules add ------------------------------------------------------
    def call(
        self, *keys: Hashable, priority: Priority = Priority.OWN
    ) -> Callable[[RowFunction], RowFunction]:
        """Decorator: model calls of `keys` with the decorated `function(tx, *args, **kwargs)`."""

        def register(function: RowFunction) -> RowFunction:
            signature = row_signature(function)
            for key in keys:
                self.add(CALLS, key, Row(key, function, *signature), priority)
            return function

        return register

    def wrap(self, *classes: type) -> Callable[[WrapRule], WrapRule]:
        """Decorator: wrap values whose type is exactly one of `classes`."""
        return self.entry(EXACT, *classes)

    def wrap_when(
        self, rank: int, of_type: TypeTest, of_value: WrapTest | None = None
    ) -> Callable[[WrapRule], WrapRule]:
        """Decorator: wrap values for whose type `of_type(registry, cls)` is true, and for which `of_value(registry, value)` is, if no
        test of a lower rank says so. The answer for a type is kept throughout a trace."""

        def register(rule: WrapRule) -> WrapRule:
            self.add(TESTS, rank, TestedRule(of_type, of_value, rule))
            return rule

        return register

    def build(self, builder: Builder, *classes: type) -> None:
        """Say how new values of exactly these types become trackers."""
        for cls in classes:
            self.add(BUILDERS, cls, builder)

    def builtin_type(self, *rows: BuiltinType) -> None:
        """Add builtin types, each with the rows of other tables that its fields say."""
        for row in rows:
            self.add(BUILTIN_TYPES, row.cls, row)
            if row.trackers:
                self.add(RECEIVERS, row.cls, row.trackers)
            if row.is_base:
                self.generic_access(row.cls)
            if row.holds_items:
                self.add(CONTAINERS, row.cls, None)
            if row.is_pure:
                self.pure_types(row.cls)
            if row.wrap is not None:
                self.add(EXACT, row.cls, row.wrap)
            if row.build is not None:
                self.add(BUILDERS, row.cls, row.build)

    def generic_access(self, *classes: type) -> None:
        """Attributes of instances of these types, written in C, are read and stored as those of `object` are."""
        for cls in classes:
            # read from the dictionary of the class: what it inherits is in the row of the base
            own = {name: method for name, method in type_dict(cls).items() if name in ACCESS_METHODS}
            for name, method in own.items():
                self.add(GENERIC_ACCESS, method, GenericAccess(name, method))

    def pure(self, functions: Iterable[Callable[..., object]]) -> None:
        """Let calls of these functions with known operands run while tracing."""
        for function in functions:
            self.add(PURE, function, None)

    def pure_types(self, *classes: type) -> None:
        """Let calls of all C methods of these types with known operands run while tracing."""
        for cls in classes:
            self.add(PURE_TYPES, cls, None)

    def constant_types(self, *classes: type) -> None:
        """Treat values of exactly these immutable types as constants."""
        for cls in classes:
            self.add(CONSTANT_TYPES, cls, None)
