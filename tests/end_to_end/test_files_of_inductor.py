"""What inductor and AOTAutograd have written into their caches of files is found again by a later compilation."""

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters
from torch._inductor.utils import fresh_cache

from framesmith import frontend


@pytest.mark.inductor
def test_a_second_compilation_finds_the_files_of_the_first() -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), torch.randn(3, 4)
    model(x).sum().backward()
    expected = model[0].weight.grad.clone()
    with fresh_cache():
        for found in (0, 1):
            counters.clear()
            model.zero_grad()
            frontend.compile(model.forward)(x).sum().backward()
            assert counters["aot_autograd"]["autograd_cache_hit"] == found
            torch.testing.assert_close(model[0].weight.grad, expected)
            frontend.reset()
