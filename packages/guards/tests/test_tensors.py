"""The one native check of all tensors agrees with the slow one; what changed is said precisely."""

import sys
import warnings
from pathlib import Path

import pytest
import torch

from framesmith.guards import compile_guards
from framesmith.guards.kinds import EqualTo, GlobalState, SameObject, TensorIs, TensorSpec
from framesmith.guards.sources import Gradient, Local, TensorSize, parameter
from framesmith.guards.verify import verify_guards

sys.path.insert(0, str(Path(__file__).parent))
from guard_checking import failure, guards, passes, why  # noqa: E402  # the neighbour


class Labelled(torch.Tensor):
    pass


class Noisy(torch.Tensor):
    """A subclass that notices every question."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise AssertionError("user code ran")


def inference_tensor():
    with torch.inference_mode():
        return torch.ones(2, 3)


def quiet(function, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)


def quantised(scale):
    return quiet(torch.quantize_per_tensor, X, scale, 0, torch.qint8)


X = torch.ones(2, 3)
COMPLEX = torch.ones(2, 3, dtype=torch.complex64)
TENSORS = {
    "float": X,
    "scalar": torch.tensor(1.0),
    "double": X.double(),
    "int": X.long(),
    "bool": X.bool(),
    "grad": torch.ones(2, 3, requires_grad=True),
    "parameter": torch.nn.Parameter(X),
    "frozen parameter": torch.nn.Parameter(X, requires_grad=False),
    "buffer": torch.nn.Buffer(X),
    "transposed": torch.ones(3, 2).t(),
    "wider": torch.ones(2, 4),
    "deeper": torch.ones(2, 3, 1),
    "meta": X.to("meta"),
    "complex": COMPLEX,
    "conjugate": COMPLEX.conj(),
    "negative": torch._neg_view(COMPLEX),
    "inference": inference_tensor(),
    "sparse": X.to_sparse(),
    "subclass": X.as_subclass(Labelled),
    "noisy": X.as_subclass(Noisy),
    "empty": torch.empty(0, 3),
    "csr": quiet(X.to_sparse_csr),
    "bsr": quiet(torch.ones(4, 4).to_sparse_bsr, (2, 2)),
    "bsr in other blocks": quiet(torch.ones(4, 4).to_sparse_bsr, (4, 4)),
    "nested": quiet(torch.nested.nested_tensor, [torch.ones(2), torch.ones(3)]),
    "nested otherwise": quiet(torch.nested.nested_tensor, [torch.ones(2), torch.ones(4)]),
    "quantised": quantised(0.1),
    "quantised otherwise": quantised(0.2),
}
SAME = {"float", "buffer"}
OTHERS = {
    name
    for name in TENSORS
    if name.split()[0] in ("sparse", "subclass", "noisy", "csr", "bsr", "nested", "quantised")
}


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.filterwarnings("ignore")
def test_a_spec_accepts_its_own_tensor_only(name):
    claim = guards(GlobalState.capture(), (Local("x"), TensorIs.capture(TENSORS[name])))
    accepted = {other for other, tensor in TENSORS.items() if passes(claim, {"x": tensor})}
    assert accepted == (SAME if name in SAME else {name})


@pytest.mark.parametrize("name", sorted(set(TENSORS) - OTHERS))
def test_ordinary_tensors_are_checked_natively(name):
    assert TensorSpec.capture(TENSORS[name]).example() is not None


def test_a_spec_holds_no_tensor():
    spec = TensorSpec.capture(torch.ones(1000, 1000))
    example = spec.example()
    assert example is not None and example.numel() == 0


def test_a_tensor_that_is_mutated_after_the_capture_does_not_change_the_guard():
    tensor = torch.ones(2, 3)
    claim = guards((Local("x"), TensorIs.capture(tensor)))
    tensor.resize_(5)
    assert passes(claim, {"x": torch.ones(2, 3)}) and not passes(claim, {"x": tensor})


def test_changes_are_said_precisely():
    def said(tensor, now):
        return why(guards((Local("x"), TensorIs.capture(tensor))), {"x": now})

    assert said(torch.ones(4), torch.ones(5)) == "x: size of dimension 0 changed from 4 to 5"
    assert said(X, X.double()) == "x: dtype changed from torch.float32 to torch.float64"
    assert said(X, TENSORS["grad"]) == "x: requires_grad changed from False to True"
    assert said(X, TENSORS["deeper"]) == "x: number of dimensions changed from 2 to 3"
    assert said(X, TENSORS["transposed"]) == (
        "x: stride of dimension 0 changed from 3 to 1, stride of dimension 1 changed from 1 to 2"
    )
    assert said(X, 3) == "x: was a tensor, is 3 now"
    assert said(COMPLEX, COMPLEX.conj()) == "x: is_conj changed from False to True"
    assert "type changed" in said(X, torch.nn.Parameter(X))
    assert "device changed from device(type='cpu') to device(type='meta')" in said(X, TENSORS["meta"])
    assert said(X, TENSORS["inference"]) == "x: is_inference changed from False to True"


def test_a_failure_carries_what_changed_as_data():
    found = failure(guards((Local("x"), TensorIs.capture(torch.ones(4, 3)))), {"x": torch.ones(5, 3)})
    assert found.tensor_change is not None and found.source == Local("x")
    assert found.tensor_change.sizes == ((0, 4, 5),)
    other = failure(guards((Local("x"), TensorIs.capture(torch.ones(4, 3)))), {"x": torch.ones(5, 3).int()})
    assert other.tensor_change is not None


@pytest.mark.parametrize(
    ("shape", "dynamic", "others"),
    [
        ((2, 3), [0], [(5, 3)]),
        ((2, 3), [1], [(2, 7)]),
        ((2, 3), [0, -1], [(4, 5)]),
        ((2, 3, 4), [1], [(2, 9, 4)]),
        ((4, 1), [1], [(4, 6)]),
    ],
)
def test_a_dynamic_size_frees_the_strides_that_depend_on_it(shape, dynamic, others):
    claim = guards((Local("x"), TensorIs.capture(torch.ones(shape), dynamic)))
    assert passes(claim, {"x": torch.ones(shape)})
    for other in others:
        assert passes(claim, {"x": torch.ones(other)})
    assert not passes(claim, {"x": torch.ones(*shape, 1)})


def test_two_tensors_have_to_stay_two():
    claim = guards((Local("x"), TensorIs.capture(X)), (Local("y"), TensorIs.capture(X)))
    assert passes(claim, {"x": X, "y": X.clone()})
    assert why(claim, {"x": X, "y": X}) == "x and y were two tensors and are one now"


def test_one_tensor_in_two_places_has_to_stay_one():
    same = SameObject(Local("x"), Local("y"))
    claim = guards((Local("x"), TensorIs.capture(X)), (Local("y"), TensorIs.capture(X)), same)
    assert passes(claim, {"x": X, "y": X})
    assert why(claim, {"x": X, "y": X.clone()}) == "x and y were one object and are two now"


def test_one_tensor_in_three_places():
    places = [Local("x"), Local("y"), Local("z")]
    claims = [(place, TensorIs.capture(X)) for place in places]
    claim = guards(*claims, SameObject(places[1], places[2]), SameObject(places[0], places[1]))
    assert passes(claim, {"x": X, "y": X, "z": X})
    assert not passes(claim, {"x": X, "y": X, "z": X.clone()})


def test_a_second_claim_about_one_tensor_counts_too():
    claim = guards((Local("x"), TensorIs.capture(X, [0])), (Local("x"), TensorIs.capture(X)))
    assert passes(claim, {"x": X}) and not passes(claim, {"x": torch.ones(9, 3)})


def test_all_tensors_go_into_one_call():
    module = torch.nn.Linear(3, 2)
    claims = [
        (parameter(Local("m"), name), TensorIs.capture(value)) for name, value in module.named_parameters()
    ]
    guard_set = guards((Local("x"), TensorIs.capture(X)), *claims)
    assert passes(guard_set, {"m": module, "x": X})
    assert compile_guards(guard_set).condition.count("tensors(") == 1


def test_gradients_are_tensors_too():
    leaf = torch.ones(2, requires_grad=True)
    leaf.sum().backward()
    claim = guards((Local("x"), TensorIs.capture(leaf)), (Gradient(Local("x")), TensorIs.capture(leaf.grad)))
    assert passes(claim, {"x": leaf})
    assert not passes(claim, {"x": torch.ones(2, requires_grad=True)})


def test_a_guard_made_in_inference_mode_holds_there():
    with torch.inference_mode():
        tensor = torch.ones(2)
        claim = guards(
            GlobalState.capture(), (Local("x"), TensorIs.capture(tensor)), (Local("y"), TensorIs.capture(X))
        )
    with torch.inference_mode():
        assert passes(claim, {"x": tensor, "y": X})
    assert not passes(claim, {"x": tensor, "y": X})


def test_the_native_check_may_be_built_in_another_state_than_it_was_captured_in():
    claim = guards(GlobalState.capture(), (Local("x"), TensorIs.capture(X)))
    with torch.inference_mode(), torch.autocast("cpu"):
        program = compile_guards(claim)
    assert eval(program.condition, {**program.constants, "x": X})


def test_a_tensor_of_a_transform_is_told_from_a_plain_one():
    seen = []

    def body(value):
        claim = guards(GlobalState.capture(), (Local("x"), TensorIs.capture(value)))
        seen.append((passes(claim, {"x": value}), passes(claim, {"x": X[0]})))
        return value

    torch.vmap(body)(X)
    assert seen == [(True, False)]


def test_examples_are_plain_even_when_first_needed_inside_a_transform():
    def body(value):
        TensorSpec.capture(torch.ones(1, dtype=torch.float16)).example()
        return value.sum()

    torch.func.grad(body)(torch.ones(3))
    outside = torch.ones(1, dtype=torch.float16)
    assert TensorSpec.capture(outside).example() is not None
    assert passes(guards((Local("x"), TensorIs.capture(outside))), {"x": outside})


def test_captured_guards_verify():
    from_size = guards((Local("x"), TensorIs.capture(X)), (TensorSize(Local("x"), 0), EqualTo(2)))
    assert verify_guards(from_size) == []
