"""One comparison stands for facts about classes, modules and functions: it notices each change that matters, and
forgives changes elsewhere."""

import contextlib
import sys
from types import ModuleType

import pytest

from framesmith.guards import Guard, GuardSet, compile_guards
from framesmith.guards.dependencies import CLASS, CODE, DEFAULTS, NAMESPACE, dependencies_of
from framesmith.guards.failure import MISSES
from framesmith.guards.kinds import (
    ClassAttribute,
    CodeIs,
    EqualTo,
    HasKey,
    Identical,
    KeysAre,
    SameObject,
    TypeIs,
)
from framesmith.guards.sources import (
    Attribute,
    ClassDictItem,
    FunctionClosure,
    FunctionDefault,
    Item,
    Local,
    Pinned,
)
from framesmith.guards.type_versions import USABLE
from framesmith.guards.versioned import VersionedGuards


class Meta(type):
    """A metaclass, which may not disturb."""

    def __getattr__(cls, name):
        raise AssertionError(f"looked up {name}")


def family():
    class Root(metaclass=Meta):
        def method(self):
            """The guarded one."""

        @property
        def value(self):
            return 1

    class Other(metaclass=Meta):
        pass

    class Leaf(Root):
        pass

    return Root, Other, Leaf


def checked(*facts):
    """The generated check of these facts, among enough others that it goes by numbers."""

    class Bystander:
        pass

    others = [Guard(Pinned(Bystander), ClassAttribute.capture(Bystander, f"absent_{n}")) for n in range(40)]
    program = compile_guards(GuardSet([*facts, *others]))
    assert "recheck" in program.condition
    scope = dict(program.constants)
    return lambda: bool(eval(program.condition, scope))


def class_facts(cls, *names):
    return [Guard(Pinned(cls, "cls"), ClassAttribute.capture(cls, name)) for name in names]


CLASS_CHANGES = {
    "shadowed": lambda root, other, leaf: setattr(leaf, "method", 1),
    "replaced in the base": lambda root, other, leaf: setattr(root, "method", lambda self: 2),
    "deleted in the base": lambda root, other, leaf: delattr(root, "method"),
    "an absent name appears": lambda root, other, leaf: setattr(root, "absent", 1),
    "another base": lambda root, other, leaf: setattr(leaf, "__bases__", (other,)),
}


@pytest.mark.parametrize("change", CLASS_CHANGES.values(), ids=CLASS_CHANGES)
def test_a_change_of_a_class_that_matters_is_noticed(change):
    classes = family()
    check = checked(*class_facts(classes[2], "method", "absent"))
    assert [check(), check()] == [True, True]
    change(*classes)
    assert [check(), check()] == [False, False]


@pytest.fixture
def module(monkeypatch):
    made = ModuleType("a_module_of_this_test")
    made.__dict__.update(number=1, thing=[], none=None)
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def module_facts(module):
    names = Pinned(vars(module), module.__name__)
    return [
        Guard(names, HasKey("absent", False)),
        Guard(names, HasKey("number", True)),
        Guard(Item(names, "number"), EqualTo(1)),
        Guard(Item(names, "number"), TypeIs(int)),
        Guard(Item(names, "thing"), Identical(module.thing)),
        Guard(Item(names, "none"), Identical(None)),
        Guard.relation(SameObject(Item(names, "thing"), Item(names, "thing"))),
    ]


MODULE_CHANGES = {
    "number": lambda module: setattr(module, "number", 2),
    "type": lambda module: setattr(module, "number", True),
    "object": lambda module: setattr(module, "thing", []),
    "none": lambda module: setattr(module, "none", 0),
    "deleted": lambda module: delattr(module, "number"),
    "appears": lambda module: setattr(module, "absent", 0),
    "by the dictionary": lambda module: vars(module).update(absent=0),
    "by code": lambda module: exec("def f():\n global number\n number += 1\nf()", vars(module)),
}


@pytest.mark.parametrize("change", MODULE_CHANGES.values(), ids=MODULE_CHANGES)
def test_a_change_of_a_module_that_matters_is_noticed(module, change):
    check = checked(*module_facts(module))
    assert [check(), check()] == [True, True]
    change(module)
    assert [check(), check()] == [False, False]


class Part:
    """What a class may hold: an object with slots, found in a dictionary of the class."""

    __slots__ = ("name", "size")

    def __init__(self, name, size):
        self.name, self.size = name, size


class OtherPart:
    __slots__ = ("name", "size")


def with_parts():
    class Whole:
        parts = {"a": Part("a", 1), "b": Part("b", None)}  # noqa: RUF012

    return Whole


def part_facts(whole):
    parts = ClassDictItem(Pinned(whole, "Whole"), "parts")
    first = Item(parts, "a")
    return [
        Guard(parts, TypeIs(dict)),
        Guard(parts, KeysAre(("a", "b"))),
        Guard(first, TypeIs(Part)),
        Guard(Attribute(first, "name"), EqualTo("a")),
        Guard(Attribute(Item(parts, "b"), "size"), Identical(None)),
    ]


PART_CHANGES = {
    "one more": lambda whole: whole.parts.update(c=Part("c", 1)),
    "order": lambda whole: whole.parts.update(a=whole.parts.pop("a")),
    "another": lambda whole: whole.parts.update(a=Part("x", 1)),
    "a slot": lambda whole: setattr(whole.parts["a"], "name", "b"),
    "a slot that was none": lambda whole: setattr(whole.parts["b"], "size", 0),
    "an unset slot": lambda whole: delattr(whole.parts["a"], "name"),
    "a class": lambda whole: setattr(whole.parts["a"], "__class__", OtherPart),
    "another dictionary": lambda whole: setattr(whole, "parts", {}),
}


@pytest.mark.parametrize("change", PART_CHANGES.values(), ids=PART_CHANGES)
def test_a_change_of_what_a_class_holds_is_noticed(change):
    whole = with_parts()
    check = checked(*part_facts(whole))
    assert [check(), check()] == [True, True]
    change(whole)
    with contextlib.suppress(*MISSES):
        assert not check()


def test_an_equal_object_in_a_slot_is_forgiven():
    whole = with_parts()
    check = checked(*part_facts(whole))
    assert check()
    whole.parts["a"].name = "".join(["a"])
    whole.parts["a"].size = 7
    assert [check(), check()] == [True, True]


def as_new(whole):
    """Everything that the class holds is replaced by what is equal to it."""
    whole.parts = {name: Part(part.name, part.size) for name, part in whole.parts.items()}


@pytest.mark.parametrize("change", PART_CHANGES.values(), ids=PART_CHANGES)
def test_a_change_of_what_took_the_place_of_an_equal_object_is_noticed(change):
    whole = with_parts()
    check = checked(*part_facts(whole))
    assert check()
    as_new(whole)
    assert [check(), check()] == [True, True]
    change(whole)
    with contextlib.suppress(*MISSES):
        assert not check()


def test_the_truth_of_what_a_slot_holds_is_not_asked():
    class Truth:
        def __bool__(self):
            raise AssertionError("asked")

    whole = with_parts()
    value = whole.parts["a"].size = Truth()
    fact = Guard(
        Attribute(Item(ClassDictItem(Pinned(whole, "Whole"), "parts"), "a"), "size"), Identical(value)
    )
    check = checked(*part_facts(whole), fact)
    assert [check(), check()] == [True, True]


def test_what_hangs_on_a_global_is_not_held():
    names = Pinned(vars(sys.modules[__name__]), "names")
    thing = Attribute(Item(names, "GLOBAL_PART"), "name")
    assert dependencies_of(Guard(Item(names, "GLOBAL_PART"), TypeIs(Part))) is None
    assert dependencies_of(Guard(thing, EqualTo("g"))) is None


GLOBAL_PART = Part("g", 1)


def given(x, y=None):
    return x


def test_code_and_defaults_of_functions_are_noticed():
    def enclosing(value):
        def function(x, y=None):
            return value, x, y

        return function

    function = enclosing(1)
    source = Pinned(function, "function")
    check = checked(
        Guard(source, CodeIs(function.__code__)),
        Guard(FunctionDefault(source, 0), Identical(None)),
        Guard(FunctionClosure(source, 0), TypeIs(type(function.__closure__[0]))),
    )
    kept = function.__code__, function.__defaults__
    assert [check(), check()] == [True, True]
    function.__defaults__ = (0,)
    assert not check()
    function.__defaults__ = (None,)  # another tuple that says the same
    assert [check(), check()] == [True, True]
    function.__code__ = function.__code__.replace(co_name="other")
    assert not check()
    function.__code__, function.__defaults__ = kept
    assert check()


def test_a_change_elsewhere_is_forgiven_and_then_known(module):
    root, _, leaf = family()
    facts = VersionedGuards(
        {guard: dependencies_of(guard) for guard in (*class_facts(leaf, "method"), *module_facts(module))}
    )
    scope = {}

    class Names:
        def constant(self, value, hint):
            return scope.setdefault(f"{hint}_{id(value)}", value) is None or f"{hint}_{id(value)}"

    text = facts.render(Names()).rsplit(" or ", 1)[0].removeprefix("(")
    for value in range(3):
        root.counter = module.counter = value
        assert not eval(text, scope)
        assert facts.recheck()
        assert eval(text, scope)


def test_a_base_is_asked_through_its_subclass():
    root, other, leaf = family()
    facts = [*class_facts(leaf, "absent"), *class_facts(root, "method")]
    check = checked(*facts)
    assert [check(), check()] == [True, True]
    assert CLASS in VersionedGuards({fact: dependencies_of(fact) for fact in facts})._over
    assert len(VersionedGuards({fact: dependencies_of(fact) for fact in facts})._over[CLASS]) == 1
    root.counter = 1
    assert [check(), check()] == [True, True]
    root.method = None
    assert not check()


def test_a_base_that_is_none_any_more_is_noticed():
    root, other, leaf = family()
    check = checked(*class_facts(leaf, "absent"), *class_facts(root, "method"))
    assert [check(), check()] == [True, True]
    leaf.__bases__ = (other,)
    assert not check()
    root.method = None
    assert not check()


def test_a_change_and_back_is_no_miss():
    root, _, leaf = family()
    check = checked(*class_facts(leaf, "method"))
    kept = root.__dict__["method"]
    assert check()
    root.method = None
    assert not check()
    root.method = kept
    assert check()


def test_what_rests_on_what(module):
    root, _, leaf = family()
    names = Pinned(vars(module), "names")
    own = Pinned(vars(leaf()), "instance")
    getter = Attribute(ClassDictItem(Pinned(root), "value"), "fget")
    function = Pinned(given)
    expected = [
        (Guard(Pinned(leaf), ClassAttribute.capture(leaf, "method")), ((CLASS, leaf, None),)),
        (Guard(Pinned(int), ClassAttribute.capture(int, "real")), ()),
        (Guard(names, HasKey("a", False)), ((NAMESPACE, vars(module), None),)),
        (Guard(own, HasKey("a", False)), None),
        (Guard(Item(Local("x"), "a"), Identical(None)), None),
        (Guard(Item(names, "thing"), TypeIs(ModuleType)), None),
        (Guard(Item(names, "thing"), TypeIs(leaf)), None),
        (Guard(Item(names, "thing"), EqualTo((1, 2))), None),
        (Guard(getter, Identical(root.__dict__["value"].fget)), ((CLASS, root, None),)),
        (Guard(Attribute(Item(names, "thing"), "fget"), Identical(None)), None),
        (Guard(function, CodeIs(given.__code__)), ((CODE, given, None),)),
        (Guard(FunctionDefault(function, 0), Identical(None)), ((DEFAULTS, given, None),)),
    ]
    assert [dependencies_of(guard) for guard, _ in expected] == [found for _, found in expected]


def test_the_offset_is_proved_on_this_interpreter():
    assert USABLE
