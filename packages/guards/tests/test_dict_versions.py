"""Facts on a dictionary that a class holds, whoever else writes into it."""

import pytest

from framesmith.guards import Guard, GuardSet, compile_guards, dict_versions
from framesmith.guards.failure import MISSES
from framesmith.guards.kinds import ClassAttribute, EqualTo, HasKey
from framesmith.guards.sources import ClassDictItem, Item, Pinned


class Plain:
    """What has a dictionary."""


def store(instance, value):
    instance.first = value


def test_every_supported_interpreter_counts_changes_of_plain_dictionaries() -> None:
    assert dict_versions.USABLE


CHANGES = {
    "a store that is specialized": lambda instance: [store(instance, 2) for _ in range(100)],
    "setattr": lambda instance: setattr(instance, "first", 2),
    "a deletion": lambda instance: delattr(instance, "first"),
    "an item": lambda instance: vars(instance).__setitem__("first", 2),
    "update": lambda instance: vars(instance).update(first=2),
    "clear": lambda instance: vars(instance).clear(),
    "a new attribute": lambda instance: setattr(instance, "absent", 2),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_class_holds_the_dictionary_of_an_instance(change) -> None:
    instance = Plain()
    instance.first = 1

    class Holder:
        names = vars(instance)

    held = ClassDictItem(Pinned(Holder), "names")
    facts = [
        Guard(Item(held, "first"), EqualTo(1)),
        Guard(held, HasKey("first", True)),
        Guard(held, HasKey("absent", False)),
    ]
    others = [Guard(Pinned(Plain), ClassAttribute.capture(Plain, f"absent_{n}")) for n in range(40)]
    program = compile_guards(GuardSet([*facts, *others]))
    scope = dict(program.constants)

    def check() -> bool:
        try:
            return bool(eval(program.condition, scope))
        except MISSES:
            return False

    for _ in range(100):
        store(instance, 1)
    assert [check(), check()] == [True, True]
    change(instance)
    assert [check(), check()] == [False, False]
