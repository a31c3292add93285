"""Optimizers that are told that they are compiled hand tensors to operations that take numbers: the sums are rounded as in eager."""

import pytest
import torch
from tests.end_to_end.support import check, check_source
from torch import nn

from framesmith import frontend


@pytest.mark.parametrize("work", ["addcdiv", "addcdiv_"])  # the kernel of addcmul fuses
@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_tensor_for_the_value_rounds_as_a_number(work, size):
    check_source(
        "import torch\nvalue = torch.tensor(-0.99999994)\n"
        f"def f(x, a, b): return x.clone().{work}(a, b, value=value)\n"
        f"def args():\n    torch.manual_seed(3)\n    return [torch.rand({size}) for _ in range(3)]\n",
        backward=False,
        breaks=0,
    )


@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
def test_a_number_that_nadam_multiplies_its_state_with_is_rounded_first(kind, each):
    report = check_source(
        "import torch\ntorch.manual_seed(1)\n"
        f"w = torch.randn(5, 3, dtype=torch.{kind}, requires_grad=True)\n"
        f"optimizer = torch.optim.NAdam([w], foreach={each})\n"
        "def f(x):\n    optimizer.zero_grad()\n    (x @ w).square().sum().backward()\n    optimizer.step()\n"
        "    return w.detach().clone(), optimizer.state[w]['mu_product'].clone()\n"
        f"def args(): return [torch.ones(2, 5, dtype=torch.{kind})]\n",
        calls=6,
        backward=False,
    )
    assert report.runs


EXACT = [
    ("Adam", True),
    ("AdamW", False),
    ("NAdam", True),
    ("NAdam", False),
    ("Adamax", True),
    ("Adamax", False),
    ("RAdam", False),
]


@pytest.mark.parametrize("rate", ["0.01", "torch.tensor(0.01)"])
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize(("name", "each"), EXACT)
def test_steps_are_those_of_eager_to_the_last_bit(name, each, kind, rate):
    if name in ("Adam", "AdamW") and each and "tensor" in rate:
        pytest.skip("torch refuses a tensor for the rate of its foreach form")
    report = check_source(
        "import torch\ntorch.manual_seed(1)\n"
        f"w, v = (torch.randn(5, 3, dtype=torch.{kind}, requires_grad=True) for _ in range(2))\n"
        f"optimizer = torch.optim.{name}([w, v], lr={rate}, foreach={each})\n"
        "def f(x):\n    optimizer.zero_grad()\n    (x @ w + x @ v).tanh().square().sum().backward()\n    optimizer.step()\n"
        "    return w.detach().clone(), v.detach().clone()\n"
        f"def args(): return [torch.ones(2, 5, dtype=torch.{kind})]\n",
        calls=5,
        backward=False,
    )
    assert report.runs


@pytest.mark.parametrize("name", ["Adam", "NAdam", "Adamax"])
def test_the_foreach_form_is_one_graph(name):
    torch.manual_seed(0)
    layer = torch.nn.Linear(2, 2)
    optimizer = getattr(torch.optim, name)(layer.parameters(), foreach=True)
    layer(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    frontend.compile(optimizer.step, backend="eager", fullgraph=True)()


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16", "float16", "int64", "bool"])
def test_a_tensor_without_dimensions_keeps_its_type_beside_such_a_number(kind):
    """Two tensors without dimensions are computed in the wider type, a tensor and a number are not."""
    check_source(
        "import torch\nfrom torch.optim.optimizer import _get_value\n"
        "def f(step, w):\n    n = 0.9 ** _get_value(step)\n    return w * n, n * w, w + n, w / n, n - w, w < n, w == n\n"
        f"def args(): return [torch.tensor(3.0), torch.tensor(7, dtype=torch.{kind})]\n",
        backward=False,
    )


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad])
@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_a_fused_step_runs_as_captured_or_not_at_all(kind, backend):
    model = nn.Linear(4, 2)
    optimizer = kind(model.parameters(), lr=0.1, fused=True)

    def f(model, optimizer, x):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    report = check(f, model, optimizer, torch.randn(3, 4), backend=backend, tolerance=1e-6)
    assert bool(report.breaks) == (backend is not None)


@pytest.mark.parametrize("exponent", ["2.0", "3.0", "0.5", "-1.0", "2.5"])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_tensor_and_such_a_number_round_as_with_a_number(kind, exponent):
    """Kernels for a number have shortcuts for some powers; a number is divided by a tensor by its reciprocal."""
    check_source(
        "import torch\nfrom torch.optim.optimizer import _get_value\n"
        "def f(step, w, x):\n    n = _get_value(step)\n    return w ** n, x ** n, n / w, n / x, n ** w, n ** x, n % w, n // x\n"
        f"def args():\n    torch.manual_seed(1)\n"
        f"    return torch.tensor({exponent}), torch.tensor(0.7, dtype=torch.{kind}), torch.rand(50, dtype=torch.{kind})\n",
        backward=False,
    )


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_betas_that_are_tensors(name):
    check_source(
        "import torch\ntorch.manual_seed(1)\nw = torch.randn(5, 3, requires_grad=True)\n"
        f"optimizer = torch.optim.{name}([w], torch.tensor(0.01), betas=(torch.tensor(0.9), torch.tensor(0.999)), foreach=False)\n"
        "def f(x):\n    optimizer.zero_grad()\n    (x @ w).tanh().square().sum().backward()\n    optimizer.step()\n"
        "    return w.detach().clone()\n"
        "def args(): return [torch.ones(2, 5)]\n",
        calls=20,
        backward=False,
        breaks=0,
    )


@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize("name", ["Adam", "NAdam", "Adamax", "RAdam", "ASGD"])
@pytest.mark.parametrize("rate", ["numpy.float32(0.1)", "numpy.float64(0.1)", "Rate(0.1)"])
def test_a_rate_that_is_no_plain_float_is_computed_in_its_own_type(rate, name, each):
    report = check_source(
        "import numpy, torch\ntorch.manual_seed(1)\nclass Rate(float): pass\n"
        "w = torch.tensor([0.25, -0.7], dtype=torch.float64, requires_grad=True)\n"
        f"optimizer = torch.optim.{name}([w], lr={rate}, foreach={each})\n"
        "def f(x):\n    w.grad = x.sin()\n    optimizer.step()\n"
        "    return w.detach().clone(), [t.clone() if isinstance(t, torch.Tensor) else t for t in optimizer.state[w].values()]\n"
        "def args(): return [torch.ones(2, dtype=torch.float64)]\n",
        calls=4,
        backward=False,
    )
    assert report.runs


@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adamax", "RAdam"])
@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_a_number_of_steps_that_is_an_integer(name, backend):
    check_source(
        "import torch\ntorch.manual_seed(1)\nw = torch.randn(3, requires_grad=True)\n"
        f"optimizer = torch.optim.{name}([w], lr=0.1, foreach=False)\n"
        "def f(x):\n    w.grad = x.sin()\n    optimizer.step()\n"
        "    return w.detach().clone(), optimizer.state[w]['step'].clone()\n"
        "def args(): return [torch.ones(3)]\n"
        "f(*args())\noptimizer.state[w]['step'] = optimizer.state[w]['step'].long()\n",
        calls=4,
        backward=False,
        backend=backend,
    )
