"""einops keeps what it makes of sizes in a cache of its own: sizes that vary are traced through it."""

import einops
import pytest
import torch

from framesmith import frontend

PROGRAMS = {
    "permuted": lambda x: einops.rearrange(x, "b n d -> d b n") * 2,
    "split": lambda x: einops.rearrange(x, "b n (h d) -> b h n d", h=2) + 1,
    "merged": lambda x: einops.rearrange(x, "b n d -> b (n d)").cumsum(-1),
    "new axis": lambda x: einops.repeat(x, "b n d -> b k n d", k=3) * 0.5,
    "tiled": lambda x: einops.repeat(x, "b n d -> b (n k) d", k=2) * 0.5,
    "reduced": lambda x: einops.reduce(x, "b n d -> b d", "max"),
    "ellipsis": lambda x: einops.rearrange(x, "... d -> d ...") - 1,
    "of a size": lambda x: einops.rearrange(x, "b n d -> (b n) d", b=x.shape[0]) * x.shape[1],
}
SHAPES = [(2, 4, 8), (3, 4, 8), (2, 6, 8), (5, 7, 8), (1, 4, 8), (9, 11, 8), (4, 1, 8), (0, 3, 8), (3, 4, 8)]


class Counted:
    """A backend that counts its graphs."""

    def __init__(self):
        self.count = 0

    def __call__(self, module, examples):
        self.count += 1
        return module.forward


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("shapes", [SHAPES[:4] + SHAPES[5:6], SHAPES])
def test_sizes_that_vary_are_symbolic(name, shapes):
    if name == "reduced" and len(shapes) == len(SHAPES):
        shapes = [
            shape for shape in shapes if 0 not in shape
        ]  # no maximum of nothing: AOTAutograd is not asked
    backend, program = Counted(), PROGRAMS[name]
    compiled = frontend.compile(program, backend=backend, fullgraph=True)
    for shape in shapes:
        x, y = (torch.arange(float(torch.Size(shape).numel())).view(shape).requires_grad_() for _ in range(2))
        found, expected = compiled(x), program(y)
        assert torch.equal(found, expected)
        assert found.stride() == expected.stride()
        for one in (found, expected):
            one.sum().backward()
        assert torch.equal(x.grad, y.grad)
    # of each dimension that was seen to change; and those of a size of 0 or 1
    assert backend.count <= (3 if len(shapes) == 5 else 6)


def test_a_size_that_does_not_fit_raises_as_in_eager():
    def split(x, h):
        try:
            return einops.rearrange(x, "b (h d) -> b h d", h=h)
        except einops.EinopsError as error:
            return str(error)

    compiled = frontend.compile(split, backend="eager")
    for width, heads in ((8, 2), (12, 2), (16, 2), (7, 2), (9, 3), (10, 3), (8, 4)):
        found, expected = (one(torch.ones(2, width), heads) for one in (compiled, split))
        assert found == expected if isinstance(expected, str) else torch.equal(found, expected)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_layer_of_attention(backend):
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = torch.nn.Linear(8, 24), torch.nn.Linear(8, 8)

        def forward(self, x):
            q, k, v = einops.rearrange(self.qkv(x), "b n (three h d) -> three b h n d", three=3, h=2)
            weights = torch.softmax(einops.einsum(q, k, "b h i d, b h j d -> b h i j"), -1)
            return self.out(einops.rearrange(weights @ v, "b h n d -> b n (h d)"))

    torch.manual_seed(0)
    layer = Attention()
    compiled = frontend.compile(layer, backend=backend, fullgraph=True)
    for shape in ((2, 4, 8), (2, 5, 8), (3, 6, 8), (1, 7, 8), (3, 9, 8)):
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x), layer(x))
