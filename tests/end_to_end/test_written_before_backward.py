"""The caller writes to an input or a weight between the two passes, past what autograd sees or not: eager goes on with what it kept."""

import pytest
import torch
from torch._functorch.aot_autograd import aot_module_simplified, make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.nn import functional

from framesmith import frontend


def mean(x, w):
    return (w - w.mean()).pow(2)


def copy_of_another_dtype(x, w):
    return w.double() * x.double()


def copy(x, w):
    return w.clone() * x


def scaled(x, w):
    return x * (w * 2)


def compared(x, w):
    return (w > 0.5).float() * w * x


def activated(x, w):
    return functional.silu(w) * x


def chain(x, w):
    return (x * w.exp()).sin() * w


def through_a_view(x, w):
    return w.view(-1) * x.view(-1)


def product_of_matrices(x, w):
    return ((x @ w).relu() @ w.t()).softmax(-1)


def normalized(x, w):
    return functional.layer_norm(x, (3,), w[0], w[1])


PROGRAMS = (
    mean, copy_of_another_dtype, copy, scaled, compared, activated, chain, through_a_view, product_of_matrices, normalized,
)  # fmt: skip


def write_data(x, w):
    w.data.mul_(2)


def write_data_of_the_input(x, w):
    x.data.mul_(2)


@torch.no_grad
def write_without_gradients(x, w):
    w.mul_(2)


def gradients(function, write):
    x = torch.linspace(0.1, 1, 9).reshape(3, 3).requires_grad_()
    w = torch.linspace(0.2, 0.9, 9).reshape(3, 3).requires_grad_()
    y = function(x, w)
    write(x, w)
    try:
        y.sum().backward()
    except RuntimeError as error:
        return str(error)[:60]
    return [y.detach(), x.grad, w.grad]


def backend_of_the_user():
    """A new one each time: that it replaces operations is found out when it compiles its first graph."""

    def backend(module, examples):
        def compiler(graph, given):
            return make_boxed_func(graph.forward)

        return aot_module_simplified(
            module,
            examples,
            fw_compiler=compiler,
            bw_compiler=compiler,
            partition_fn=min_cut_rematerialization_partition,
        )

    return backend


@pytest.mark.parametrize("made", [lambda: "aot_eager", backend_of_the_user], ids=["named", "of the user"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("write", [write_data, write_data_of_the_input, write_without_gradients])
def test_gradients_after_a_write(program, write, made):
    compiled = frontend.compile(program, backend=made())
    for _ in range(2):
        expected, found = gradients(program, write), gradients(compiled, write)
        if isinstance(expected, str):
            assert found == expected
        else:
            torch.testing.assert_close(found, expected)
