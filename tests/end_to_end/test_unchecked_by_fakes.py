"""What eager refuses and fake tensors take: writes to memory that several elements share,
a bool for a factor, dtypes without a kernel."""

import re

import pytest
import torch
from tests.end_to_end.support import check_source
from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.operations.missing_kernels import FOR_EVERY_DTYPE, may_be_refused

HEAD = """
import torch
log = []
def args(): return [torch.ones(1), torch.arange(4.0)]
def attempt(run):
    try:
        return run()
    except Exception as error:
        log.append((type(error).__name__, str(error)[:60]))
"""
PROGRAMS = {
    "an expanded tensor, in place": "attempt(lambda: x.detach().expand(3).add_(1))",
    "a view of it": "attempt(lambda: x.expand(3)[1:].mul_(2))",
    "stored into": "e = x.expand(3)\n    attempt(lambda: e.__setitem__(slice(None), 1))",
    "out=": "attempt(lambda: torch.add(y[:3], 1, out=x.expand(3)))",
    "behind a write": "y.unsqueeze_(0).squeeze_(0)\n    attempt(lambda: x.expand(y.shape[0]).add_(1))",
    "of one element": "attempt(lambda: x.expand(1).add_(1))",
    "only read": "attempt(lambda: y.add_(x.expand(4)))",
    "an unused sum with a bool": "attempt(lambda: (torch.add(y, y, alpha=True), log.append(1)))",
    "a method with a bool": "attempt(lambda: (y.sub_(y, alpha=True), log.append(1)))",
    "an unused relu of a bool": "attempt(lambda: ((y > 1).relu(), log.append(1)))",
    "two, of which the first is overwritten": "h = (y > 1).relu\n    attempt(lambda: [log.append(h()) for _ in range(2)])",
    "an unused softmax of integers": "attempt(lambda: (torch.arange(3).softmax(0), log.append(1)))",
    "in a generator, behind a read": "log.append(y.sum())\n    attempt(lambda: [y.long().softmax(0) for _ in range(2)][0].sum() and log.append(1))",
    "an unused mean of integers": "attempt(lambda: (torch.arange(3).mean(), log.append(1)))",
    "a product with a bool": "attempt(lambda: torch.addmm(y[:2], y.view(2, 2), y.view(2, 2), beta=True))",
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_raises_as_eagerly(program: str, dynamic: bool | None) -> None:
    source = f"{HEAD}def f(x, y):\n    {PROGRAMS[program]}\n    return x, y, log\n"
    check_source(source, options={"dynamic": dynamic})


INTEGERS = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
OTHERS = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128]


@pytest.mark.parametrize("dtype", [*INTEGERS, *OTHERS])
def test_what_may_be_dropped_has_a_kernel(dtype: torch.dtype) -> None:
    values, tried = torch.ones(2, 2, dtype=dtype), []
    for name in sorted(FOR_EVERY_DTYPE & set(dir(torch.Tensor))):
        for operands in ((), (values,), (0,), ([values],)):
            node = fx.Graph().placeholder("x")
            node.meta[EXAMPLE] = values
            if may_be_refused(node.graph.call_method(name, (node,))):
                continue
            method = getattr(values.clone(), name)
            try:
                method(*operands)
                tried.append(name)
            except NotImplementedError as error:
                pytest.fail(f"{name}: {error}")
            except (TypeError, RuntimeError, IndexError, ValueError) as error:
                assert not re.search("not (implemented|supported)|does not support", str(error)), name
    assert len(set(tried)) > 80


REFUSED = {
    "bits of floats": "torch.bitwise_and(y, y)",
    "bits of floats by an operator": "y | y",
    "a common divisor of floats": "torch.gcd(y, y)",
    "the order of complex numbers": "y.to(torch.complex64) < 1",
    "a sort of complex numbers": "y.to(torch.complex64).sort()",
    "the largest complex number": "y.to(torch.complex64).max()",
    "bits of half precision": "~y.half()",
    "a number shifted by floats": "1 << y",
}


@pytest.mark.parametrize("program", REFUSED)
def test_an_unused_operation_without_a_kernel_raises(program: str) -> None:
    source = f"{HEAD}def f(x, y):\n    attempt(lambda: ({REFUSED[program]}, log.append(1)))\n    return x, y, log\n"
    check_source(source)


@pytest.mark.parametrize("sizes", [(0, 1), (1, 0), (0, 2), (0, 0), (2, 1)])
@pytest.mark.parametrize("read", ["o.stride()", "o.diagonal().stride(0)", "(o.t() + x).dim_order()"])
def test_strides_without_elements_are_those_of_the_kernel(sizes, read) -> None:
    """Fakes compute other strides where no element shows them."""
    source = "def f(x, y):\n    o = torch.outer(x, y)\n    return " + read
    args = f"import torch\ndef args(): return [torch.ones({sizes[0]}), torch.ones({sizes[1]})]\n"
    check_source(args + source)
