"""Sizes, strides and numbers that were asked to be symbolic and became plain numbers: each is guarded."""

import itertools

import numpy as np
import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend

SIZES = (0, 1, 2, 3, 5, 7)
READERS = {
    "shape": lambda x: x.shape[0],
    "torch.Size": lambda x: (x.size(), x.shape[:1], str(x.shape)),
    "number of elements": lambda x: (x.numel(), x.nelement(), x.nbytes),
    "length": lambda x: len(x),
    "product": lambda x: x.shape[0] * 3 + 1,
    "quotient": lambda x: (x.shape[0] // 2, x.shape[0] % 2, x.shape[0] / 2),
    "strides": lambda x: x[:, None].expand(-1, 4).stride(),
    "layout": lambda x: (x.view(1, -1).is_contiguous(), x.view(1, -1).t().is_contiguous()),
    "view": lambda x: tuple(x.reshape(-1, 1).shape),
    "branch": lambda x: "one" if x.shape[0] == 1 else "none" if not x.shape[0] else "more",
    "range": lambda x: list(range(x.shape[0])),
    "new tensor": lambda x: torch.zeros(x.shape[0], 2),
    "data": lambda x: (x == 0).nonzero().shape,
    "container": lambda x: {"sizes": [x.shape[0], (x.shape[-1],)]},
}


def after_a_break(reader):
    def f(x):
        frontend.graph_break()
        return reader(x * 1)

    return f


def compared(function, make, sequence, options):
    compiled = frontend.compile(function, backend="eager", **options)
    for size in sequence:
        assert repr(compiled(*make(size))) == repr(function(*make(size))), (sequence, size)


SEQUENCES = [
    (3, 1, 7), (3, 0, 7), (1, 7, 1), (0, 1, 0), (0, 0, 1), (1, 0, 2), (2, 1, 2), (5, 1, 0), (1, 1, 5),
]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"dynamic": True}, {"dynamic": False}], ids=str)
@pytest.mark.parametrize("name", READERS)
def test_a_size_is_never_taken_from_an_earlier_call(name, options):
    for sequence in SEQUENCES:
        compared(READERS[name], lambda size: (torch.zeros(size),), sequence, options)


@pytest.mark.parametrize("name", READERS)
def test_a_size_in_a_continuation(name):
    for sequence in SEQUENCES[:4]:
        compared(after_a_break(READERS[name]), lambda size: (torch.zeros(size),), sequence, {"dynamic": True})


@pytest.mark.parametrize("mark", ["mark_dynamic", "maybe_mark_dynamic"])
@pytest.mark.parametrize("name", ["shape", "product", "branch", "layout"])
def test_a_marked_size(mark, name):
    def make(size):
        x = torch.zeros(size)
        if size > 1 or mark == "maybe_mark_dynamic":
            getattr(frontend, mark)(x, 0)
        return (x,)

    for sequence in SEQUENCES:
        compared(READERS[name], make, sequence, {})


def test_sizes_that_depend_on_data():
    def f(x):
        kept = x[x > 0]
        return kept.shape[0], kept.numel() * 2, kept.sum()

    compared(f, lambda n: (torch.arange(8) - (7 - n),), SIZES, {})
    compared(f, lambda n: (torch.arange(8) - (7 - n),), SIZES[::-1], {"dynamic": True})


class Holder:
    def __init__(self, x):
        self.x = x


NESTED = {
    "list": (lambda box: box[0].shape[0], lambda n: ([torch.zeros(n)],)),
    "dictionary": (lambda box: box["x"].shape[0], lambda n: ({"x": torch.zeros(n)},)),
    "attribute": (lambda box: box.x.shape[0], lambda n: (Holder(torch.zeros(n)),)),
    "view": (lambda x: (x.shape, x.stride()), lambda n: (torch.zeros(7, 9)[:n, 1:3],)),
    "expanded": (lambda x: (x.shape, x.stride()), lambda n: (torch.zeros(1, 3).expand(n, 3),)),
    "transposed": (lambda x: (x.stride(), x.is_contiguous()), lambda n: (torch.zeros(n, 3).t(),)),
    "two dimensions": (lambda x: x.shape[0] * x.shape[1], lambda n: (torch.zeros(n, max(n - 1, 0)),)),
    "array": (lambda x: x.shape[0], lambda n: (np.zeros(n),)),
    "gradient": (lambda x: (x * 2).sum().shape, lambda n: (torch.zeros(n, requires_grad=True),)),
}


@pytest.mark.parametrize("options", [{}, {"dynamic": True}], ids=str)
@pytest.mark.parametrize("name", NESTED)
def test_a_size_of_something_nested(name, options):
    function, make = NESTED[name]
    for sequence in itertools.permutations((0, 1, 2, 5), 3):
        compared(function, make, sequence, options)


PAIRS = [
    ((3, 3), (3, 5)),
    ((1, 1), (1, 4)),
    ((1, 1), (4, 4)),
    ((0, 0), (0, 1)),
    ((4, 4), (1, 1)),
    ((5, 1), (1, 5)),
]


@pytest.mark.parametrize("options", [{}, {"dynamic": True}], ids=str)
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_sizes_that_were_equal_and_differ_later(pair, options):
    def f(x, y):
        return x.shape[0] == y.shape[0], x.shape[0] - y.shape[0], (x.shape[0], y.shape[0])

    compared(f, lambda sizes: tuple(map(torch.zeros, sizes)), [*pair, (2, 7), *pair, (7, 7)], options)


def test_a_size_of_one_first_costs_no_graph_for_each_size():
    def change(box):
        box[0] = torch.ones({1: 7, 7: 9, 9: 11, 11: 13}[box[0].shape[0]])

    report = check(lambda box: box[0] * box[0].shape[0], [torch.ones(1)], calls=5, change=change)
    assert report.graphs == 2, report


OFFSETS = {
    "read": lambda x: x.storage_offset(),
    "of a view": lambda x: x[1:].storage_offset(),
    "of a reshaped one": lambda x: x.view(2, 2).detach().storage_offset(),
    "as_strided": lambda x: x.as_strided((2,), (1,)) + 1,
    "as_strided at an offset": lambda x: x.as_strided((2,), (2,), x.storage_offset()) * 2,
    "torch.as_strided": lambda x: torch.as_strided(x, (2,), (1,)) + 1,
    "as_strided of a view": lambda x: x[1:].as_strided((2,), (1,)) + 1,
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", OFFSETS)
def test_an_offset_that_was_read_is_guarded(name, backend):
    function, base = OFFSETS[name], torch.arange(20.0)
    compiled = frontend.compile(function, backend=backend)
    for offset in (0, 3, 0, 5, 7, 1):
        x = base[offset : offset + 4]
        assert str(compiled(x)) == str(function(x)), offset


def test_an_offset_that_nobody_reads_is_not_guarded():
    def change(box):
        box[0] = torch.arange(20.0)[box[0].storage_offset() + 1 :][:4]

    check(lambda box: box[0] * 2 + 1, [torch.arange(4.0)], calls=4, change=change, graphs=1)


NUMBERS = (0, 1, True, 2, -1, 2**31, 2**62, 2**63 - 1, 2**63, -(2**63) - 1, 2**70, 5, False)


@pytest.mark.parametrize(
    "function",
    [
        lambda n: (n, type(n), n + 1, n == 1),
        lambda n: (n < 2**63, n > 2**62, n * 2 - n, -n),
        lambda n: (n // 3, n % 5, bool(n)),
        lambda n: [n, [n + n]],
    ],
)
def test_a_number_that_became_symbolic(function):
    for sequence in (NUMBERS, NUMBERS[::-1]):
        compared(function, lambda n: (n,), sequence, {})


def test_a_number_in_a_global_an_attribute_and_a_list():
    box = Holder(3)

    def f(items):
        return items[0] + 1, box.x + items[0], box.x == 1

    compiled = frontend.compile(f, backend="eager")
    for number in NUMBERS:
        box.x = number
        assert repr(compiled([number])) == repr(f([number]))
