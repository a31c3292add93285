"""The generated condition: every path read once, fast to make, right at any size."""

import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from framesmith.guards import GuardSet, Scope, compile_guards, first_failure
from framesmith.guards.kinds import (
    ClassAttribute,
    EqualTo,
    GlobalState,
    HasInstanceAttribute,
    HasKey,
    Identical,
    NoModuleHooks,
    NotIdentical,
    ShapeExpression,
    TensorIs,
    TypeIs,
)
from framesmith.guards.sources import (
    Attribute,
    ClassDictItem,
    Global,
    InstanceItem,
    Item,
    Local,
    Pinned,
    parameter,
    submodule,
)
from framesmith.guards.text import guard_table, program_text
from framesmith.guards.verify import verify_guards, verify_program

sys.path.insert(0, str(Path(__file__).parent))
from guard_checking import REASON, built, failure, guards, passes  # noqa: E402  # the neighbour

x, y = Local("x"), Local("y")
X = torch.ones(2, 3)


def module_claims(module, source):
    """What a trace says of a module it went through."""
    claims = [
        (source, TypeIs(type(module))),
        (source, NoModuleHooks()),
        (Attribute(source, "training"), EqualTo(module.training)),
        (source, HasInstanceAttribute("forward", False)),
    ]
    claims += [
        (parameter(source, name), TensorIs.capture(value)) for name, value in module._parameters.items()
    ]
    for name, child in module._modules.items():
        claims += module_claims(child, submodule(source, name))
    return claims


def tree(layers):
    return nn.Sequential(*[layer for _ in range(layers) for layer in (nn.Linear(3, 3), nn.ReLU())])


def test_two_tensors_are_one_call_and_one_look_at_the_state():
    guard_set = guards(GlobalState.capture(), (x, TensorIs.capture(X)), (y, TensorIs.capture(X)))
    program = compile_guards(guard_set, [y, x])
    assert len(program.terms) == 4 and program.temporaries == () and program.loads == ("y", "x")
    assert program.terms[3].endswith("tensors(x, y)")


def test_a_shared_path_is_read_once():
    config = InstanceItem(x, "config")
    guard_set = guards(
        (config, TypeIs(dict)), (Item(config, "a"), EqualTo(1)), (Item(config, "b"), EqualTo(2))
    )
    program = compile_guards(guard_set)
    assert program.condition.count("'config'") == 1 and program.condition.count("__dict__") == 1

    class Holder:
        pass

    holder = Holder()
    holder.config = {"a": 1, "b": 2}
    assert passes(guard_set, {"x": holder})


def test_claims_on_one_instance_share_its_dictionary():
    program = compile_guards(guards(*module_claims(nn.ReLU(), x)))
    assert program.condition.count("__dict__") == 1


def test_what_may_be_skipped_is_read_before():
    choice = ShapeExpression("{0} > 5 or {1} > 5", (Item(x, 0), Item(x, 1)))
    guard_set = guards(choice, (Item(x, 1), EqualTo(9)))
    assert passes(guard_set, {"x": [7, 9]})
    check = built(compile_guards(guard_set, [Item(x, 1)]), ["x"], {})
    assert check([7, 9]) == [9]


def test_preloaded_values_survive_the_reuse_of_temporaries():
    sources = [Item(Item(x, index), 0) for index in range(20)]
    claims = [claim for source in sources for claim in ((source.base, TypeIs(list)), (source, TypeIs(int)))]
    check = built(compile_guards(guards(*claims), sources), ["x"], {})
    assert check([[index] for index in range(20)]) == [*range(20)]


def test_preloaded_values_that_no_guard_asks_for_keep_their_own_temporaries():
    program = compile_guards(guards(), [Item(x, "a"), Item(x, "b")])
    assert len(set(program.loads)) == 2


def test_a_tree_of_modules_holds_until_something_changes():
    model = tree(3)
    guard_set = guards(GlobalState.capture(), *module_claims(model, Local("self")), (x, TensorIs.capture(X)))
    values = {"self": model, "x": X}
    assert verify_guards(guard_set, Scope(values, {})) == []
    assert passes(guard_set, values)
    for change in (
        lambda: model[2].eval(),
        lambda: model[1].register_forward_hook(print),
        lambda: model[0].weight.requires_grad_(False),
        lambda: model.__setitem__(1, nn.GELU()),
        lambda: setattr(model[4], "forward", print),
        lambda: model.pop(5),
    ):
        changed = tree(3)
        changed.load_state_dict(model.state_dict())
        model, before = changed, model
        guard_set = guards(GlobalState.capture(), *module_claims(model, Local("self")))
        assert passes(guard_set, {"self": model}) and before is not model
        change()
        assert not passes(guard_set, {"self": model})


def test_a_failure_names_the_path_and_keeps_the_reason():
    model = tree(2)
    guard_set = guards(*module_claims(model, Local("self")))
    model[2].weight.data = torch.ones(4, 3)
    found = failure(guard_set, {"self": model})
    assert found.text == "self.2.weight: size of dimension 0 changed from 3 to 4"
    assert found.guard.reason is REASON


def test_a_path_that_is_gone_is_a_miss():
    found = failure(guards((Item(x, "a"), EqualTo(1))), {"x": {}})
    assert found.text == "x['a']: can no longer be read (KeyError: 'a')"


def test_a_number_that_changed_is_data():
    found = failure(guards((x, EqualTo(1))), {"x": 2})
    assert found.value_change is not None and (found.value_change.was, found.value_change.found) == (1, 2)
    assert failure(guards((x, EqualTo(1))), {"x": True}).value_change is None
    assert failure(guards((x, EqualTo("a"))), {"x": "b"}).value_change is None


def test_a_local_name_does_not_hide_a_global():
    guard_set = guards((Global("x"), EqualTo(5)), (x, EqualTo(6)))
    assert passes(guard_set, {"x": 6}, {"x": 5})
    assert not passes(guard_set, {"x": 5}, {"x": 5})


def test_a_global_that_nothing_hides_is_a_bare_name():
    program = compile_guards(guards((Global("size"), EqualTo(5))), dispatcher_locals=["x"])
    assert program.condition.endswith("(size) is __fs_c1_int and size == 5") or ":= size" in program.condition


def test_constants_of_two_entries_have_different_names():
    guard_set = guards((x, EqualTo("a")))
    one, two = (compile_guards(guard_set, prefix=f"__fs_{index}_") for index in range(2))
    assert not set(one.constants) & set(two.constants)


def test_only_the_class_of_a_constant_may_come_too_late():
    names, member = Pinned({}, "names"), Pinned(object(), "member")
    assert verify_guards(guards((Item(names, "a"), EqualTo(1)), (names, HasKey("b", False)))) == []
    late = guards((InstanceItem(member, "a"), EqualTo(1)), (member, TypeIs(object)))
    assert verify_guards(late) == ["member.a is guarded before member, which it is read from"]


def test_a_class_attribute_guards_the_item_of_the_class_dictionary():
    class Box:
        size = 1

    box, looked_up = Pinned(Box, "Box"), ClassAttribute.capture(Box, "size")
    item = ClassDictItem(box, "size")
    read = (Attribute(item, "real"), EqualTo(1))
    assert verify_guards(guards((box, looked_up), read, (item, Identical(Box.size)))) == []
    assert verify_guards(guards((box, looked_up), read, (item, TypeIs(int)))) == []
    late = guards(read, (box, looked_up), (item, Identical(Box.size)))
    assert verify_guards(late) == ["Box.size.real is guarded before Box.size, which it is read from"]


def test_a_type_that_is_asked_last_is_too_late():
    late = guards((x, NotIdentical(None)), (Item(x, 0), EqualTo(1)), (x, TypeIs(list)))
    assert verify_guards(late) == ["x[0] is guarded before x, which it is read from"]


def test_a_local_may_be_spelled_otherwise_in_the_dispatcher():
    program = compile_guards(
        guards((Local(".0"), EqualTo(1))), [Local(".0")], local_names={".0": "implicit0"}
    )
    assert built(program, ["implicit0"], {})(1) == [1]


def test_verification_finds_what_is_wrong():
    assert verify_guards(guards((Local("not a name"), EqualTo(1)))) == [
        "'not a name' is no local name (guard: not a name == 1)"
    ]
    late = guards((Item(x, 0), EqualTo(1)), (x, TypeIs(list)))
    assert verify_guards(late) == ["x[0] is guarded before x, which it is read from"]
    wrong = verify_guards(guards((x, EqualTo(1))), Scope({"x": 2}, {}))
    assert wrong == [
        "does not hold of what it was captured from: x: value changed from 1 to 2 (guard: x == 1)"
    ]
    program = compile_guards(guards((x, EqualTo(1))))
    assert verify_program(program, ["y"]) == ["the name x is no local, constant or global"] * 3


def test_the_texts_can_be_read():
    guard_set = guards((x, TypeIs(dict)), (Item(x, "a"), EqualTo(1)))
    assert guard_table(guard_set) == (
        "type(x) is dict  # a test asked for it at user.py:7 in f\n"
        "x['a'] == 1      # a test asked for it at user.py:7 in f"
    )
    assert program_text(compile_guards(guard_set, [Item(x, "a")])) == (
        "if:\n"
        "    __fs_c0_type(x) is __fs_c1_dict\n"
        "    and ((__fs_t0 := x['a']) is __fs_c3_int or __fs_c0_type(__fs_t0) is __fs_c2_int and __fs_t0 == __fs_c3_int)\n"
        "load: __fs_t0\n"
        "constants:\n"
        "    __fs_c0_type = type\n"
        "    __fs_c1_dict = dict\n"
        "    __fs_c2_int = int\n"
        "    __fs_c3_int = 1"
    )


def test_no_object_is_kept_alive_by_a_spec_or_a_path():
    program = compile_guards(guards((parameter(x, "weight"), TensorIs.capture(nn.Linear(2, 2).weight))))
    assert not any(isinstance(value, torch.Tensor | nn.Module) for value in program.constants.values())


def test_twenty_thousand_guards_make_one_expression():
    claims = [(Item(Item(x, index), "k"), EqualTo(index)) for index in range(10_000)]
    claims += [(Item(x, index), TypeIs(dict)) for index in range(10_000)]
    guard_set = guards(*claims)
    assert len(guard_set) == 20_000
    values = [{"k": index} for index in range(10_000)]
    check = built(compile_guards(guard_set, [Item(x, 9_999)]), ["x"], {})
    assert check(values) == [{"k": 9_999}]
    values[9_998]["k"] = 0
    assert check(values) is None
    assert first_failure(guard_set, Scope({"x": values}, {})) is not None


def steps_for(count):
    """The guards on a tree of modules, and the calls and returns made while they are compiled."""
    guard_set = guards(*module_claims(tree(count), Local("self")))
    steps = [0]

    def tick(*_):
        steps[0] += 1

    before = sys.getprofile()
    sys.setprofile(tick)
    try:
        built(compile_guards(guard_set), ["self"], {})
    finally:
        sys.setprofile(before)
    return len(guard_set), steps[0]


def test_the_work_on_two_thousand_guards_grows_with_their_number():
    """Counted in calls, which a loaded machine does not change."""
    (half, fewer), (whole, more) = steps_for(100), steps_for(200)
    assert whole > 1_900
    assert more / fewer < 1.1 * whole / half


def test_identical_constants_share_a_placeholder():
    marker = object()
    program = compile_guards(guards((Item(x, 0), Identical(marker)), (Item(x, 1), Identical(marker))))
    assert list(program.constants.values()) == [marker]


def test_guards_added_since_a_mark_are_told():
    guard_set = guards((x, TypeIs(int)))
    mark = len(guard_set.items)
    guard_set.update(guards((x, TypeIs(int)), (x, EqualTo(1))))
    assert [guard.claim for guard in guard_set.added_since(mark)] == [EqualTo(1)]


@pytest.mark.parametrize("claim", [TypeIs(int), EqualTo(1)])
def test_a_set_takes_over_another_one_and_keeps_each_guard_once(claim):
    guard_set = guards((x, claim))
    guard_set.update(guards((x, TypeIs(int)), (Item(x, 0), TypeIs(str))))
    guard_set.update(guards((Item(x, 0), TypeIs(str))))
    assert [guard.claim for guard in guard_set] == [*dict.fromkeys([claim, TypeIs(int), TypeIs(str)])]


def test_a_class_has_one_claim_in_a_set():
    guard_set = GuardSet()
    assert guard_set.type_claim(int) is guard_set.type_claim(int) == TypeIs(int)
    assert guard_set.type_claim(str) == TypeIs(str)
