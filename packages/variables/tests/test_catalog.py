"""The registry: complete, independent of order, closed to duplicates and changes."""

import importlib
import pkgutil
import random
from collections import deque
from types import ModuleType

import pytest
from support import Trace

import framesmith.variables
from framesmith.guards import GuardSet
from framesmith.variables import Constant, MutationLog, TraceContext, Wrapper, catalog
from framesmith.variables.builtin_types import deque_methods, deques
from framesmith.variables.core import (
    CALLS,
    DuplicateRow,
    Priority,
    Registry,
    Rows,
    Table,
    Tracker,
    from_python,
    row_of,
)
from framesmith.variables.core.builtin_type import BUILTIN_TYPES, BuiltinType
from framesmith.variables.core.registry import LateRule

NAMES = Table[str, int]("names")


def modules_with_rows() -> dict[str, ModuleType]:
    package = framesmith.variables
    names = [module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    modules = {name: importlib.import_module(name) for name in names}
    return {
        name: module for name, module in modules.items() if isinstance(getattr(module, "ROWS", None), Rows)
    }


def test_the_rows_of_every_module_are_in_the_catalog():
    listed = {id(rows) for family in catalog.FAMILIES for rows in family}
    for name, module in modules_with_rows().items():
        assert id(module.ROWS) in listed, f"add {name} to catalog.py"


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_modules_changes_nothing(seed):
    rows = [rows for family in catalog.FAMILIES for rows in family]
    random.Random(seed).shuffle(rows)
    assert catalog.build([rows]) == catalog.registry()


def test_a_registry_of_three_families_traces_what_they_know():
    registry = catalog.build([catalog.BUILTIN_TYPES, catalog.CALLABLES, catalog.OBJECTS])
    tx = TraceContext(Trace().recorder, GuardSet(), MutationLog(), registry, Wrapper(), None)
    row = row_of(registry, list.append)
    items = from_python(tx, [1])
    row.begin(tx, [items, Constant(2)], {})
    assert items.as_python_constant() == [1, 2]


def rows_of(*given: tuple[str, int, Priority]) -> Rows:
    rows = Rows()
    for key, value, priority in given:
        rows.add(NAMES, key, value, priority)
    return rows


def test_the_row_of_the_highest_priority_counts():
    given = [("a", 1, Priority.GENERAL), ("a", 2, Priority.OWN), ("a", 3, Priority.LISTED)]
    for order in (given, given[::-1]):
        assert Registry(rows_of(*order))[NAMES] == {"a": 2}


def test_two_rows_of_one_priority_are_refused():
    given = [("a", 1, Priority.GENERAL), ("a", 2, Priority.OWN), ("a", 3, Priority.GENERAL)]
    with pytest.raises(DuplicateRow, match="names: 'a' has a row already, 1, and gets another, 3"):
        Registry(rows_of(*given))


def test_ranks_are_read_in_order():
    ranked = Table[int, str]("ranked", in_order=True)
    rows = Rows()
    for rank in (30, 10, 20):
        rows.add(ranked, rank, str(rank))
    assert list(Registry(rows)[ranked].values()) == ["10", "20", "30"]


def test_a_registry_with_more_rows_is_another_one():
    one = Registry(rows_of(("a", 1, Priority.GENERAL)))
    two = one.with_rows(rows_of(("b", 2, Priority.OWN)))
    assert one[NAMES] == {"a": 1} and two[NAMES] == {"a": 1, "b": 2}
    with pytest.raises(DuplicateRow):
        two.with_rows(rows_of(("a", 3, Priority.OWN)))


def test_a_rule_that_comes_too_late_is_refused():
    late = Rows()
    late.for_each(NAMES)(lambda row: ())
    with pytest.raises(LateRule, match="a rule for each row of names comes after the rows"):
        Registry(rows_of(("a", 1, Priority.OWN))).with_rows(late)


def test_a_registry_cannot_be_changed():
    with pytest.raises(TypeError):
        catalog.registry()[CALLS][len] = None


def test_rows_follow_from_rows():
    doubled = Table[str, int]("doubled")
    rows = rows_of(("a", 1, Priority.OWN), ("b", 2, Priority.GENERAL))

    @rows.for_each(NAMES)
    def twice(value):
        more = Rows()
        more.add(doubled, str(value), 2 * value)
        return more

    assert Registry(rows)[doubled] == {"1": 2, "2": 4}


def test_a_builtin_part_that_is_empty_at_first_says_how_it_is_filled():
    rows = catalog.registry()[BUILTIN_TYPES].values()
    parts = {row.cls: row.part for row in rows if row.part is not None}
    assert {kind for kind, part in parts.items() if part.fill is None} == {
        *(tuple, frozenset, str, bytes, int, float)
    }
    for kind, part in parts.items():
        assert (part.empty is None) == (part.fill is None), kind


def test_a_builtin_type_is_one_row():
    class Box(Tracker):
        python_type = deque

    rows = Rows()
    rows.builtin_type(BuiltinType(deque, (Box,), build=lambda tx, value: Box()))
    families = [
        [one for one in catalog.BUILTIN_TYPES if one not in (deques.ROWS, deque_methods.ROWS)] + [rows],
        catalog.CALLABLES,
        catalog.OBJECTS,
    ]
    registry = catalog.build(families)
    tx = TraceContext(Trace().recorder, GuardSet(), MutationLog(), registry, Wrapper(), None)
    assert type(from_python(tx, deque())) is Box
    assert row_of(registry, deque.__len__) is not None and row_of(registry, deque.append) is None
