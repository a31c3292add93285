"""Batches and masks of nothing, in training: what eager gives for them, whatever the backend."""

import pytest
from tests.end_to_end.support import check_source

HEAD = """
import torch
import torch.nn.functional as F
norm = torch.nn.GroupNorm(2, 4)
def args(): return [torch.linspace(-1, 1, 24).reshape(6, 4).requires_grad_(), SIZE]
"""
LOSSES = [
    "F.mse_loss(x, x.detach() + 1)",
    "F.mse_loss(x, x.detach(), reduction='sum')",
    "F.mse_loss(x, x.detach(), reduction='none').sum()",
    "F.smooth_l1_loss(x, x.detach() + 1)",
    "F.huber_loss(x, x.detach() + 1)",
    "F.l1_loss(x, x.detach() + 1)",
    "F.binary_cross_entropy_with_logits(x, torch.ones_like(x))",
    "F.cross_entropy(x, torch.zeros(len(x), dtype=torch.long))",
    "F.nll_loss(x, torch.zeros(len(x), dtype=torch.long))",
    "F.kl_div(x, x.detach().exp(), reduction='batchmean')",
    "F.group_norm(x, 2).sum()",
    "norm(x[:, :, None]).sum()",
    "F.layer_norm(x, (4,)).sum()",
    "F.interpolate(x[None], scale_factor=2).sum()",
    "x.mean() + x.logsumexp(1).sum()",
    "x.index_fill(1, torch.tensor([1]), 2.0).sum()",
]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("size", [0, 3])
@pytest.mark.filterwarnings("ignore")
def test_gradients_of_an_empty_batch(loss: str, backend: str, size: int) -> None:
    """`size` rows of the batch are left."""
    check_source(
        HEAD.replace("SIZE", str(size))
        + f"def f(x, n):\n    x = x[:n]\n    value = {loss}\n    return value, x * 2\n",
        backend=backend,
        calls=2,
    )
