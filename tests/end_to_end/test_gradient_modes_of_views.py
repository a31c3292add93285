"""Views and writes whose place in the autograd graph a backend that differentiates a graph tells otherwise than eager."""

import pytest
import torch

from framesmith import frontend

BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])


def call(function, *inputs):
    """The results of a call, what they say of their history, and the gradients and forms that it leaves behind."""
    results = function(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    states = [(one.requires_grad, one.grad_fn is not None) for one in results]
    values = [one.tolist() for one in results]
    loss = sum((one * one).sum() for one in results)
    if loss.requires_grad:
        loss.backward()
    forms = [(one.shape, one.stride(), one.tolist()) for one in inputs]
    return (
        states,
        values,
        forms,
        [one.grad.tolist() if one.is_leaf and one.grad is not None else None for one in inputs],
    )


def check(function, make, backend):
    compiled = frontend.compile(function, backend=backend)
    for _ in range(2):
        assert call(compiled, *make()) == call(function, *make())


def leaf():
    return torch.nn.Parameter(torch.arange(6.0).reshape(2, 3).clone())


def leaf_that_is_a_view():
    return torch.arange(6.0).view(2, 3).requires_grad_()


def computed():
    return leaf() * 2


ORIGINS = pytest.mark.parametrize("origin", [leaf, leaf_that_is_a_view, computed])


def a_view(weight):
    with torch.no_grad():
        torch._dynamo.graph_break()
    return weight.view(3, 2)


def a_view_beside_a_value(weight):
    with torch.no_grad():
        torch._dynamo.graph_break()
    return weight * 2, weight[0]


def views_of_a_value(weight):
    with torch.no_grad():
        torch._dynamo.graph_break()
    value = weight * 2
    return value, value.view(-1), value[0]


def other_memory(weight):
    with torch.no_grad():
        weight[:, 1] += 1
        weight.data = torch.ones(2, 3)
    return weight.as_strided((2, 3), (3, 1))


def memory_of_another(weight):
    memory = torch.arange(6.0).view(2, 3)
    with torch.no_grad():
        weight.set_(memory)
    return weight.t()


@BACKENDS
@ORIGINS
@pytest.mark.parametrize("program", [a_view, a_view_beside_a_value, views_of_a_value])
def test_a_view_where_the_graph_begins_without_gradients(program, origin, backend):
    check(program, lambda: (origin(),), backend)


@BACKENDS
@pytest.mark.parametrize("program", [other_memory, memory_of_another])
def test_a_view_of_a_weight_that_was_given_other_memory(program, backend):
    check(program, lambda: (leaf(),), backend)


def value_of_a_view(weight):
    with torch.no_grad():
        view = weight.view(-1)
    return view * 2


def value_and_view(weight):
    with torch.no_grad():
        view = weight[0]
    return view * 2, view


def view_alone(weight):
    with torch.no_grad():
        view = weight.t()
    return view, weight * 3


def view_of_a_view(weight):
    with torch.no_grad():
        view = weight[0]
    return view[1:] * 2


@BACKENDS
@ORIGINS
@pytest.mark.parametrize("program", [value_of_a_view, value_and_view, view_alone, view_of_a_view])
def test_a_view_that_is_taken_without_gradients(program, origin, backend):
    check(program, lambda: (origin(),), backend)


def added(value, other):
    view = (value * 1).t()
    torch._foreach_add_([view], [other])
    return view


def multiplied(value, other):
    view = (value * 1).t()
    torch._foreach_mul_([view], [other])
    return view * 2


def one_row(value, other):
    result = value * 1
    row = result[0]
    torch._foreach_add_([row], [other[:, 0].contiguous()])
    return result, row


@BACKENDS
@pytest.mark.parametrize("program", [added, multiplied, one_row])
def test_an_operation_on_lists_that_writes_to_a_view(program, backend):
    check(program, lambda: (torch.ones(2, 3), torch.ones(3, 2, requires_grad=True)), backend)


@BACKENDS
def test_a_copy_to_a_list_says_where_it_has_no_derivative(backend):
    def program(value, other):
        view = (value * 1).t()
        torch._foreach_copy_([view], [other])
        return view

    result = frontend.compile(program, backend=backend)(
        torch.ones(2, 3), torch.ones(3, 2, requires_grad=True)
    )
    assert result.grad_fn is not None
    with pytest.raises(RuntimeError, match="derivative for _foreach_copy_ is not implemented"):
        result.sum().backward()


def longer(weight, value):
    with torch.no_grad():
        weight.unsqueeze_(0)
    return value * 2


def turned(weight, value):
    with torch.no_grad():
        weight.t_()
    return value * weight.sum()


@BACKENDS
@pytest.mark.parametrize("program", [longer, turned])
def test_a_leaf_that_gets_another_form(program, backend):
    check(program, lambda: (leaf(), torch.ones(3, requires_grad=True)), backend)


def of_rows(value):
    value.as_strided_((3,), (1,))
    return value + 1


def of_what_lies_behind(value):
    value.as_strided_((9,), (1,))
    return value + 1


@BACKENDS
@pytest.mark.parametrize("program", [of_rows, of_what_lies_behind])
@pytest.mark.parametrize(
    "make",
    [lambda base: base[1:2].expand(2, 3), lambda base: base[4:10].view(2, 3)],
    ids=["expanded", "in the midst"],
)
def test_an_input_that_takes_other_memory(program, make, backend):
    check(program, lambda: (make(torch.arange(24.0)),), backend)


def a_turned_one(value):
    result = value * 1
    result.T.add_(1)
    result.detach_()
    return value + 1, result


def a_flat_one(value):
    result = value * 1
    result.view(-1).mul_(2)
    result.detach_()
    return result


@BACKENDS
@pytest.mark.parametrize("program", [a_turned_one, a_flat_one])
def test_a_value_that_was_written_to_through_a_view_is_detached(program, backend):
    check(program, lambda: (torch.ones(2, 3, requires_grad=True),), backend)
