"""Guards of several objects in one loop: the decision is that of the guards written one by one, whatever differs."""

import copy
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from framesmith.guards import Family, Guard, GuardSet, Member, Scope, all_failures, compile_guards, families
from framesmith.guards.family_checks import FamilyCheck, Schedule
from framesmith.guards.kinds import EqualTo, GlobalState, HasKey, SameObject, TensorIs, TypeIs
from framesmith.guards.sources import (
    InstanceItem,
    Item,
    Local,
    Pinned,
    TensorSize,
    ValuesOf,
    parameter,
    submodule,
)
from framesmith.guards.sources.rebase import Rebase
from framesmith.guards.verify import verify_program

sys.path.insert(0, str(Path(__file__).parent))
from guard_checking import REASON, built, passes  # noqa: E402  # the neighbour
from test_program import module_claims  # noqa: E402  # the neighbour

x = Local("x")
COUNT = 24


@pytest.fixture(autouse=True)
def every_family_is_a_loop(monkeypatch):
    monkeypatch.setattr(families, "_FEWEST_GUARDS", 0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(3, 3), nn.BatchNorm1d(3)
        self.scale, self.table = 2.0, {"p": 1}


class Other(Block):
    pass


def blocks(count=COUNT):
    torch.manual_seed(0)
    return [Block() for _ in range(count)]


def family_of(block, *more):
    """What a trace says of the first block."""
    root = Item(x, 0)
    claims = [
        *module_claims(block, root),
        (InstanceItem(root, "scale"), EqualTo(block.scale)),
        (InstanceItem(root, "table"), TypeIs(dict)),
        (Item(InstanceItem(root, "table"), "p"), EqualTo(1)),
        *more,
    ]
    inputs = tuple(source for source, claim in claims if isinstance(claim, TensorIs))
    return Family(root, tuple(Guard(source, claim, REASON) for source, claim in claims), inputs)


def with_members(family, count=COUNT, order=None):
    guard_set = GuardSet([Guard.relation(GlobalState.capture(), REASON), Guard(x, TypeIs(list), REASON)])
    guard_set.update(family.guards)
    for place in order or range(1, count):
        root = Item(x, place)
        guard_set.add_member(Member(family, root, Rebase(family.root, root)))
    return guard_set


def flat(guard_set):
    return GuardSet([*guard_set])


def is_looped(guard_set):
    return any(isinstance(value, FamilyCheck) for value in compile_guards(guard_set).constants.values())


CHANGES = {
    "nothing": lambda made, at: None,
    "class": lambda made, at: setattr(made[at], "__class__", Other),
    "training": lambda made, at: made[at].norm.eval(),
    "hook": lambda made, at: made[at].first.register_forward_hook(print),
    "forward": lambda made, at: setattr(made[at], "forward", print),
    "float": lambda made, at: setattr(made[at], "scale", 2),
    "gone": lambda made, at: delattr(made[at], "scale"),
    "item": lambda made, at: made[at].table.update(p=2),
    "item gone": lambda made, at: made[at].table.clear(),
    "dict subclass": lambda made, at: setattr(made[at], "table", type("D", (dict,), {})(p=1)),
    "parameter": lambda made, at: setattr(made[at].first, "weight", nn.Parameter(torch.ones(3, 3))),
    "parameter gone": lambda made, at: setattr(made[at].first, "bias", None),
    "shape": lambda made, at: setattr(made[at].first, "weight", nn.Parameter(torch.ones(3, 2))),
    "strides": lambda made, at: setattr(made[at].first, "weight", nn.Parameter(torch.ones(3, 3).t()[:, :])),
    "dtype": lambda made, at: made[at].double(),
    "requires_grad": lambda made, at: made[at].first.weight.requires_grad_(False),
    "buffer": lambda made, at: setattr(made[at].norm, "running_mean", torch.ones(3)),
    "tied": lambda made, at: setattr(made[at].first, "weight", made[0].first.weight),
    "tied to the next": lambda made, at: setattr(
        made[at].first, "weight", made[(at + 1) % COUNT].first.weight
    ),
    "same block": lambda made, at: made.__setitem__(at, made[0]),
    "another block": lambda made, at: made.__setitem__(at, Block()),
    "no module": lambda made, at: made.__setitem__(at, object()),
    "shorter": lambda made, at: made.pop(),
    "child": lambda made, at: setattr(made[at], "first", nn.Linear(3, 3)),
    "child of another class": lambda made, at: setattr(made[at], "first", nn.Identity()),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("at", [1, 11, COUNT - 1])
def test_a_loop_decides_what_the_guards_decide_one_by_one(change, at):
    made = blocks()
    guard_set = with_members(family_of(made[0]))
    assert is_looped(guard_set) and passes(guard_set, {"x": made})
    changed = copy.deepcopy(made)
    CHANGES[change](changed, at)
    assert passes(guard_set, {"x": changed}) is passes(flat(guard_set), {"x": changed})
    assert passes(guard_set, {"x": made})


def test_the_changes_are_seen():
    made = blocks()
    guard_set = with_members(family_of(made[0]))
    unseen = {"nothing", "parameter", "buffer", "another block", "child"}
    for name in CHANGES:
        changed = copy.deepcopy(made)
        CHANGES[name](changed, 5)
        assert passes(guard_set, {"x": changed}) is (name in unseen), name


def test_a_failure_names_the_source_of_the_member():
    made = blocks()
    guard_set = with_members(family_of(made[0]))
    made[7].scale = 3.0
    texts = [failure.text for failure in all_failures(guard_set, Scope({"x": made}, {}))]
    assert texts == ["x[7].scale: value changed from 2.0 to 3.0"]


def test_the_values_of_members_are_read_once_and_given_in_one_list():
    made = blocks()
    family = family_of(made[0])
    guard_set = with_members(family)
    members = [item for item in guard_set.items if isinstance(item, Member)]
    inputs = [*family.inputs, *(source for member in members for source in member.inputs)]
    loads = families.pack_inputs(inputs, guard_set.items)
    assert loads[:-1] == [*family.inputs] and loads[-1] == ValuesOf(tuple(inputs[len(family.inputs) :]))
    values = built(compile_guards(guard_set, loads), ["x"], {})(made)
    read = [*values[:-1], *values[-1]]
    assert all(one is source.read(Scope({"x": made}, {})) for one, source in zip(read, inputs, strict=True))


def test_one_value_and_a_part_of_the_list_are_taken_from_it():
    made = blocks()
    guard_set = with_members(family_of(made[0]))
    weight = parameter(submodule(Item(x, 9), "first"), "weight")
    part = ValuesOf(tuple(parameter(submodule(Item(x, 9), "first"), name) for name in ("weight", "bias")))
    program = compile_guards(guard_set, [weight, part])
    values = built(program, ["x"], {})(made)
    assert values[0] is made[9].first.weight and values[1][1] is made[9].first.bias
    assert (
        program.condition.count("'weight'") == 2
    )  # both layers of the first block; all others are read in the loop


def test_the_text_does_not_grow_with_the_members():
    sizes = []
    for count in (8, 80):
        made = blocks(count)
        program = compile_guards(with_members(family_of(made[0]), count))
        sizes.append(len(program.condition))
    assert sizes[0] == sizes[1]


def test_what_is_read_below_a_member_is_read_after_its_loop():
    made = blocks()
    family = family_of(made[0])
    guard_set = with_members(family)
    guard_set.add(Guard(InstanceItem(Item(x, 3), "extra"), EqualTo(1), REASON))
    steps = Schedule(guard_set, {family: FamilyCheck("", (), {})}).steps
    assert [type(step).__name__ for step in steps[-2:]] == ["FamilyLoop", "Guard"]
    made[3].extra = 1
    assert passes(guard_set, {"x": made})
    made[3] = Hostile()
    assert not passes(guard_set, {"x": made})


class Hostile:
    """Reading anything of it is the user's code."""

    def __getattribute__(self, name):
        raise AssertionError("user code ran")


def test_members_that_come_after_such_a_guard_have_a_loop_of_their_own():
    made = blocks()
    family = family_of(made[0])
    guard_set = with_members(family, order=range(1, 12))
    guard_set.add(Guard(InstanceItem(Item(x, 3), "extra"), EqualTo(1), REASON))
    for place in range(12, COUNT):
        root = Item(x, place)
        guard_set.add_member(Member(family, root, Rebase(family.root, root)))
    steps = Schedule(guard_set, {family: FamilyCheck("", (), {})}).steps
    assert [type(step).__name__ for step in steps[-3:]] == ["FamilyLoop", "Guard", "FamilyLoop"]
    made[3].extra = 1
    assert passes(guard_set, {"x": made})
    made[20].scale = 0.0
    assert not passes(guard_set, {"x": made})


def test_a_guard_on_a_root_that_the_family_says_is_left_out_unless_something_rests_on_it():
    made = blocks()
    family = family_of(made[0])
    guard_set = GuardSet([Guard(x, TypeIs(list), REASON), *family.guards])
    for place in range(1, COUNT):
        root = Item(x, place)
        guard_set.add(Guard(root, TypeIs(Block), REASON))
        if place == 5:
            guard_set.add(Guard(InstanceItem(root, "extra"), EqualTo(1), REASON))
        guard_set.add_member(Member(family, root, Rebase(family.root, root)))
    steps = Schedule(guard_set, {family: FamilyCheck("", (), {})}).steps
    kept = [step.source for step in steps if isinstance(step, Guard) and step.claim == TypeIs(Block)]
    assert kept == [Item(x, 0), Item(x, 5)]
    made[5].extra = 1
    assert passes(guard_set, {"x": made})
    made[5] = Hostile()
    assert not passes(guard_set, {"x": made})


@pytest.mark.parametrize(
    "more",
    [
        (EqualTo(3), TensorSize(parameter(submodule(Item(x, 0), "first"), "weight"), 0)),  # after the tensors
        (HasKey("relu", True), Pinned(vars(torch.nn.functional), "torch.nn.functional")),  # of the program
    ],
)
def test_a_family_that_one_loop_cannot_check_is_written_one_by_one(more):
    made = blocks()
    claim, source = more
    if isinstance(source, Pinned):
        family = Family(x, (Guard(source, claim, REASON),), ())
        guard_set = GuardSet()
        for place in range(8):
            guard_set.add_member(Member(family, Item(x, place), Rebase(x, Item(x, place))))
    else:
        guard_set = with_members(family_of(made[0], (source, claim)))
    assert not is_looped(guard_set) and passes(guard_set, {"x": made})


def test_tied_tensors_are_checked_one_by_one():
    made = blocks()
    made[4].first.weight = made[5].first.weight
    guard_set = with_members(family_of(made[0]))
    left, right = (parameter(submodule(Item(x, place), "first"), "weight") for place in (4, 5))
    guard_set.add(Guard.relation(SameObject(left, right), REASON))
    assert not is_looped(guard_set) and passes(guard_set, {"x": made})
    made[4].first.weight = nn.Parameter(torch.ones(3, 3))
    assert not passes(guard_set, {"x": made})


def test_few_members_are_checked_one_by_one(monkeypatch):
    monkeypatch.undo()
    made = blocks()
    assert not is_looped(with_members(family_of(made[0]), 3))
    assert is_looped(with_members(family_of(made[0])))


def test_a_member_counts_as_its_guards():
    made = blocks()
    family = family_of(made[0])
    guard_set = with_members(family)
    assert len(guard_set) == len([*guard_set]) == 2 + COUNT * len(family.guards)
    mark = len(guard_set.items)
    root = Item(x, COUNT)
    assert guard_set.is_apart(root) and not guard_set.is_apart(Item(x, 3)) and not guard_set.is_apart(x)
    assert not guard_set.is_apart(submodule(Item(x, 3), "first"))
    guard_set.add_member(Member(family, root, Rebase(family.root, root)))
    assert [guard.source for guard in guard_set.added_since(mark)] == [
        Rebase(family.root, root)(guard.source) for guard in family.guards if guard.source is not None
    ]
    assert len(guard_set.copy().items) == len(guard_set.items)


def test_a_family_has_claims_about_one_source_only():
    with pytest.raises(TypeError, match="a family consists of claims about one source"):
        Family(x, (Guard.relation(SameObject(Item(x, 0), Item(x, 1)), REASON),), ())


def test_a_wrong_text_of_a_family_is_a_problem():
    made = blocks()
    program = compile_guards(with_members(family_of(made[0])))
    assert verify_program(program, ["x"]) == []
    (name,) = [name for name, value in program.constants.items() if isinstance(value, FamilyCheck)]
    program.constants[name] = FamilyCheck("__fs_roots", ("return nobody",), {})
    assert verify_program(program, ["x"]) == ["the check of a family reads nobody, which it does not have"]
    program.constants[name] = FamilyCheck("__fs_roots", ("return (",), {})
    assert "no function" in verify_program(program, ["x"])[0]


def test_tensors_of_guards_that_come_later_are_among_those_of_the_set():
    first, second = (TensorIs.capture(torch.zeros(count)) for count in (1, 2))
    guard_set = GuardSet([Guard(Item(x, 0), first, REASON)])
    assert [*guard_set.tensors] == [(Item(x, 0), first)]
    guard_set.add(Guard(Item(x, 1), second, REASON))
    family = Family(Item(x, 0), (Guard(Item(x, 0), first, REASON),), ())
    guard_set.add_member(Member(family, Item(x, 2), Rebase(Item(x, 0), Item(x, 2))))
    assert [*guard_set.tensors] == [(Item(x, 0), first), (Item(x, 1), second), (Item(x, 2), first)]
