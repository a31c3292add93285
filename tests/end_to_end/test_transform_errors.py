"""What `torch.func` and `torch.vmap` refuse, they refuse as in eager: the same error, no warning, nothing printed."""

import warnings
from collections.abc import Callable

import pytest
import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

from framesmith import frontend

X, NUMBERS, ROWS, OTHERS = torch.tensor([1.0, 2.0]), torch.tensor([1, 2]), torch.ones(3, 2), torch.ones(4, 2)


def total(x: torch.Tensor) -> torch.Tensor:
    return (x * x).sum()


def square(x: torch.Tensor) -> torch.Tensor:
    return x * x


def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x * y).sum()


CALLS: dict[str, Callable[[], object]] = {
    "grad of integers": lambda: grad(total)(NUMBERS),
    "grad of bools": lambda: grad(total)(NUMBERS > 1),
    "grad of a dict with integers": lambda: grad(lambda d: total(d["a"]))({"a": X, "b": NUMBERS}),
    "grad of the second argument": lambda: grad(product, argnums=1)(X, NUMBERS),
    "grad of a grad": lambda: grad(grad(total))(NUMBERS[0]),
    "grad of no tensor": lambda: grad(total)(3.0),
    "grad of a missing argument": lambda: grad(total, argnums=1)(X),
    "grad of a vector": lambda: grad(square)(X),
    "vjp of integers": lambda: vjp(square, NUMBERS),
    "vjp with another size": lambda: vjp(square, X)[1](torch.ones(3)),
    "jvp of integers": lambda: jvp(square, (NUMBERS,), (NUMBERS,)),
    "jvp with another size": lambda: jvp(square, (X,), (torch.ones(3),)),
    "jvp without tensors": lambda: jvp(square, (), ()),
    "jacrev of integers": lambda: jacrev(square)(NUMBERS),
    "jacrev of both": lambda: jacrev(product, argnums=(0, 1))(X, NUMBERS),
    "jacfwd of integers": lambda: jacfwd(square)(NUMBERS),
    "hessian of integers": lambda: hessian(total)(NUMBERS),
    "hessian of no tensor": lambda: hessian(total)(3.0),
    "vmap of grad of integers": lambda: vmap(grad(total))(NUMBERS[:, None]),
    "vmap of a wrong dimension": lambda: vmap(square, in_dims=5)(ROWS),
    "vmap of two sizes": lambda: vmap(product)(ROWS, OTHERS),
    "vmap of no dimension": lambda: vmap(square, in_dims=None)(ROWS),
    "vmap of no tensor": lambda: vmap(square)(3.0),
    "vmap to a wrong dimension": lambda: vmap(square, out_dims=3)(ROWS),
    "vmap to too many": lambda: vmap(square, out_dims=(0, 1))(ROWS),
    "vmap to too few": lambda: vmap(lambda x: (x, x), out_dims=(0,))(ROWS),
    "vmap to a number": lambda: vmap(lambda x: 3.0)(ROWS),
    "vmap of random numbers": lambda: vmap(lambda x: x + torch.rand(2))(ROWS),
}


def _outcome(call: Callable[[], object], capsys: pytest.CaptureFixture[str]) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=r".*torch\.jit")  # torch's own, once
        with pytest.raises(Exception) as caught:
            call()
    return type(caught.value), str(caught.value), tuple(capsys.readouterr())


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", CALLS)
def test_an_error_is_that_of_eager(name: str, backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    compiled = frontend.compile(CALLS[name], backend=backend)
    assert _outcome(compiled, capsys) == _outcome(CALLS[name], capsys)


def test_a_part_of_integers_that_is_not_differentiated_costs_no_break() -> None:
    def f(x: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        return grad(product)(x, numbers)

    assert torch.equal(frontend.compile(f, backend="eager", fullgraph=True)(X, NUMBERS), f(X, NUMBERS))
