"""The battery every relation passes: it accepts what it was captured from, explains a miss, both checks agree."""

import contextlib
import inspect
import random
import sys
from pathlib import Path

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from framesmith.guards import kinds
from framesmith.guards.kinds import (
    AmbientValue,
    DistinctObjects,
    DistinctStorages,
    GlobalState,
    Relation,
    SameBase,
    SameObject,
    SameOverlap,
    SameStorage,
    ShapeExpression,
    TensorIs,
)
from framesmith.guards.kinds.aliasing import overlap_of
from framesmith.guards.sources import Item, Local, TensorSize

sys.path.insert(0, str(Path(__file__).parent))
from guard_checking import guards, passes, why  # noqa: E402  # the neighbour

a, b, c = Local("a"), Local("b"), Local("c")
X = torch.ones(4, 3)
Y = torch.ones(4, 3)
Z = torch.ones(3)
Z_AGAIN = torch.from_dlpack(Z)
MEMORY = torch.arange(4.0)
NUMBERS = [torch.from_dlpack(MEMORY[start:end]) for start, end in ((0, 2), (2, 4), (0, 0), (0, 4), (1, 3))]


def distinct(count):
    return DistinctObjects(tuple(Item(a, index) for index in range(count)))


def shape(text, *sources, **functions):
    return ShapeExpression(text, sources or (a, b), functions)


# relation, values it accepts, values it refuses
CASES: list[tuple[Relation, list[dict[str, object]], list[dict[str, object]]]] = [
    (SameObject(a, b), [{"a": X, "b": X}], [{"a": X, "b": Y}]),
    (DistinctObjects((a, b)), [{"a": X, "b": Y}], [{"a": X, "b": X}]),
    (distinct(4), [{"a": [X, Y, 1, 2]}], [{"a": [X, Y, 1, X]}, {"a": [1]}]),
    (
        SameOverlap(a, b, None),
        [{"a": X[:1], "b": X[1:]}, {"a": X[1:], "b": X[:1]}, {"a": X[:0], "b": X}],
        [{"a": X, "b": X[1:]}, {"a": X, "b": X}, {"a": X, "b": 1}],
    ),
    (
        SameOverlap(a, b, overlap_of(X, X[1:])),
        [{"a": X, "b": X[1:]}, {"a": Y, "b": Y[1:]}],
        [{"a": X[:1], "b": X[1:]}, {"a": X, "b": X}],
    ),
    (SameOverlap(a, b, overlap_of(X[:1], X[:1])), [{"a": Y[:1], "b": Y[:1]}], [{"a": X[1:], "b": X[1:]}]),
    (SameStorage(a, b), [{"a": X, "b": X[1:]}], [{"a": X, "b": Y}, {"a": X, "b": 1}]),
    (
        DistinctStorages((a, b)),
        [{"a": X, "b": Y}, {"a": NUMBERS[0], "b": NUMBERS[1]}, {"a": NUMBERS[2], "b": NUMBERS[3]}],
        [{"a": X, "b": X[1:]}, {"a": X, "b": 1}, {"a": NUMBERS[0], "b": NUMBERS[4]}, {"a": Z, "b": Z_AGAIN}],
    ),
    (
        DistinctStorages((a, b), by_memory=False),
        [{"a": X, "b": Y}, {"a": NUMBERS[0], "b": NUMBERS[4]}],
        [{"a": X, "b": X[1:]}, {"a": X, "b": 1}],
    ),
    (
        SameBase(a, b, True),
        [{"a": X, "b": X[1:]}, {"a": X[:1], "b": X[1:]}, {"a": X[1:], "b": X}],
        [{"a": X, "b": X}, {"a": X[1:], "b": Y}, {"a": X, "b": X.data[1:]}, {"a": X, "b": 1}],
    ),
    (SameBase(a, b, None), [{"a": X, "b": X}, {"a": X, "b": Y}], [{"a": X, "b": X[1:]}]),
    (shape("{0} == {1}"), [{"a": 2, "b": 2}], [{"a": 2, "b": 3}]),
    (shape("{0} % 8 == 0 or {1} > 3"), [{"a": 8, "b": 1}, {"a": 1, "b": 4}], [{"a": 1, "b": 1}]),
    (shape("Mod({0}, 3) == 1 and FloorDiv({1}, 2) < Max({0}, 2)"), [{"a": 4, "b": 1}], [{"a": 3, "b": 1}]),
    (shape("twice({0}) == {1}", a, b, twice=lambda n: 2 * n), [{"a": 2, "b": 4}], [{"a": 2, "b": 3}]),
    (shape("{0}*{0} + math.floor(1.5) <= {1}"), [{"a": 2, "b": 5}], [{"a": 2, "b": 4}]),
    (shape("1 / {0} > 0", a), [{"a": 1}], [{"a": 0}, {"a": -1}, {"a": "a"}]),
    (shape("2 <= {0}", TensorSize(a, 0)), [{"a": X}], [{"a": X[:1]}, {"a": 3}]),
    (AmbientValue(torch.get_num_threads, (), torch.get_num_threads()), [{}], []),
    (AmbientValue(len, ((1, 2),), 2), [{}], []),
    (AmbientValue(len, ((1, 2),), 3), [], [{}]),
    (AmbientValue(torch.get_default_dtype, (), torch.float32), [{}], []),
    (AmbientValue(torch.is_grad_enabled, (), False), [], [{}]),
    (GlobalState.capture(), [{}], []),
]


@pytest.mark.parametrize(("relation", "good", "bad"), CASES, ids=lambda item: type(item).__name__)
def test_a_relation_agrees_with_its_text_and_explains_a_miss(relation, good, bad):
    for values in good:
        assert passes(guards(relation), values)
    for values in bad:
        assert "\n" not in why(guards(relation), values)
    assert relation.text() and relation == relation


def test_the_battery_knows_every_relation():
    known = {type(relation) for relation, _, _ in CASES}
    for name in kinds.__all__:
        item = getattr(kinds, name)
        if inspect.isclass(item) and issubclass(item, Relation) and item is not Relation:
            assert item in known, name


def test_a_shape_expression_says_what_it_found():
    claim = guards(shape("{0} % 8 == 0", TensorSize(a, 0)))
    assert why(claim, {"a": X}) == "a.size(0) % 8 == 0 no longer holds (a.size(0) = 4)"


@pytest.mark.parametrize(
    ("text", "message"), [("{2} == 0", "mentions .2., but has 2 sources"), ("unknown({0})", "uses 'unknown'")]
)
def test_a_wrong_template_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        shape(text)


class Functions(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Dispatches(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def default_dtype():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@contextlib.contextmanager
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


STATES = {
    "no_grad": torch.no_grad,
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu"),
    "device": lambda: torch.device("meta"),
    "function mode": Functions,
    "dispatch mode": Dispatches,
    "no functions": torch._C.DisableTorchFunction,
    "no subclass functions": torch._C.DisableTorchFunctionSubclass,
    "dual level": torch.autograd.forward_ad.dual_level,
    "default dtype": default_dtype,
    "deterministic": deterministic,
}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
@pytest.mark.parametrize("beside_tensors", [False, True])
def test_the_global_state_is_told_apart_in_both_directions(state, beside_tensors):
    tensors = [(a, TensorIs.capture(X))] if beside_tensors else []
    plain = guards(GlobalState.capture(), *tensors)
    context = state()
    with context:
        changed = guards(GlobalState.capture(), *tensors)
        assert passes(changed, {"a": X})
        assert why(plain, {"a": X}).startswith("the global state of torch changed: ")
    assert passes(plain, {"a": X})
    assert not passes(changed, {"a": X})


@pytest.mark.parametrize(
    "disabled",
    [contextlib.nullcontext, torch._C.DisableTorchFunction, torch._C.DisableTorchFunctionSubclass],
)
def test_a_function_mode_is_noticed_whichever_functions_are_disabled(disabled):
    with disabled():
        state = guards(GlobalState.capture())
        assert passes(state, {})
        with Functions():
            assert not passes(state, {})
        assert passes(state, {})


def test_two_default_device_blocks_are_one_state():
    with torch.device("meta"):
        state = guards(GlobalState.capture())
    with torch.device("meta"):
        assert passes(state, {})
    with torch.device("cpu"):
        assert not passes(state, {})


def test_a_transform_is_another_state():
    outside = guards(GlobalState.capture())
    inside = []

    def body(value):
        inside.append(guards(GlobalState.capture()))
        assert passes(inside[-1], {})
        assert "functorch levels" in why(outside, {})
        return value

    torch.vmap(body)(X)
    assert not passes(inside[0], {})


def test_the_reason_names_the_switch():
    state = guards(GlobalState.capture())
    with torch.no_grad():
        assert why(state, {}) == "the global state of torch changed: grad_mode changed from true to false"


def test_ambient_values_follow_their_function():
    generator = random.Random(1)
    claim = guards(AmbientValue(generator.getstate, (), generator.getstate()))
    assert passes(claim, {})
    generator.random()
    assert not passes(claim, {})


def test_hooks_for_saved_tensors_are_no_other_state():
    state = guards(GlobalState.capture())
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
        assert passes(state, {})


def test_the_text_of_the_global_state_says_what_is_switched():
    """Entries that differ in this alone are told apart by it."""
    assert GlobalState.capture().text().endswith("is unchanged")
    with torch.no_grad():
        assert GlobalState.capture().text().endswith("is unchanged: gradients off")
    with torch.inference_mode(), torch.autocast("cpu"):
        assert GlobalState.capture().text().endswith("is unchanged: gradients off, inference mode, autocast")
    with torch.autograd.forward_ad.dual_level():
        assert GlobalState.capture().text().endswith("is unchanged: forward-mode differentiation")
