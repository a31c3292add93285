"""`flex_attention` is captured in one graph, with what changes the scores and what masks them, and gives what eager gives."""

import pytest
from tests.end_to_end.module_programs import check_module, load_module
from tests.end_to_end.support import check_source, compare_refusals

PROGRAM = """
import torch
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention
torch.manual_seed(1)
bias = torch.randn(16, 16)
heads = torch.randn(2)
documents = torch.arange(16) // 4
causal = create_block_mask(lambda b, h, q, k: q >= k, None, None, 16, 16, device="cpu")
apart = create_block_mask(lambda b, h, q, k: documents[q] == documents[k], None, None, 16, 16, device="cpu")
level = 1
class Scores(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2
        self.register_buffer("shift", torch.ones(16))
    def forward(self, s, b, h, q, k):
        return s * self.scale + self.shift[q]
scores = Scores()
def distance(factor):
    def change(s, b, h, q, k):
        return s + factor * (q - k)
    return change
def turn():
    global level, bias
    level += 1
    scores.scale += 1
    scores.shift.add_(1)
    bias = bias * 2
def f(x):
    result = {call}
    turn()
    return result
def args():
    torch.manual_seed(2)
    return (torch.randn({shape}),)
"""
MADE = "create_block_mask(lambda b, h, q, k: {mask}, None, None, 16, 16, device='cpu')"
CAPTURED = {
    "plain": "flex_attention(x, x + 1, x * 2)",
    "the same tensor thrice": "flex_attention(x, x, x)",
    "positions": "flex_attention(x, x, x, score_mod=lambda s, b, h, q, k: s + (q - k))",
    "a closure": "flex_attention(x, x, x, score_mod=distance(level))",
    "a subscript": "flex_attention(x, x, x, score_mod=lambda s, b, h, q, k: s + bias[q, k] * heads[h])",
    "a computed subscript": "flex_attention(x, x, x, score_mod=lambda s, b, h, q, k: s + bias[q, (k + level) % 16])",
    "a subscript with a constant": "flex_attention(x, x, x, score_mod=lambda s, b, h, q, k: s + bias[q, 0])",
    "two subscripts": "flex_attention(x, x, x, score_mod=lambda s, b, h, q, k: s + bias[q][k])",
    "torch.where": "flex_attention(x, x, x, score_mod=lambda s, b, h, q, k: torch.where(q >= k, s, -float('inf')))",
    "a module": "flex_attention(x, x, x, score_mod=scores)",
    "a mask": "flex_attention(x, x, x, block_mask=causal)",
    "a mask that reads a tensor": "flex_attention(x, x, x, block_mask=apart)",
    "both": "flex_attention(x, x, x, score_mod=lambda s, b, h, q, k: s + bias[q, k], block_mask=[causal, apart][level % 2])",
    "a scale": "flex_attention(x * 2, x, x, scale=0.3)",
    "sums of exponentials": "flex_attention(x, x, x, return_aux=AuxRequest(lse=True))",
    "groups of heads": "flex_attention(x, x[:, :1], x[:, 1:], enable_gqa=True)",
    "a mask that is made": f"flex_attention(x, x, x, block_mask={MADE.format(mask='q >= k')})",
    "a mask that is made of tensors": f"flex_attention(x, x, x, block_mask={MADE.format(mask='documents[q] == documents[k]')})",
    "a mask that is made of a number": f"flex_attention(x, x, x, block_mask={MADE.format(mask='q - k < level')})",
    "a mask for each head": "flex_attention(x, x, x, block_mask=create_block_mask(lambda b, h, q, k: q >= k + h, 1, 2, 16, 16, device='cpu'))",
    "half precision": "flex_attention(*[x.bfloat16()] * 3, score_mod=lambda s, b, h, q, k: s * 2)",
}
REFUSED = {
    "an exception": "flex_attention(x, x, x, score_mod=lambda s, b, h, q, k: s / (1 // 0))",
    "a side effect": "flex_attention(x, x, x, score_mod=lambda s, b, h, q, k: [print('score'), s][1])",
    "a number": "flex_attention(x, x, x, score_mod=lambda s, b, h, q, k: 1)",
    "a tuple": "flex_attention(x, x, x, score_mod=lambda s, b, h, q, k: (s, s))",
    "a branch": "flex_attention(x, x, x, score_mod=lambda s, b, h, q, k: s if q > k else s * 2)",
    "other heads": "flex_attention(x, x[:, :1], x[:, :1])",
    "three dimensions": "flex_attention(x[0], x[0], x[0])",
    "a mask of another length": "flex_attention(x[:, :, :8], x, x, block_mask=causal)",
}
SHAPE = "1, 2, 16, 16"


def leave(*_):
    """Nothing changes between calls but what the program itself changes."""


@pytest.mark.parametrize("name", CAPTURED)
def test_the_operator_is_captured(name, tmp_path):
    source = PROGRAM.format(call=CAPTURED[name], shape=SHAPE)
    check_module(
        source, tmp_path, calls=4, breaks=0, change=leave, backward=False, options={"fullgraph": True}
    )


@pytest.mark.parametrize("name", ["a subscript", "both", "a mask that is made of tensors"])
def test_a_backend_that_replaces_operations_takes_the_graph(name, tmp_path):
    source = PROGRAM.format(call=CAPTURED[name], shape=SHAPE)
    check_module(
        source, tmp_path, backend="aot_eager", breaks=0, change=leave, backward=False, tolerance=1e-5
    )


@pytest.mark.parametrize("name", REFUSED)
def test_what_torch_refuses_raises_what_eager_raises(name, tmp_path):
    source = PROGRAM.format(call=REFUSED[name], shape=SHAPE)
    compare_refusals(load_module(source, tmp_path), load_module(source, tmp_path))


def test_sizes_may_differ_from_call_to_call(tmp_path):
    call = "flex_attention(x, x, x, score_mod=lambda s, b, h, q, k: s + bias[q, k])"
    source = PROGRAM.format(call=call, shape=SHAPE)
    source = source.replace("def f(x):\n", "def f(x):\n    x = x[:, :, : next(sizes)]\n")
    source += "sizes = iter([16, 12, 9, 16])\n"
    check_module(source, tmp_path, calls=4, breaks=0, change=leave, backward=False, tolerance=1e-6)


MASKS = {
    "positions": "create_mask(lambda b, h, q, k: q >= k, 1, 1, n, n, device='cpu')",
    "an index by the batch": "create_mask(lambda b, h, q, k: k < lengths[b], 2, 1, n, n, device='cpu')",
    "an index by two": "create_mask(lambda b, h, q, k: table[q, k % 3] & (q != h), 1, 2, n, n, device='cpu')",
    "a slice": "create_mask(lambda b, h, q, k: table[1:, 0].any() & (q > k), 1, 1, n, n, device='cpu')",
    "a score": "create_mask(lambda s, b, h, q, k: torch.where(q >= k, s, -float('inf')), 1, 2, n, n, device='cpu')",
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", MASKS)
def test_masks_are_made_in_the_graph(name, backend):
    check_source(
        "import torch\n"
        "from torch.nn.attention.flex_attention import create_mask\n"
        "torch.manual_seed(0)\n"
        "lengths, table = torch.tensor([2, 5]), torch.rand(9, 3) > 0.5\n"
        "def f(x, sizes):\n"
        "    n = sizes[0]\n"
        f"    mask = {MASKS[name]}\n"
        "    return (mask * torch.arange(mask.numel()).view(mask.shape)).sum() + x, mask.dtype\n"
        "def args(): return torch.ones(2), [6, 6, 9, 2, 4]\n",
        calls=5,
        change=lambda x, sizes: sizes.pop(0),
        backend=backend,
        breaks=0,
        options={"fullgraph": True},
    )
