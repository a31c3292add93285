"""Strict mode and `flex_attention`: what no graph holds yet gives what eager gives, structure and tensors untouched."""

import pytest
from tests.end_to_end.support import check_source

PROGRAM = """
import torch
from torch._higher_order_ops.strict_mode import strict_mode
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
bias = torch.tensor([1.0, 2.0])
mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 16, 16, device="cpu")
def f(x):
    return {body}
def args():
    torch.manual_seed(3)
    return (torch.randn({shape}),)
"""
BODIES = {
    "strict mode": "strict_mode(lambda a: a.sin(), (x,))",
}
ATTENTIONS = {
    "plain": "flex_attention(x, x, x)",
    "scores": "flex_attention(x, x, x, score_mod=lambda s, b, h, q, k: s + (q - k), return_lse=True)",
    "a mask": "flex_attention(x, x, x, block_mask=mask)",
    "a scale": "flex_attention(x * 2, x, x, scale=0.3)",
}


@pytest.mark.parametrize("name", BODIES)
def test_strict_mode(name):
    check_source(PROGRAM.format(body=BODIES[name], shape="3, 4"), backward=False)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention(name):
    check_source(PROGRAM.format(body=ATTENTIONS[name], shape="1, 2, 16, 16"), backward=False)
