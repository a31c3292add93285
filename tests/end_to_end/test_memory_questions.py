"""`Tensor._version` and equality of `Tensor.data_ptr()`: known while tracing where the operations say it."""

import pytest
from tests.end_to_end.support import check_source

HEAD = """
import torch
import torch.nn.functional as F
def args():
    return (torch.arange(12.0).reshape(3, 4),)
"""
VERSIONS = [
    "y = x.clone(); y.add_(1); return y * y._version, y._version",
    "y = x * 2; a = y._version; y.mul_(2); y[0] = 1; y[y > 3] = 0; return y, a, y._version",
    "y = x * 2; y += x; y -= 1; y *= y; return y, y._version",
    "y = x * 2; z = y[0]; z.add_(1); y.t().mul_(2); return y, y._version, z._version, y.detach()._version",
    "y = torch.zeros(3); torch.add(y, 1, out=y); y.detach().add_(1); return y, y._version, y.data._version",
    "y = x.clone(); return [y.add_(1) for _ in range(y._version + 3)][-1], y._version",
    "y = torch.relu(x) + 1\n    if y._version == 0: y.add_(1)\n    return y, y._version",
    "a, b = x.clone(), x.clone(); torch._foreach_add_([a, b], 1); torch._foreach_mul_([a], 2); return a, b, a._version, b._version",
]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("body", VERSIONS[:4])
def test_the_version_of_a_new_tensor_is_known(body, backend):
    check_source(f"{HEAD}def f(x):\n    {body}\n", backend=backend, breaks=0)


@pytest.mark.parametrize("body", VERSIONS)
def test_versions_are_those_of_eager(body):
    check_source(f"{HEAD}def f(x):\n    {body}\n")


@pytest.mark.parametrize(
    "body",
    [
        "a = F.one_hot(x.long() % 3, 3); return a, a._version",
        "a = F.layer_norm(x, (4,)); a.add_(1); return a, a._version",
        "a = torch.einsum('ij,kj->ik', x, x); return a, a._version",
        "a = x.clone().requires_grad_(); (a * 2).sum().backward(); (a * 3).sum().backward(); return a.grad, a.grad._version, a._version",
        "a = torch.empty(0); a.resize_(2).fill_(1); return a, a._version",
        "a = x.view(-1); a.add_(1); return a, a._version, x._version",
    ],
)
def test_what_is_composed_of_others_is_asked_at_run_time(body):
    check_source(f"{HEAD}def f(x):\n    {body}\n")


def test_the_version_of_an_argument_is_read_in_each_call():
    check_source(
        f"{HEAD}def f(x):\n    before = x._version; x.add_(1); x[0] = 2; return x, before, x._version, x._version - before\n",
        calls=5,
        change=lambda x: None,
        breaks=0,
    )
    check_source(
        f"{HEAD}def f(x):\n    return x * 2, x._version\n",
        calls=6,
        change=lambda x: x.add_(1),
        breaks=0,
        graphs=2,
    )


def test_the_version_of_memory_with_two_names():
    check_source(
        """
import torch
def f(x, y):
    a = x._version; y.add_(1); b = x._version; x.mul_(2)
    return a, b, y._version, x._version, x + y
def args():
    x = torch.ones(4)
    return x, x.view(2, 2)[0]
"""
    )
    for body in (
        "x[0] = 1; return x._version, y._version",
        "y.add_(x); x[0] = 1; return y._version, x._version, x + y",
    ):
        check_source(
            f"import torch\ndef f(x, y):\n    {body}\ndef args():\n    x = torch.ones(4)\n    return x, x.view(4)\n"
        )


POINTERS = [
    "x.data_ptr() == x.data_ptr(), x.data_ptr() != x.data_ptr()",
    "x.data_ptr() == x.view(-1).data_ptr(), x.data_ptr() == x[1:].data_ptr(), x[1:].data_ptr() == x[1].data_ptr()",
    "x.contiguous().data_ptr() == x.data_ptr(), x.t().data_ptr() == x.data_ptr(), x.to(x.dtype).data_ptr() == x.data_ptr()",
    "(lambda y: (y[0].data_ptr() == y.data_ptr(), y.mul_(2).data_ptr() == y.data_ptr()))(x * 2)",
]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("pointers", POINTERS)
def test_pointers_into_one_memory_are_compared(pointers, backend):
    check_source(f"{HEAD}def f(x):\n    return x + 1, {pointers}\n", backend=backend, breaks=0)


@pytest.mark.parametrize(
    "expression",
    [
        "x.data_ptr() == x.clone().data_ptr()",
        "x.data_ptr() % x.element_size(), x.data_ptr() > 0, bool(x.data_ptr())",
        "len({x.data_ptr(), x.view(-1).data_ptr()}), x.data_ptr() in [x.t().data_ptr()]",
        "x[1].data_ptr() - x[0].data_ptr(), x[:0].data_ptr(), x[:0].data_ptr() == x[:0].view(-1).data_ptr()",
        "x.data_ptr() == 'a', x.data_ptr() == None",
        "(lambda p: x.data_ptr() == p)(x.data_ptr())",
    ],
)
def test_other_questions_about_pointers_give_what_eager_gives(expression):
    check_source(f"{HEAD}def f(x):\n    return x + 1, {expression}\n")


def test_a_pointer_that_is_kept_is_that_of_the_memory():
    check_source(
        HEAD
        + """
kept = []
def f(x):
    y = x * 2
    kept.append((x.data_ptr(), y.data_ptr()))
    kept.append((x, y))
    (p, q), (x, y) = kept
    kept.clear()
    return p == x.data_ptr(), q == y.data_ptr(), y
""",
    )
    check_source(
        HEAD
        + "def f(x):\n    y = x * 2\n    p = y.data_ptr()\n    print(x.sum())\n    return y, p == y.data_ptr()\n"
    )
