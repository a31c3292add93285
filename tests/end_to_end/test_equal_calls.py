"""Two equal calls give two tensors, also where a backend makes a graph of its own for the backward pass: one is written to later."""

import pytest
import torch
from tests.end_to_end.support import check
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from framesmith import frontend

X = torch.arange(16.0).reshape(4, 4).sin()


def one_form(x):
    return functional.layer_norm(x, (4,)), functional.layer_norm(x, (4,))


def two_forms(x):
    return x.max(1)[0], torch.max(x, dim=1)[0], x.topk(2).values, x.topk(2).values


def needed_by_the_backward_pass(x):
    return functional.layer_norm(x, (4,)), functional.layer_norm(x, (4,)) * x


def of_a_detached_tensor(x):
    return functional.layer_norm(x, (4,)), functional.layer_norm(x.detach(), (4,))


def of_views(x):
    return functional.layer_norm(x.view(16).view(4, 4), (4,)), functional.layer_norm(
        x.reshape(2, 8).view(4, 4), (4,)
    )


def of_made_targets(x):
    return functional.cross_entropy(x, torch.arange(4)), functional.cross_entropy(x, torch.arange(4))


def in_a_checkpoint(x):
    return functional.layer_norm(x, (4,)), checkpoint(
        lambda one: functional.layer_norm(one, (4,)), x, use_reentrant=False
    )


def positions(x):
    return x.sort(), x.sort()


PROGRAMS = (
    one_form, two_forms, needed_by_the_backward_pass, of_a_detached_tensor, of_views, of_made_targets, in_a_checkpoint, positions,
)  # fmt: skip


def results(function, x):
    def tensors(value):
        return (
            [value]
            if isinstance(value, torch.Tensor)
            else [tensor for one in value for tensor in tensors(one)]
        )

    weight = x.clone().requires_grad_()
    values = tensors(function(weight * 1))
    with torch.no_grad():
        values[0].detach().add_(5)
    sum(value.sum() for value in values).backward()
    return [*(value.detach() for value in values), weight.grad]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_write_to_one_result_leaves_the_other(program):
    torch.testing.assert_close(
        results(frontend.compile(program, backend="aot_eager"), X), results(program, X), rtol=0, atol=0
    )


def test_equal_results_are_as_in_eager_without_gradients():
    check(lambda x: (x.max(1), x.max(1)), X, backend="aot_eager")


def test_calls_are_merged_where_no_result_is_one_of_them():
    merged = []

    def backend(module, examples):
        merged.append(torch._functorch.config.cse)
        return module.forward

    weight = X.clone().requires_grad_()
    frontend.compile(lambda x: x.exp().sum() + x.exp().sum(), backend=backend)(weight)
    frontend.compile(lambda x: (x.exp(), x.exp()), backend=backend)(weight)
    assert merged == [True, False] and torch._functorch.config.cse
