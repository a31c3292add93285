"""Tensors: operators, methods, attributes, indexing, identity, recorded and compared with eager."""

import gc
import operator
import weakref

import pytest
import torch
from torch_tracing import Trace, same

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import (
    DATA_DEPENDENT_SHAPE,
    NATIVE_CALL,
    OPERATION_RAISES,
    TENSOR_ITEM,
)
from framesmith.guards.sources import Local
from framesmith.variables.core import Constant, Lazy, ObservedException, from_python
from framesmith.variables.operations.binary import binary, inplace
from framesmith.variables.operations.compare import compare

X = torch.randn(3, 4)
Y = torch.randn(3, 4)
BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
METHODS = [
    ("sum", (1,), {"keepdim": True}),
    ("view", (4, 3), {}),
    ("split", (2,), {"dim": 1}),
    ("norm", (), {}),
    ("unflatten", (1, (2, 2)), {}),
    ("max", (0,), {}),
    ("to", (torch.float64,), {}),
    ("chunk", (2,), {}),
    ("size", (), {}),
    ("size", (1,), {}),
    ("stride", (), {}),
    ("dim", (), {}),
    ("numel", (), {}),
    ("is_contiguous", (), {}),
    ("is_floating_point", (), {}),
    ("type", (), {}),
    ("type", (torch.int32,), {}),
    ("get_device", (), {}),
    ("element_size", (), {}),
    ("permute", (1, 0), {}),
    ("softmax", (-1,), {}),
    ("unbind", (), {}),
]


def flat(tracker):
    """The leaves of a tuple or list of trackers."""
    items = getattr(tracker, "items", None)
    return [tracker] if items is None or callable(items) else [leaf for item in items for leaf in flat(item)]


def leaves(value):
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, tuple | list) else [value]


@pytest.mark.parametrize("symbol", BINARY)
@pytest.mark.parametrize("other", [Y, 2, 2.5, True])
def test_an_operator_is_as_in_eager(symbol, other):
    if symbol == "-" and other is True:
        return
    with Trace(x=X) as trace:
        right = trace.wrap(other) if isinstance(other, torch.Tensor) else Constant(other)
        results = binary(trace.tx, symbol, trace.x, right), binary(trace.tx, symbol, right, trace.x)
        found = trace.run(*results)
    expected = BINARY[symbol](X, other), BINARY[symbol](other, X)
    assert all(
        torch.equal(a, b) or (a.isnan() == b.isnan()).all() for a, b in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize(("name", "args", "kwargs"), METHODS)
def test_a_method_is_as_in_eager(name, args, kwargs):
    with Trace(x=X) as trace:
        result = trace.method(trace.x, name, *args, **kwargs)
        found = trace.run(*flat(result))
    expected = getattr(X, name)(*args, **kwargs)
    assert result.python_type is type(expected)
    assert all(map(same, found, leaves(expected)))


@pytest.mark.parametrize(
    "name",
    [
        "T",
        "mT",
        "real",
        "data",
        "dtype",
        "device",
        "shape",
        "ndim",
        "is_cuda",
        "is_leaf",
        "requires_grad",
        "nbytes",
        "itemsize",
        "grad",
        "grad_fn",
        "layout",
        "is_sparse",
        "is_cpu",
    ],
)
def test_an_attribute_is_as_in_eager(name):
    with Trace(x=X) as trace:
        result = trace.x.attribute(trace.tx, name)
        found = trace.run(*flat(result))
    expected = getattr(X, name)
    assert result.python_type is type(expected)
    assert all(map(same, found, leaves(expected)))


@pytest.mark.parametrize(
    "key", [0, -1, slice(1, 3), None, ..., (0, 1), (slice(None), None, 2), (..., 0), [0, 2], True]
)
def test_indexing_is_as_in_eager(key):
    with Trace(x=X) as trace:
        assert same(trace.run(trace.x.subscript(trace.tx, from_python(trace.tx, key)))[0], X[key])


def test_a_tensor_indexes():
    index = torch.tensor([2, 0])
    with Trace(x=X, i=index) as trace:
        assert same(trace.run(trace.x.subscript(trace.tx, trace.i))[0], X[index])


def test_an_item_is_stored():
    with Trace(x=X.clone()) as trace:
        trace.x.set_subscript(trace.tx, Constant(0), Constant(7.0))
        trace.run()
        assert (trace.inputs["x"][0] == 7).all()
        assert same(trace.inputs["x"][1:], X[1:])


def test_an_inplace_method_returns_the_same_tracker():
    with Trace(x=X.clone()) as trace:
        assert trace.method(trace.x, "add_", 1) is trace.x
        assert inplace(trace.tx, "+", trace.x, Constant(1)) is trace.x


def test_a_method_that_returns_its_tensor_keeps_identity():
    with Trace(x=X) as trace:
        assert trace.method(trace.x, "contiguous") is trace.x
        assert trace.method(trace.x, "detach") is not trace.x


def test_a_changed_layout_is_seen():
    with Trace(x=X.clone()) as trace:
        trace.method(trace.x, "t_")
        assert trace.x.attribute(trace.tx, "shape").as_python_constant() == torch.Size([4, 3])


@pytest.mark.parametrize("symbol", ["<", "<=", "==", "!=", ">", ">="])
def test_a_comparison_is_a_tensor(symbol):
    with Trace(x=X) as trace:
        result = compare(trace.tx, symbol, trace.x, Constant(0))
        mirrored = compare(trace.tx, symbol, Constant(0), trace.x)
        functions = {
            "<": operator.lt,
            "<=": operator.le,
            "==": operator.eq,
            "!=": operator.ne,
            ">": operator.gt,
            ">=": operator.ge,
        }
        assert all(map(same, trace.run(result, mirrored), (functions[symbol](X, 0), functions[symbol](0, X))))


def test_a_tensor_is_not_equal_to_none():
    with Trace(x=X) as trace:
        assert compare(trace.tx, "==", trace.x, Constant(None)).as_python_constant() is False
        assert compare(trace.tx, "!=", Constant(None), trace.x).as_python_constant() is True


def test_iteration_is_over_the_first_dimension():
    with Trace(x=X) as trace:
        iterator = trace.x.iterate(trace.tx)
        rows = [iterator.advance(trace.tx) for _ in range(3)]
        assert iterator.advance(trace.tx) is None
        assert all(map(same, trace.run(*rows), X))


def test_length_is_the_first_dimension():
    with Trace(x=X) as trace:
        assert trace.x.length(trace.tx).as_python_constant() == 3


def test_the_truth_of_a_tensor_is_left_to_the_program():
    with Trace(x=X) as trace:
        assert trace.x.truth(trace.tx) is trace.x


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("item", TENSOR_ITEM),
        ("tolist", TENSOR_ITEM),
        ("__int__", TENSOR_ITEM),
        ("__bool__", TENSOR_ITEM),
        ("nonzero", DATA_DEPENDENT_SHAPE),
        ("backward", OPERATION_RAISES),
    ],
)
def test_what_needs_the_data_breaks(name, kind):
    with Trace(x=torch.tensor(1.0)) as trace:
        with pytest.raises(GraphBreak) as caught:
            trace.method(trace.x, name)
        assert caught.value.kind is kind
        assert trace.nodes == []


def test_a_method_of_every_object_is_no_question_about_a_tensor():
    with Trace(o=object()) as trace, pytest.raises(GraphBreak, match="object.__sizeof__") as caught:
        trace.method(trace.o, "__sizeof__")
    assert caught.value.kind is NATIVE_CALL


def test_a_mistake_of_the_user_breaks_and_leaves_no_node():
    with Trace(x=X) as trace:
        with pytest.raises(GraphBreak, match="operation-raises"):
            trace.method(trace.x, "view", 7)
        assert trace.nodes == []


def test_an_unknown_attribute_is_an_attribute_error():
    with Trace(x=X) as trace:
        with pytest.raises((ObservedException, IndexError)):
            trace.x.attribute(trace.tx, "no_such_thing")
        assert trace.accepts()
        assert not trace.accepts(x=with_attribute(X.clone(), "no_such_thing"))


def with_attribute(tensor, name):
    setattr(tensor, name, 1)
    return tensor


def test_an_attribute_of_the_user_is_read_and_guarded():
    with Trace(x=with_attribute(X.clone(), "tag")) as trace:
        assert trace.x.attribute(trace.tx, "tag").as_python_constant() == 1
        assert trace.accepts()
        assert not trace.accepts(x=X)


def test_an_attribute_that_was_set_is_read_back():
    with Trace(x=X) as trace:
        value = binary(trace.tx, "+", trace.x, Constant(1))
        value.set_attribute(trace.tx, "tag", Constant(5))
        assert value.attribute(trace.tx, "tag").as_python_constant() == 5


def test_the_guard_holds_shape_and_type():
    with Trace(x=X) as trace:
        assert trace.accepts()
        assert trace.accepts(x=Y)
        assert not trace.accepts(x=X.double())
        assert not trace.accepts(x=torch.randn(3, 5))


def test_the_gradient_is_an_input():
    x = torch.ones(3, requires_grad=True)
    x.grad = torch.full((3,), 2.0)
    with Trace(x=x) as trace:
        grad = trace.x.attribute(trace.tx, "grad")
        assert same(trace.run(binary(trace.tx, "*", grad, Constant(3)))[0], torch.full((3,), 6.0))


def test_autograd_goes_through_the_graph():
    x = torch.ones(3, requires_grad=True)
    with Trace(x=x) as trace:
        result = trace.run(trace.method(binary(trace.tx, "*", trace.x, Constant(3)), "sum"))[0]
    result.backward()
    assert same(x.grad, torch.full((3,), 3.0))


def test_a_trace_keeps_no_input_alive():
    x = torch.randn(3)
    with Trace(x=x) as trace:
        value = binary(trace.tx, "+", trace.x, Constant(1))
        value.set_attribute(trace.tx, "tag", Lazy(x, Local("x"), trace.tx.wrap))
        binary(trace.tx, "*", value, value)
    held = weakref.ref(x)
    del x, trace, value
    gc.collect()
    assert held() is None
