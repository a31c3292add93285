"""Arrays of numpy in a graph: functions, methods, in-place, scalars, memory that tensors and arrays share."""

import warnings

import numpy as np
import pytest
import torch
from tests.end_to_end.support import check, check_source

from framesmith import frontend

A = np.linspace(-1, 2, 12).reshape(3, 4)
X = torch.randn(3, 4)


def grow(*args):
    """Other numbers in place; every other call sizes 1 and 0."""
    for value in args:
        if isinstance(value, np.ndarray):
            value += 1
        elif isinstance(value, torch.Tensor):
            value.data.add_(1)


EXPRESSIONS = [
    "np.exp(a) + np.sin(a) * 2", "a.mean()", "a.sum(axis=0)", "np.sum(a * 2, axis=1, keepdims=True)", "a.T @ a",
    "a.reshape(-1)[::2]", "a[1:, :2]", "a[..., None].shape", "a[[0, 0]]", "np.where(a > 0, a, 0)", "a.astype(np.float32)",
    "a.std(), a.var(axis=0)", "np.clip(a, 0, 1)", "np.concatenate([a, a], axis=1)", "np.stack([a, -a])", "a.cumsum(axis=1)",
    "a.argmax(axis=1)", "a.max(), a.min(), a.ptp() if False else 0", "(a > 0).any(), (a > 9).all()", "np.linalg.norm(a)",
    "np.einsum('ij,kj->ik', a, a)", "a.ndim, a.size, a.dtype == np.float64, a.itemsize", "a.flatten().copy()",
    "np.meshgrid(np.arange(a.shape[0]), np.arange(a.shape[1]), indexing='ij')", "a / a.sum(axis=1, keepdims=True)",
    "2 ** a, a // 2, a % 2, -a, a == a, a != 1, 1 - a", "np.zeros_like(a), np.ones((2, a.shape[1]))", "a.swapaxes(0, 1)",
    "np.dot(a[0], a[1])", "np.arange(3) * 2", "np.linspace(0, 0.3, 3)", "np.triu(np.ones((3, 3)), k=1).astype('uint8')",
    "np.maximum(a, 0.5), np.floor(a), np.round(a, 1)", "np.array([1, 2]).tolist()", "np.argsort(a, axis=0)", "a.squeeze()",
    "np.expand_dims(a, 0), np.tile(a, (2, 1)), np.repeat(a, 2, axis=0)", "np.float32(2) * a, a * np.float64(3)",
    "a.dtype, np.finfo(np.float32).eps, np.iinfo(np.int32).max, np.dtype('int64')", "len(a), [row.sum() for row in a]",
    "np.split(a, 2, axis=1)", "np.isnan(a).sum(), np.logical_and(a > 0, a < 1)", "a.transpose(1, 0).flags if False else 0",
    "np.outer(a[0], a[1]), np.cross(a[0, :3], a[1, :3])", "np.broadcast_to(a, (2, *a.shape)).sum()",
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.parametrize("kind", ["float64", "float32", "int64"])
def test_an_expression_on_arrays_is_as_in_numpy(text: str, kind: str) -> None:
    source = f"""
import numpy as np, torch
def f(a):
    return {text}
def args():
    return (np.linspace(-3, 8, 12).reshape(3, 4).astype("{kind}"),)
"""
    check_source(source, change=grow)


@pytest.mark.parametrize("shape", [(1, 4), (0, 4), (2, 4)])
def test_sizes_change(shape: tuple[int, ...]) -> None:
    def f(a):
        b = np.exp(a) * 2
        return b, b.sum(axis=0), b.mean() if a.shape[0] else None, a.T

    def change(box):
        box[0] = np.ones(shape)

    check(lambda box: f(box[0]), [A.copy()], change=change, breaks=0)


def test_arrays_are_changed_in_place() -> None:
    def f(a):
        b = a.copy()
        b[0] = 5
        b += 1
        b[:, 1] *= 2
        b[b.shape[0] - 1, 0] -= 1
        np.clip(b, 0, 3, out=b)
        return b

    check(f, A.copy(), change=grow, breaks=0)


def test_an_argument_is_changed_in_place() -> None:
    def f(a):
        view = a[1:]
        a += 1
        view[0] = 0
        a[:, 0] = a[:, 1]
        return a, a.sum()

    check(f, A.copy(), change=grow, breaks=0)


def test_tensors_and_arrays_share_memory() -> None:
    def f(x):
        a = x.numpy()
        a[0] = 7
        y = torch.from_numpy(a)
        y[1] = 8
        row = a[2]
        row += 1
        return x + 0, a, y * 2, torch.tensor(a), torch.as_tensor(a, dtype=torch.float64)

    check(f, X.clone(), change=grow, breaks=0)


def test_a_copy_shares_nothing() -> None:
    def f(a):
        first, single = a.astype(a.dtype), a[0, 0] * 1
        text = a.flatten()
        a += 1
        return first, single, text, a.reshape(-1)

    check(f, A.copy(), change=grow, breaks=0)


def test_scalars_have_the_types_of_numpy() -> None:
    def f(a):
        total = a.sum()
        return (
            total,
            type(total) is np.float64,
            a.argmax(),
            (a > 0).sum(),
            a.mean(dtype=np.float32),
            np.sqrt(2.0),
        )

    check(f, A.copy(), change=grow, breaks=0)


def test_a_condition_on_an_array_is_one_break() -> None:
    def f(a):
        if (a > 1.5).any():
            return a * 2
        return a - 1

    check(f, A.copy(), change=grow, breaks=1)


GRID = np.array([[10, 13], [16, 30]], dtype=np.float32)


def test_arrays_of_globals_and_attributes_are_read_in_each_call() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mean = np.array([1.0, 2.0])
            self.stride = np.array([8, 16])

        def forward(self, x):
            return x * torch.from_numpy(GRID), x - torch.tensor(self.mean), x * int(self.stride[0])

    model = Model()

    def change(x):
        model.mean[1] += 1

    check(lambda x: model(x), torch.ones(2, 2), change=change, breaks=0)


def test_positions_are_embedded() -> None:
    def f(x):
        omega = np.arange(4, dtype=np.float64)
        omega /= 4.0
        omega = 1.0 / 10000**omega
        out = np.einsum("m,d->md", np.arange(x.shape[1], dtype=np.float32).reshape(-1), omega)
        return x + torch.from_numpy(np.concatenate([np.sin(out), np.cos(out)], axis=1)).float()

    check(f, torch.randn(2, 3, 8), breaks=0)


def test_rates_from_an_array_are_numbers() -> None:
    def f(x):
        for rate in np.linspace(0, 0.3, 3):
            x = x * (1 - float(rate))
        return x

    check(f, X, breaks=0)


@pytest.mark.parametrize(
    "text",
    [
        "np.array([1, 2]) + np.array([1, 2, 3])",
        "a[np.array([0, 7])]",
        "np.take(a, (a[0] * 9).astype(int))", "np.linalg.inv(np.zeros((2, 2)))", "a[9]", "a.reshape(5)", "a.nothing",
        "np.log(np.array([0.0]))", "len(np.array(1))", "a @ a", "np.array(['a'])", "np.array([object()]).dtype", "bool(a)",
        "a.astype('U3')", "np.concatenate([a, [1]])", "np.arange(3)[True]", "x.requires_grad_().numpy()",
        "torch.ones(2, dtype=torch.bfloat16).numpy()",
    ],
)  # fmt: skip
def test_what_numpy_refuses_or_torch_lacks_is_as_in_eager(text: str) -> None:
    source = f"""
import numpy as np, torch, warnings
def f(a, x):
    with np.errstate(all="ignore"):
        try:
            return {text}
        except Exception as error:
            return type(error), str(error)
def args():
    return np.ones((3, 4)), torch.ones(2)
"""
    check_source(source, change=grow)


@pytest.mark.parametrize(
    "layout", ["a.T", "a[::-1]", "a[:, ::2]", "a[1]", "np.asfortranarray(a)", "a[:0]", "a[1, 1:2]"]
)
def test_arrays_of_other_layouts(layout: str) -> None:
    source = f"""
import warnings

import numpy as np
def f(a):
    b = np.exp(a) + 1
    return b, b.sum(), a.copy(), a.ravel(), a.shape
def args():
    a = np.linspace(0, 1, 12).reshape(3, 4)
    return ({layout},)
"""
    check_source(source, change=grow)


def test_an_array_that_must_not_be_written_is_read() -> None:
    a = A.copy()
    a.flags.writeable = False
    check(lambda a: (a.sum(), a.shape, a[0, 0]), a)


def test_a_read_only_array_in_a_later_call_is_seen() -> None:
    def change(box):
        box[0] = box[0].copy()
        box[0].flags.writeable = False

    check(lambda box: (box[0] * 2).sum(), [A.copy()], change=change)


@pytest.mark.parametrize("backend", ["aot_eager"])
def test_another_backend_gives_the_same(backend: str) -> None:
    def f(a, x):
        b = a * 2
        b[0] = 1
        c = x.numpy()
        c += 1
        return b, b.sum(axis=0), c, torch.from_numpy(b) + 1

    check(f, A.copy(), X.clone(), backend=backend, change=grow)


def test_a_write_to_an_argument_is_right_with_another_backend() -> None:
    def f(a, b):
        a += 1
        return a + b

    base = A.copy()
    check(f, base[:2], base[1:], backend="aot_eager", change=grow)


@pytest.mark.parametrize(
    "scalar", ["float32(2)", "float64(2)", "int64(3)", "float16(2)", "bool_(True)", "uint8(200)"]
)
@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "//", "%", "**", "&", "<", "@"])
def test_a_scalar_of_numpy_before_an_array(scalar, symbol):
    program = eval(f"lambda x: np.{scalar} {symbol} x.numpy()", {"np": np})

    def run(function, x):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = function(x.clone())
        except Exception as error:
            return type(error)
        return type(result), result.dtype, result.tolist()

    for dtype in (torch.float32, torch.int64, torch.bool):
        compiled, x = frontend.compile(program, backend="eager"), torch.tensor([[1, 2], [3, 0]]).to(dtype)
        expected = run(program, x)
        assert [str(run(compiled, x)) for _ in range(2)] == [str(expected)] * 2


@pytest.mark.parametrize("symbol", [">", "<", ">=", "<=", "==", "!="])
@pytest.mark.parametrize("number", ["300", "-1", "256", "np.int64(-2)", "0", "n"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int64])
def test_comparisons_with_numbers_that_the_type_does_not_hold(dtype, number, symbol):
    program = eval(f"lambda x, n: (x.numpy() {symbol} {number}, {number} {symbol} x.numpy())", {"np": np})
    compiled, x = frontend.compile(program, backend="eager"), torch.tensor([-6, 0, 100]).to(dtype)
    for n in (5, 300, -1, 7):
        expected, found = program(x, n), compiled(x, n)
        assert [one.tolist() for one in found] == [one.tolist() for one in expected]


@pytest.mark.parametrize(
    "text", ["a % 3", "a % b", "np.mod(a, b)", "np.remainder(a, -2)", "divmod(a, b)", "inplace(a, b)"]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_remainders_have_the_zeros_of_numpy(dtype, text):
    def inplace(a, b):
        a %= b
        a //= np.float32(0.1)
        return a

    program = eval(
        f"lambda x, y: (lambda a, b: {text})(x.numpy(), y.numpy())", {"np": np, "inplace": inplace}
    )
    x, y = torch.tensor([-0.0, -4.0, 4.0, 1.0]).to(dtype), torch.tensor([3.0, 2.0, -2.0, 0.3]).to(dtype)
    expected = program(x.clone(), y)
    compiled = frontend.compile(program, backend="eager")
    for _ in range(2):
        found = compiled(x.clone(), y)
        for left, right in zip(np.atleast_2d(expected), np.atleast_2d(found)):
            assert left.tobytes() == right.tobytes()


@pytest.mark.parametrize(
    "text",
    [
        "np.array([1, 2, 3]) // n",
        "n - np.arange(3)",
        "np.array([1, 2, 3])[:n]",
        "np.array([1, 2, 3])[[n % 3, 0]]",
        "np.full(3, n)",
        "np.arange(n)",
        "np.array([n, 1]) * 2",
        "np.clip(np.array([1, 5]), 0, n)",
        "np.arange(x.shape[0] + 1) * x.shape[0]",
    ],
)
def test_known_arrays_with_numbers_that_change(text):
    program = eval(f"lambda x, n: {text}", {"np": np})
    compiled = frontend.compile(program, backend="eager")
    for n in (8, 2, 1, 5, 3, 4):
        expected, found = program(torch.ones(n), n), compiled(torch.ones(n), n)
        assert (found.tolist(), found.dtype) == (expected.tolist(), expected.dtype)


ORDERS = {
    "columns first": "np.asfortranarray(np.arange(6.0).reshape(2, 3))",
    "transposed": "np.arange(24, dtype=np.int32).reshape(2, 3, 4).transpose(2, 0, 1)",
    "with gaps": "np.arange(24.0).reshape(4, 6)[::2, ::3]",
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", ORDERS)
def test_a_tensor_made_of_an_array_has_the_strides_that_eager_gives(name, backend):
    def made(a):
        return (
            torch.tensor(a),
            torch.tensor(a, dtype=torch.float16),
            torch.asarray(a, copy=True),
            torch.Tensor(a),
        )

    array = eval(ORDERS[name])
    expected, found = made(array), frontend.compile(made, backend=backend)(array)
    assert [(one.stride(), one.dtype) for one in found] == [(one.stride(), one.dtype) for one in expected]
