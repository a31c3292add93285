"""One comparison stands for the attributes of classes: it notices each change, and forgives changes elsewhere."""

import pytest

from framesmith.guards import Guard, GuardSet, compile_guards
from framesmith.guards.class_stamps import USABLE, ClassStamps, number_of
from framesmith.guards.kinds import ClassAttribute
from framesmith.guards.sources import Pinned


class Meta(type):
    """A metaclass, which may not disturb."""


def family():
    class Root(metaclass=Meta):
        def method(self):
            """The guarded one."""

    class Other(metaclass=Meta):
        pass

    class Leaf(Root):
        pass

    return Root, Other, Leaf


def checked(cls, *names):
    """The generated check of these attributes of a class, among enough others that it goes by numbers."""
    names = (*names, *(f"absent_{number}" for number in range(40)))
    claims = [ClassAttribute.capture(cls, name) for name in names]
    program = compile_guards(GuardSet([Guard(Pinned(cls, "cls"), claim) for claim in claims]))
    assert "recheck" in program.condition
    scope = dict(program.constants)
    return lambda: bool(eval(program.condition, scope))


CHANGES = {
    "shadowed": lambda root, other, leaf: setattr(leaf, "method", 1),
    "replaced in the base": lambda root, other, leaf: setattr(root, "method", lambda self: 2),
    "deleted in the base": lambda root, other, leaf: delattr(root, "method"),
    "an absent name appears": lambda root, other, leaf: setattr(root, "absent", 1),
    "another base": lambda root, other, leaf: setattr(leaf, "__bases__", (other,)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_that_matters_is_noticed(change):
    classes = family()
    check = checked(classes[2], "method", "absent")
    assert [check(), check()] == [True, True]
    change(*classes)
    assert [check(), check()] == [False, False]


def test_a_change_elsewhere_is_forgiven_and_then_known():
    root, _, leaf = family()
    stamps = ClassStamps([(leaf, ClassAttribute.capture(leaf, "method"))])
    assert stamps.recheck()
    for value in range(3):
        root.counter = value
        assert [*map(number_of, stamps.stamps)] != stamps.known
        assert stamps.recheck()
        assert [*map(number_of, stamps.stamps)] == stamps.known


def test_a_change_and_back_is_no_miss():
    root, _, leaf = family()
    check = checked(leaf, "method")
    kept = root.__dict__["method"]
    assert check()
    root.method = None
    assert not check()
    root.method = kept
    assert check()


def test_the_offset_is_proved_on_this_interpreter():
    assert USABLE
