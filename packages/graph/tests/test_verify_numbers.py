"""Numbers of inputs that are plain and have no guard are found."""

import torch

from framesmith.graph import DynamicDims, Recorder
from framesmith.guards import Guard, GuardSet
from framesmith.guards.kinds import TensorIs, TypeIs
from framesmith.guards.sources import Local

X, N = Local("x"), Local("n")


def problems(value, dims, claim, use=None):
    recorder = Recorder()
    with recorder:
        recorder.tensor_input(X, value, dims)
        fake = recorder.graph.find_nodes(op="placeholder")[0].meta["example_value"]
        if use is not None:
            use(fake)
    guards = GuardSet([Guard(X, claim)])
    guards.update(recorder.explain_shape_guards())
    return recorder.find_unguarded_numbers(guards)


def test_a_size_of_one_that_was_to_be_symbolic_needs_a_guard():
    value = torch.zeros(1, 3)
    assert problems(value, DynamicDims.all(), TensorIs.capture(value, [0, 1])) == [
        "x.size(0) is the number 1 in the trace, and no guard says so",
    ]


def test_sizes_that_are_symbols_or_guarded_are_in_order():
    value = torch.zeros(1, 3)
    assert problems(value, DynamicDims.all(), TensorIs.capture(value, [1])) == []
    assert problems(value, DynamicDims.none(), TensorIs.capture(value)) == []


def test_a_decision_that_fixes_a_size_is_a_guard():
    value = torch.zeros(4, 3)
    assert problems(value, DynamicDims.of(0), TensorIs.capture(value, [0]), lambda x: int(x.size(0))) == []


def test_a_stride_that_is_a_number_needs_a_guard():
    value = torch.zeros(2, 3).t()
    found = problems(value, DynamicDims.none(), TensorIs.capture(value, (), [1]))
    assert found == ["x.stride(1) is the number 3 in the trace, and no guard says so"]


def test_a_symbolic_number_needs_a_guard_on_its_type():
    recorder = Recorder()
    with recorder:
        recorder.number_input(N, 3)
    assert recorder.find_unguarded_numbers(GuardSet()) == [
        "n is a symbolic number, and no guard holds its type"
    ]
    assert recorder.find_unguarded_numbers(GuardSet([Guard(N, TypeIs(int))])) == []
