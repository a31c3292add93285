"""Tensors of varying size that are written to between the two passes: a backward pass that needs a size of one does not keep it."""

import copy

import pytest
import torch
from torch import nn

from framesmith import frontend


class Bank(nn.Module):
    """Compares what it is given with a table that its owner, or the forward pass itself, writes to afterwards."""

    def __init__(self, rows, place, writes):
        super().__init__()
        self.encoder, self.place, self.writes = nn.Linear(2, 2), place, writes
        self.refill(rows)

    def refill(self, rows):
        table = torch.linspace(0.0, 1.0, rows * 2).view(rows, 2)
        if self.place == "buffer":
            self.register_buffer("table", table)
        elif self.place == "parameter":
            self.table = nn.Parameter(table, requires_grad=False)
        else:
            self.tables = [table]

    def read(self):
        return self.tables[0] if self.place == "list" else self.table

    def forward(self, x):
        x = self.encoder(x)
        table = self.read()
        scores = torch.cat([x.sum(1, keepdim=True), x @ table.clone().T], 1)
        if self.writes == "behind a break":
            torch._dynamo.graph_break()
            table[:1] = x.detach()
        elif self.writes == "inside":
            table.mul_(2)
        return scores


@pytest.mark.parametrize("dynamic", [True, None])
@pytest.mark.parametrize("writes", ["outside", "inside", "behind a break"])
@pytest.mark.parametrize("place", ["buffer", "parameter", "list"])
def test_a_table_of_varying_size_is_not_kept_for_its_size(place, writes, dynamic):
    torch.manual_seed(0)
    eager = Bank(4, place, writes)
    ours = copy.deepcopy(eager)
    compiled = frontend.compile(lambda x: ours(x), backend="aot_eager", dynamic=dynamic)
    for rows in (4, 8, 8, 3):
        x = torch.randn(1, 2)
        for model, call in ((eager, eager), (ours, compiled)):
            model.refill(rows)
            scores = call(x)
            if writes == "outside":
                model.read().add_(1)
            scores.sin().sum().backward()
        for left, right in zip(eager.parameters(), ours.parameters(), strict=True):
            assert (left.grad is None) == (right.grad is None)
            assert left.grad is None or torch.equal(left.grad, right.grad)
        assert torch.equal(eager.read(), ours.read())
