"""The battery every claim passes: it accepts what it captured, explains a miss, and both checks agree."""

import collections
import enum
import sys
import types
import weakref
from pathlib import Path

import pytest
import torch

from framesmith.guards import MISSES, Guard, GuardSet, PlainNames, Scope, examine
from framesmith.guards import kinds as k
from framesmith.guards.kinds import (
    Claim,
)
from framesmith.guards.sources import Local, Pinned

sys.path.insert(0, str(Path(__file__).parent))
from guard_checking import guards, passes, why  # noqa: E402  # the neighbour


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Tone(str, enum.Enum):
    RED = "red"


class Thing:
    label = "thing"

    def __init__(self, **attributes: object) -> None:
        self.__dict__.update(attributes)

    def method(self) -> None: ...


class Part(Thing):
    label = "part"


class Slotted:
    __slots__ = ("value",)


def one(x=1):
    return x


def two():
    return 2


def after(iterator, count):
    for _ in range(count):
        next(iterator)
    return iterator


def hooked():
    module = torch.nn.Linear(1, 1)
    module.register_forward_hook(lambda *_: None)
    return module


OBJECT = object()
NAN = float("nan")
T = torch.ones(2, 3)
OUTPUT = torch.ones(1, requires_grad=True) * 1
THING = Thing()
HOOKED, HOOKED_BEFORE = (torch.ones(2, requires_grad=True) for _ in range(2))
HOOKED_TENSOR, UNHOOKED = (torch.ones(2, requires_grad=True) for _ in range(2))
HOOKED_TENSOR.register_hook(lambda gradient: None)
UNHOOKED.register_hook(lambda gradient: None).remove()
NODES = [leaf.view_as(leaf).grad_fn.next_functions[0][0] for leaf in (HOOKED, HOOKED_BEFORE)]
HANDLES = [NODES[0].register_hook(print), NODES[1].register_prehook(print)]
REFERRED = Thing()
REFERENCE = weakref.ref(REFERRED)

# claim, values it accepts, values it refuses


class Finalized:
    def __del__(self) -> None:
        pass


CASES: list[tuple[Claim, list[object], list[object]]] = [
    (k.TypeIs(int), [1, 1 << 90], [True, 1.0, None, "a"]),
    (k.TypeIs(Thing), [Thing()], [Part(), Thing]),
    (k.Identical(OBJECT), [OBJECT], [object(), None]),
    (k.Identical(None), [None], [0]),
    (k.Identical(True), [True], [1]),
    (k.WeaklyIdentical.capture(THING), [THING], [None, Thing()]),
    (k.NotIdentical(OBJECT), [1], [OBJECT]),
    (k.EqualTo(1), [1], [True, 1.0, 2, "1", torch.ones(1)]),
    (k.EqualTo(-5), [-5], [5]),
    (k.EqualTo(1 << 80), [1 << 80], [0]),
    (k.EqualTo(True), [True], [1, False]),
    (k.EqualTo(None), [None], [0]),
    (k.EqualTo(...), [...], [None]),
    (k.EqualTo(0.0), [0.0], [-0.0, 0, False, NAN]),
    (k.EqualTo(-0.0), [-0.0], [0.0]),
    (k.EqualTo(1.5), [1.5], [1, 2.5, NAN]),
    (k.EqualTo(NAN), [NAN, float("nan")], [0.0, None]),
    (k.EqualTo(float("inf")), [float("inf")], [-float("inf")]),
    (k.EqualTo(1j), [1j], [1.0, complex(-0.0, 1)]),
    (k.EqualTo("a'\"\0\ud800"), ["a'\"\0\ud800"], ["a", b"a", Tone.RED]),
    (k.EqualTo("red"), ["red"], [Tone.RED]),
    (k.EqualTo("x" * 200), ["x" * 200], ["x"]),
    (k.EqualTo(b"a"), [b"a"], ["a", bytearray(b"a")]),
    (
        k.EqualTo((1, (2.0, "a"))),
        [(1, (2.0, "a"))],
        [(True, (2.0, "a")), (1, (2, "a")), [1, (2.0, "a")], (1,), 3],
    ),
    (k.EqualTo(()), [()], [[], (1,)]),
    (k.EqualTo(frozenset({1, 2})), [frozenset({2, 1})], [frozenset({True, 2}), frozenset({1}), {1, 2}]),
    (k.EqualTo(slice(1, None, 2)), [slice(1, None, 2)], [slice(True, None, 2), slice(1, None)]),
    (k.EqualTo((slice(0, 1),)), [(slice(0, 1),)], [(slice(0, 1.0),)]),
    (k.EqualTo(range(3)), [range(3)], [range(4), [0, 1, 2]]),
    (k.EqualTo(Color.RED), [Color.RED], [Color.BLUE, 1]),
    (k.EqualTo(Tone.RED), [Tone.RED], ["red"]),
    (k.EqualTo(torch.float32), [torch.float32], [torch.float64]),
    (k.EqualTo(torch.device("cpu")), [torch.device("cpu")], [torch.device("meta"), "cpu"]),
    (k.EqualTo(torch.Size([1, 2])), [torch.Size([1, 2])], [torch.Size([1, 3]), (1, 2)]),
    (k.NotEqualTo("a"), ["b"], ["a"]),
    (k.NotEqualTo(3), [4], [3]),
    (k.Truthy(True), [1, [0], "a"], [0, [], ""]),
    (k.Truthy(False), [0, None, {}], [1]),
    (k.LengthIs(2), ["ab", [1, 2], {1: 1, 2: 2}], ["a", 5, None]),
    (
        k.KeysAre(("a", "b")),
        [{"a": 1, "b": 2}],
        [{"b": 1, "a": 2}, {"a": 1}, {}, {"a": 1, "b": 1, "c": 1}, 5],
    ),
    (k.KeysAre(("red",)), [{"red": 1}], [{Tone.RED: 1}]),
    (k.KeysAre((1, "a")), [{1: 0, "a": 0}], [{True: 0, "a": 0}, {1.0: 0, "a": 0}]),
    (k.KeysAre(()), [{}, collections.OrderedDict()], [{"a": 1}]),
    (k.HasKey("a"), [{"a": 1}], [{}, 5]),
    (k.HasKey("a", False), [{}], [{"a": 1}, 5]),
    (k.HasKey(Color.RED), [{Color.RED: 1}], [{Color.BLUE: 1}]),
    (k.HasInstanceAttribute("a"), [Thing(a=1)], [Thing(), Slotted()]),
    (k.HasInstanceAttribute("a", False), [Thing()], [Thing(a=1), Slotted()]),
    (k.ClassAttribute.capture(Part, "label"), [Part], [Thing, Part(), 5]),
    (k.ClassAttribute.capture(Part, "method"), [Part, Thing], [int]),
    (k.ClassAttribute.capture(Part, "absent"), [Part, Thing], []),
    (k.CodeIs(one.__code__), [one], [two, len]),
    (k.NoModuleHooks(), [torch.nn.ReLU()], [hooked(), Thing(), 5]),
    (
        k.IteratorHasAtLeast(2),
        [iter([1, 2]), after(iter(range(5)), 3)],
        [iter([1]), after(iter("ab"), 1), 5, [1, 2]],
    ),
    (k.IteratorExhaustedAfter(1), [iter([1]), after(zip("ab", "cd"), 1)], [iter([1, 2]), (x for x in [1])]),
    (
        k.TensorIs.capture(T),
        [T, torch.zeros(2, 3)],
        [T.double(), T.t(), torch.ones(2, 4), torch.nn.Parameter(T), 5],
    ),
    (k.TensorIs.capture(T, [0]), [T, torch.ones(9, 3)], [torch.ones(2, 4), torch.ones(2, 3, 1)]),
    (k.TensorIs.capture(T, [1]), [T, torch.ones(2, 7)], [torch.ones(3, 3)]),
    (k.TensorProperty("is_leaf", True), [T], [OUTPUT]),
    (k.TensorProperty("_is_view", False), [T], [T[0], 5]),
    (k.NoNodeHooks(), [T, torch.ones(2, requires_grad=True)], [HOOKED, HOOKED_BEFORE, 5]),
    (k.NoTensorHooks("_backward_hooks"), [T, UNHOOKED], [HOOKED_TENSOR, 5]),
    (k.Present(), [5, None], []),
    (k.ClassStructure.capture(Part), [Part], [Thing, int, 5]),
    (k.EndsUnseen(), [5, None, [1, (2,)], Thing(a=1), T], [Finalized(), [Finalized()], Thing(a=Finalized())]),
    (k.NotWeaklyObserved(), [OBJECT, 5, Thing(), REFERENCE], [REFERRED, weakref.proxy(THING)]),
]


@pytest.mark.parametrize(("claim", "good", "bad"), CASES, ids=lambda item: type(item).__name__)
def test_a_claim_agrees_with_its_text(claim, good, bad):
    for value in good:
        assert passes(guards((Local("x"), claim)), {"x": value}), value
    for value in bad:
        assert not passes(guards((Local("x"), claim)), {"x": value}), value


@pytest.mark.parametrize(("claim", "good", "bad"), CASES, ids=lambda item: type(item).__name__)
def test_the_text_of_a_claim_alone_agrees_with_its_check(claim, good, bad):
    names = PlainNames()
    text = claim.render("x", names)
    for value in [*good, *bad]:
        try:
            generated = bool(eval(text, {"__builtins__": {}, **names.constants, "x": value}))
        except MISSES:
            generated = False
        try:
            slow = claim.check(value)
        except MISSES:
            slow = False
        assert generated is slow


@pytest.mark.parametrize(("claim", "good", "bad"), CASES, ids=lambda item: type(item).__name__)
def test_a_claim_explains_a_miss(claim, good, bad):
    for value in bad:
        text = why(guards((Local("x"), claim)), {"x": value})
        assert "x" in text and "\n" not in text
    assert "x" in claim.text(Local("x"))


@pytest.mark.parametrize(("claim", "good", "bad"), CASES, ids=lambda item: type(item).__name__)
def test_a_claim_equals_itself_and_no_other(claim, good, bad):
    assert claim == claim and hash(claim) == hash(claim)
    assert sum(claim == other for other, _, _ in CASES) == 1


def subclasses(cls):
    return {cls}.union(*map(subclasses, cls.__subclasses__()))


def test_the_battery_knows_every_claim():
    # with slots a dataclass is made anew, and the first one stays for a while
    claims = {
        getattr(sys.modules[one.__module__], one.__qualname__, None)
        for one in subclasses(Claim) - {Claim}
        if one.__module__.startswith("framesmith.") and one.__name__[0] != "_"
    }
    known = {type(claim) for claim, _, _ in CASES}
    # of the process: `test_warning_hooks`
    assert claims - known == {k.ShowsWarningsPlainly}


def test_messages_are_in_the_users_words():
    def said(claim, value):
        return why(guards((Local("x"), claim)), {"x": value})

    assert said(k.TypeIs(int), 1.0) == "x: type changed from int to float"
    assert said(k.EqualTo(1), 2) == "x: value changed from 1 to 2"
    assert said(k.EqualTo(1), True) == "x: value changed from 1 to True (int to bool)"
    assert said(k.LengthIs(2), [1]) == "x: length changed from 2 to 1"
    assert said(k.KeysAre(("a", "b")), {"a": 1, "c": 2}) == "x: keys changed (without ['b'], new ['c'])"
    assert said(k.KeysAre(("a", "b")), {"b": 1, "a": 2}).startswith(
        "x: the order of the keys changed from ['a', 'b']"
    )
    assert said(k.HasKey("a"), {}) == "x: 'a' is no longer in it"
    assert said(k.NoModuleHooks(), hooked()) == "x: has hooks now (_forward_hooks)"


class Watched:
    """A class whose attributes change."""

    field = 1


def test_a_class_attribute_of_a_pinned_class_follows_changes_in_its_bases():
    class Base:
        def f(self): ...

    class Child(Base): ...

    found = guards((Pinned(Child, "Child"), k.ClassAttribute.capture(Child, "f")))
    missing = guards((Pinned(Child, "Child"), k.ClassAttribute.capture(Child, "g")))
    assert passes(found, {}) and passes(missing, {})
    Child.f = lambda self: None
    assert not passes(found, {})
    del Child.f
    assert passes(found, {})
    Base.f = staticmethod(Base.f)
    assert not passes(found, {})
    Base.g = 1
    assert not passes(missing, {})


def test_a_class_attribute_notices_another_resolution_order():
    class A: ...

    class B: ...

    class Child(A): ...

    B.f = 1
    claim = guards((Pinned(Child, "Child"), k.ClassAttribute.capture(Child, "f")))
    assert passes(claim, {})
    Child.__bases__ = (B,)
    assert not passes(claim, {})


def test_a_captured_class_attribute_that_vanished_fails():
    class A:
        f = 1

    claim = k.ClassAttribute.capture(A, "f")
    del A.f
    assert not passes(guards((Pinned(A, "A"), claim)), {})


def test_a_weak_identity_fails_once_the_object_is_gone():
    thing = Thing()
    claims = guards((Local("x"), k.WeaklyIdentical.capture(thing)))
    assert passes(claims, {"x": thing})
    del thing
    assert not passes(claims, {"x": None})


def test_guards_are_added_once():
    guard_set = guards(
        *[(Local("x"), k.EqualTo(1)), (Local("x"), k.EqualTo(1)), (Local("x"), k.EqualTo(True))]
    )
    assert len(guard_set) == 2


def test_an_empty_set_holds():
    assert passes(GuardSet(), {"x": 1})


def test_a_claim_without_a_source_is_refused():
    with pytest.raises(TypeError, match="TypeIs speaks about one value"):
        from_claim = k.TypeIs(int)
        guards((None, from_claim))  # type: ignore[arg-type]


def test_functions_are_compared_by_code():
    copy = types.FunctionType(one.__code__, {})
    assert passes(guards((Local("x"), k.CodeIs(one.__code__))), {"x": copy})


def test_a_message_names_the_form_of_a_tensor_and_not_its_elements():
    shown = k.base.show_value(torch.full((2, 3), 7.0))
    assert shown == "a Tensor of float32 with shape [2, 3]"


def test_a_list_of_tensors_is_shown_without_their_elements():
    class Equal(type):
        def __eq__(cls, other):
            raise AssertionError

        __hash__ = None

    class Own(metaclass=Equal):
        pass

    assert k.base.show_value([torch.nn.Parameter(torch.ones(3))]) == "[a Parameter of float32 with shape [3]]"
    assert k.base.show_value((torch.ones(2), 1)) == "(a Tensor of float32 with shape [2], 1)"
    assert k.base.show_value([Own(), torch.ones(2)]).startswith("[")


def test_a_value_is_accepted_where_all_guards_that_fix_it_hold():
    source = Local("i")
    held = [k.IteratorHasAtLeast(2), k.IteratorExhaustedAfter(2)]
    scope = Scope({"i": iter([1, 2])}, {})
    assert examine(GuardSet([Guard(source, claim) for claim in held]), scope).accepted == {source}
    wider = Scope({"i": iter([1, 2, 3])}, {})
    assert not examine(GuardSet([Guard(source, claim) for claim in held]), wider).accepted
