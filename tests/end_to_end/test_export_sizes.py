"""`export`: sizes in the result, and the declarations of a `torch.export.ShapesCollection`."""

import pytest
import torch
from torch.export import Dim, ShapesCollection

from framesmith import frontend


class Sum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x, y, scale=2):
        return x * self.weight + y * scale

    def method(self, x, y):
        return x + y


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.shape,
        lambda x: {"sizes": x.shape, "count": x.numel()},
        lambda x: (x.shape[1:], x.size(0), torch.Size([x.size(0) + 1, 2])),
        lambda x: (x.view(-1).shape, x.shape + (1,)),
    ],
)
def test_sizes_that_are_returned_are_tuples(program):
    exported = frontend.export(program, dynamic_shapes=({0: Dim("batch")},))(torch.ones(3, 2))
    for count in (3, 5):
        x = torch.rand(count, 2)
        assert exported(x) == program(x)


@pytest.mark.parametrize(
    "model", [Sum(), Sum().method, lambda x, y: x - y], ids=["module", "method", "function"]
)
def test_a_collection_of_shapes(model):
    x, y = torch.rand(4, 3), torch.rand(4, 3)
    shapes, batch = ShapesCollection(), Dim("batch")
    shapes[x] = {0: batch}
    shapes[y] = (batch, None)
    exported = frontend.export(model, dynamic_shapes=shapes)(x, y)
    for count in (4, 7):
        given = torch.rand(count, 3), torch.rand(count, 3)
        assert torch.equal(exported(*given), model(*given))


CONVOLUTIONS = {
    "one dimension": (torch.nn.Conv1d(3, 4, 3), 1),
    "two dimensions": (torch.nn.Conv2d(3, 4, 3), 2),
    "three dimensions": (torch.nn.Conv3d(3, 4, 3), 3),
    "transposed": (torch.nn.ConvTranspose2d(3, 4, 3, stride=2), 2),
    "in a row": (torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 2, 3)), 2),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("batch", [4, 32])
def test_the_batch_of_a_convolution_is_not_narrowed(name, batch):
    model, rank = CONVOLUTIONS[name]
    made = torch.randn(batch, 3, *[8] * rank)
    exported = frontend.export(model, dynamic_shapes={"input": {0: Dim("batch", min=2)}})(made)
    for size in (2, 15, 16, 64):
        given = torch.randn(size, 3, *[8] * rank)
        assert torch.equal(exported.graph_module(given), model(given))
    again = torch.export.export(exported.graph_module, (made,), dynamic_shapes=({0: Dim("batch", min=2)},))
    assert torch.allclose(again.module()(made), model(made), atol=1e-5)
    with pytest.raises(RuntimeError):
        exported.graph_module(torch.randn(4, 5, *[8] * rank))
