"""Tensors: methods and attributes, views and aliasing, in-place changes, indexing, random numbers, data-dependent values."""

import random
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.end_to_end.support import check, check_source

X = torch.tensor([-1.5, 0.25, 2.0])
M = torch.arange(12.0).reshape(3, 4)

OPERATIONS = {
    "reductions": lambda m: (m.sum(), m.mean(0), m.max(dim=1), m.argmax(), m.std(), m.prod(1), m.amax(), torch.logsumexp(m, 0)),
    "shapes": lambda m: (m.shape, m.size(), m.size(0), m.dim(), m.ndim, m.numel(), m.stride(), len(m), m.T, m.mT, m.shape[-1] * 2),
    "views": lambda m: (m.view(-1), m.reshape(4, 3), m.t(), m.permute(1, 0), m[None], m.unsqueeze(1).squeeze(1), m.flatten(), m.expand(2, 3, 4), m.narrow(0, 1, 2)),
    "indexing": lambda m: (m[0], m[-1, 1:3], m[:, ::2], m[..., None], m[m > 3], m[[0, 2]], m[torch.tensor([1, 0])], m[1:, [0, 1]], m[True]),
    "joining": lambda m: (torch.cat([m, m]), torch.stack((m, m), 1), m.split(2, 1), m.chunk(2), torch.hstack([m, m]), m.unbind(0)),
    "types": lambda m: (m.double(), m.to(torch.int64), m.dtype, m.float() is m, m.to(m.dtype) is m, m.type(torch.half), m.is_floating_point(), m.device, m.is_cuda, m.layout),
    "creation": lambda m: (torch.zeros(2), torch.ones_like(m), torch.arange(3), m.new_zeros(2), torch.full((2,), 3.0), torch.eye(2), torch.tensor([1, 2]), torch.linspace(0, 1, 3), torch.empty_like(m).fill_(2), torch.zeros(m.shape[0], m.size(1))),
    "comparison": lambda m: (m == m, torch.equal(m, m), torch.allclose(m, m), m.eq(3).any(), (m > 2).all(), torch.where(m > 2, m, -m), m.isnan()),
    "linear algebra": lambda m: (m @ m.t(), torch.einsum("ij,kj->ik", m, m), torch.linalg.norm(m), m.t().matmul(m), torch.outer(m[0], m[0])),
    "functional": lambda m: (F.softmax(m, -1), F.layer_norm(m, (4,)), F.gelu(m), F.pad(m, (1, 1)), F.one_hot(torch.tensor([0, 1]), 3), F.cross_entropy(m, torch.tensor([0, 1, 2]))),
    "sorting": lambda m: (m.sort(dim=1, descending=True), m.topk(2), m.unique(), m.cumsum(0), m.flip(0), torch.searchsorted(m[0], m[1])),
    "scatter": lambda m: (m.gather(1, torch.zeros(3, 1, dtype=torch.long)), m.scatter(1, torch.zeros(3, 1, dtype=torch.long), 9.0), m.masked_fill(m > 5, 0), m.index_select(0, torch.tensor([2]))),
    "out": lambda m: (torch.add(m, m, out=torch.empty(3, 4)), torch.mul(m, 2.0)),
    "complex": lambda m: (torch.complex(m, m).abs(), torch.view_as_real(torch.complex(m, m)), torch.fft.fft(m).real),
    "named results": lambda m: (m.max(1).values, m.max(1).indices, type(m.max(1)).__name__, torch.min(m, 0)[0]),
    "iteration": lambda m: ([r.sum() for r in m], list(m[0]), tuple(m.shape), [*m.unbind(1)], dict(enumerate(m))),
    "meta questions": lambda m: (torch.is_tensor(m), isinstance(m, torch.Tensor), m.is_contiguous(), m.t().is_contiguous(), m.is_sparse, m.requires_grad, type(m), m.element_size(), hasattr(m, "zz")),
    "numpy style": lambda m: (m.numpy().sum() if False else 0, m.nelement(), m.ravel(), m.clamp(1, 5), m.round(), m.neg(), abs(m), round(2.5)),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name):
    check(OPERATIONS[name], M)


def changes(x, m):
    x.add_(1)
    x[0] = 5
    x[1:] *= 2
    m[0, :2] = x[:2]
    m.zero_()
    m.copy_(torch.ones(3, 4))
    m += x.sum()
    x.clamp_(max=3)
    return x, m


def test_in_place_changes_reach_the_arguments():
    check(changes, X, M)


def test_returned_argument_is_the_argument():
    check(lambda x, m: (x, m, x.add_(1), x), X, M)


def test_view_of_an_argument_is_returned():
    check(lambda m: (m[0], m.view(-1), m.t(), m), M)


def test_view_of_an_argument_is_changed():
    def f(m):
        v = m[0]
        v.add_(1)
        m.view(-1)[3:5] = 7
        return v, m.sum()

    check(f, M)


def test_two_arguments_share_memory():
    def f(a, b):
        a.add_(1)
        return a + b, b * 2

    base = M.clone()
    check(lambda m: f(m[0], m[0]), base)
    check(f, base[0], base[0])


def test_same_tensor_twice():
    def f(a, b):
        a.add_(1)
        return a * b, a is b

    check(f, X, X)
    check(f, X, X.clone())


def test_tensor_aliasing_that_changes_between_calls():
    def f(box):
        box[0].add_(1)
        return box[0] + box[1], box[0] is box[1]

    check(f, [X.clone(), X.clone()], calls=4, change=lambda box: box.__setitem__(1, box[0]))


def test_view_that_starts_to_overlap_between_calls():
    def f(box):
        box[0].add_(1)
        return box[1] * 2

    check(f, [X.clone(), X.clone()], calls=3, change=lambda box: box.__setitem__(1, box[0][:]))


def test_outputs_share_memory():
    def f(x):
        y = x * 2
        return y, y[1:], y.view(3, 1), y

    check(f, X)


def test_result_that_is_a_view_made_in_no_grad():
    def f(x):
        with torch.no_grad():
            v = x[1:]
        return v, v * 2

    check(f, X.clone().requires_grad_())


def test_list_of_tensors_is_changed():
    def f(items):
        for t in items:
            t.mul_(2)
        items[0], items[1] = items[1], items[0]
        return items

    check(f, [X.clone(), X + 1])


def test_set_and_resize():
    def f(x, y):
        x.set_(y)
        return x + 1

    check(f, X, X * 2)


def test_random_numbers_of_torch():
    check(
        lambda x: (
            torch.rand(3),
            torch.randn_like(x),
            torch.randint(0, 9, (4,)),
            F.dropout(x, 0.5),
            torch.randperm(5),
            x.bernoulli(0.5),
        ),
        X,
    )


def test_random_numbers_of_python():
    check(
        lambda x: (x * random.random(), random.randint(0, 9), random.choice([1, 2, 3]), random.uniform(1, 2)),
        X,
    )


def test_random_numbers_with_a_generator():
    def f(x):
        g = torch.Generator().manual_seed(4)
        return torch.rand(3, generator=g), torch.rand(2, generator=g)

    check(f, X)


def test_seeding_inside():
    def f(x):
        torch.manual_seed(3)
        a = torch.rand(2)
        torch.manual_seed(3)
        return a, torch.rand(2)

    check(f, X)


def test_random_number_across_a_break():
    def f(x):
        a = torch.rand(3)
        print("break")
        return a + torch.rand(3), random.random()

    check(f, X)


def test_items():
    check(lambda x: (x.sum().item(), x[0].item() * 2, float(x[1]), int(x[2]), bool(x[0] > 0), x.tolist()), X)


def test_branch_on_a_tensor():
    check(lambda x: x + 1 if x.sum() > 0 else x - 1, X)
    check(lambda x: x + 1 if (x > 0).all() and x[0] < 5 else x - 1, X)
    check(lambda x: (not x.sum(), x.sum() or 3, bool(x[0])), X)


def test_ambiguous_truth_raises_like_eager():
    check(lambda x: x + 1 if x > 0 else x - 1, X)


def test_data_dependent_sizes():
    check(lambda x: (x.nonzero(), x[x > 0], torch.unique(x), torch.masked_select(x, x > 0)), X)


def test_tensor_as_an_index():
    check(lambda x: ([10, 20, 30][x.argmax()], range(5)[torch.tensor(2)], x[x.argmin()]), X)


def test_tensor_in_containers_by_identity():
    check(lambda x, y: ([x, y].index(x), {x: 1}[x], x in [x], {id(x): 2}[id(x)]), X, X + 1)


def test_tensor_attributes_of_the_user():
    def f(x):
        x.tag = 3
        y = x * 2
        y.other = "o"
        return x.tag, y.other, hasattr(y, "tag")

    check(f, X)


def test_numpy_round_trip():
    check(lambda x: (torch.from_numpy(x.numpy() * 2), np.float32(2.0) * 3, x.numpy().sum()), X)


def test_numpy_arguments():
    check(lambda a, n: (a.sum() + n, a * 2, np.mean(a)), np.arange(3.0), np.float64(2.5))


def test_subclass_of_tensor():
    class Mine(torch.Tensor):
        def tripled(self):
            return self * 3

        def __deepcopy__(self, memo):
            return self.detach().clone().as_subclass(Mine)

    def f(x):
        return x.tripled(), x + 1, type(x + 1)

    check(f, X.as_subclass(Mine))


def test_parameter_made_inside():
    check(lambda x: (torch.nn.Parameter(x * 2), torch.nn.Parameter(x).requires_grad), X)


def test_sparse_tensor():
    check(lambda x: torch.eye(3).to_sparse() @ x[:, None], X)


def test_tensor_constructors_from_data():
    check(
        lambda x, n: (
            torch.tensor(n),
            torch.tensor([n, 2.5]),
            torch.as_tensor(x) is x,
            torch.tensor([[1, n], [3, 4]]),
            torch.asarray(3),
        ),
        X,
        4,
    )


def test_device_and_dtype_arguments():
    check(
        lambda x: (
            x.to("cpu"),
            x.to("cpu", torch.float64),
            torch.device("cpu") == x.device,
            x.to(device=x.device),
            torch.float32 is x.dtype,
            torch.finfo(x.dtype).eps,
        ),
        X,
    )


def test_torch_size_is_a_tuple():
    check(
        lambda m: (
            m.shape + (1,),
            m.shape[1:],
            tuple(m.shape),
            [*m.shape],
            m.shape == (3, 4),
            m.shape.numel(),
            3 in m.shape,
            isinstance(m.shape, tuple),
        ),
        M,
    )


def test_storage_questions_break_but_are_right():
    check(lambda x: (x.data_ptr() == x[:].data_ptr(), x.storage_offset(), x._version), X)


def test_contiguity_and_layout_of_inputs_are_guarded():
    check(
        lambda box: (box[0] * 2, box[0].is_contiguous()),
        [M],
        change=lambda box: box.__setitem__(0, box[0].t()),
    )


def test_dtype_of_inputs_is_guarded():
    check(lambda box: box[0] / 2, [M], change=lambda box: box.__setitem__(0, box[0].long()))


def test_tensor_becomes_something_else():
    check(
        lambda box: box[0] * 2,
        [X],
        change=lambda box: box.__setitem__(0, 3 if isinstance(box[0], torch.Tensor) else X),
    )


def test_quantised_tensors_are_left_to_eager():
    torch.quantize_per_tensor(X, 0.1, 0, torch.qint8)  # warns once in a process
    check(lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize() * 2, X)


NUMPY_SCALARS = """
import numpy as np, torch

class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = np.sqrt(8)
        self.single = np.float32(0.1)
        self.count = np.int64(2)

    def forward(self, x):
        y = x / self.scale * self.single + self.count
        return y, x[self.count], self.count * self.scale, torch.full((self.count, 2), self.scale)

def f(m, x, n):
    size = int(np.prod(x.shape))
    left = (np.float32(2) * x, np.float64(2) - x, np.float64(0.5) < x, np.int64(3) ** x, np.float64(2) / x)
    right = (x * np.float64(2), x - np.float32(0.1), x.clamp(max=np.float64(0.5)), x + n, n * 2)
    kinds = (np.float64(2) * 3, np.float32(1) + 1, np.int64(7) // 2, np.sum([1, 2]), np.divmod(7, 2), np.pi)
    whole = x.long() * np.float64(1.5)
    texts = (f"{np.float64(2.5):.2f}", str(np.int64(3)), isinstance(n, float), type(n) is np.float64)
    return m(x), size, left, right, kinds, whole, texts, np.log(np.e) * x, x.sum(np.int64(0)), int(np.ceil(2.5))

def args():
    return (Scaled(), torch.tensor([-1.0, 0.5, 2.0]), np.float64(1.25))
"""


def test_numpy_scalars_are_constants():
    check_source(NUMPY_SCALARS, breaks=0, graphs=1)


def test_numpy_scalars_that_change():
    holder = [np.float64(1)]
    check(lambda h, x: x * h[0], holder, X, change=lambda h, x: h.__setitem__(0, h[0] / 2 - 1), calls=4)


def test_numpy_scalars_give_their_type_to_new_tensors():
    check(
        lambda x: (
            torch.tensor(np.float64(2)),
            torch.tensor([np.float64(1), 2]),
            torch.as_tensor(np.int32(2)),
            x,
        ),
        X,
    )


def test_numpy_warns_in_each_call():
    def f(x):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            value = np.log(0.0)
        return x * 2, value, len(seen)

    check(f, X)


NUMPY_TABLES = """
import math
import numpy as np, torch

betas = np.linspace(0.1, 0.2, 3)
grid = np.array([[1, 2], [3, 4]], dtype=np.int32)

def f(x, own):
    for t in reversed(range(len(betas))):
        x = x * float(betas[t]) + math.sqrt(betas[t]) + betas[-1]
    for beta in betas:
        x = x - beta
    return x * grid[1, 0], grid.shape, own[0], grid.size, betas.ndim, own

def g(x, own):
    try:
        betas[7]
    except IndexError:
        x = x + 1
    return x, grid[0], grid * 2, own.sum()

def args():
    return torch.ones(3), np.ones(2)
"""


@pytest.mark.parametrize(("name", "breaks"), [("f", 0), ("g", None)])
def test_numbers_of_numpy_arrays(name, breaks):
    def change(x, own):
        own[0] += 1

    check_source(NUMPY_TABLES + f"f = {name}\n", breaks=breaks, change=change)


def test_an_operation_that_fails_logs_nothing(caplog):
    def fails(x):
        try:
            return x + torch.ones(4)
        except RuntimeError as error:
            return str(error)

    check(fails, torch.ones(3))
    assert not [record for record in caplog.records if record.levelname in ("ERROR", "WARNING")]


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("window", [torch.hann_window(8), torch.zeros(8)], ids=["overlaps", "refused"])
def test_an_inverse_fourier_transform_reads_its_window_at_run_time(window, backend):
    def f(x, window):
        spectrum = torch.stft(x, 8, 4, window=torch.ones(8), return_complex=True)
        return torch.istft(spectrum, 8, 4, window=window), spectrum.istft(8, 4, window=window, length=30)

    report = check(f, torch.randn(2, 32), window, backend=backend)
    assert backend or window.sum() == 0 or not report.breaks
