"""The type of an argument on its way into a node: a size is no tuple of data, a numpy bool no bool of Python."""

import pytest
import torch
from tests.end_to_end.support import check, check_source

SIZES = {
    "new": lambda t: t.new(t.size()).shape,
    "new shape": lambda t: t.new(t.shape).zero_() + t,
    "new part": lambda t: t.new(t.size()[1:]).shape,
    "new sum": lambda t: t.new(t.size() + (2,)).shape,
    "new numbers": lambda t: t.new(*t.size()).shape,
    "new empty": lambda t: (t.new().shape, t.new(t[0, 0].size()).shape),
    "new data": lambda t: (t.new([1, 2]), t.new((1, 2))),
    "new Size": lambda t: t.new(torch.Size([t.shape[0], 2])).shape,
    "Tensor": lambda t: (torch.Tensor(t.size()).shape, torch.Tensor(*t.size()).shape, torch.Tensor((1, 2))),
    "FloatTensor": lambda t: (torch.FloatTensor(t.size()).shape, torch.FloatTensor(2, t.shape[0]).zero_()),
    "LongTensor": lambda t: (torch.LongTensor([1, t.shape[0]]), torch.LongTensor((1, 2))),
    "tensor": lambda t: (torch.tensor(t.shape), torch.as_tensor(t.shape), t.new_tensor(t.shape)),
    "zeros": lambda t: (torch.zeros(size=t.size()), torch.zeros(*t.size()), torch.zeros(t.size() + (2,))),
    "index": lambda t: (t[torch.Size([0, 1])], t[torch.ones(1, 2).shape]),
}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_size_makes_room_and_a_tuple_is_data(name, dynamic):
    check(SIZES[name], torch.ones(3, 10), options={"dynamic": dynamic})


def test_a_size_given_to_new_is_captured():
    check(lambda t: t.new(t.size()).zero_() + t, torch.ones(3, 10), breaks=0, graphs=1)


def test_a_numpy_scalar_keeps_the_type_that_it_gives():
    check_source(
        "import numpy, torch\n"
        "def args(): return torch.ones(3), numpy.bool_(True), numpy.float64(2), numpy.int64(1)\n"
        "def f(t, b, d, i):\n"
        "    return torch.full((2,), b), torch.full((2,), d), torch.tensor(d), t * d, t.sum(i - 1), torch.full((2,), i), t * b"
    )
