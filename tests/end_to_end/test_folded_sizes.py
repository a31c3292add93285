"""Tensors without dimensions that are computed of sizes that change: torch's fakes fold what they hold, and read such a size as NaN."""

import pytest
import torch

from framesmith import frontend

PROGRAMS = {
    "quotient": lambda x: int(torch.div(x.size(0), 2).long()),
    "true_divide": lambda x: torch.true_divide(x.size(0), 4).item(),
    "method": lambda x: torch.tensor(6).div(x.size(0)).item(),
    "in place": lambda x: torch.tensor(6.0).div_(x.size(0)).item(),
    "operator": lambda x: float(torch.tensor(6) / x.size(0)),
    "power": lambda x: torch.pow(x.size(0), torch.tensor(2)).item(),
    "add": lambda x: int(torch.tensor(6) + x.size(0)),
    "tensor": lambda x: torch.tensor(x.size(0)).item(),
    "full": lambda x: torch.full((), x.size(0)).item(),
    "comparison": lambda x: bool(torch.tensor(9) > x.size(0)),
    "clamp": lambda x: torch.tensor(9).clamp(max=x.size(0)).item(),
    "filled": lambda x: torch.tensor(9).fill_(x.size(0)).item(),
    "where": lambda x: torch.where(torch.tensor(True), torch.tensor(2), x.size(0)).item(),
    "stacked": lambda x: torch.stack([torch.div(x.size(0), 2), torch.tensor(3.0)]).sum().item(),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_read_is_what_eager_reads(name, backend, dynamic):
    compiled = frontend.compile(PROGRAMS[name], backend=backend, dynamic=dynamic)
    for size in (8, 8, 12, 20, 6):
        x = torch.ones(size)
        assert compiled(x) == PROGRAMS[name](x)
