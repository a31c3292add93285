"""A stack of equal layers, each of which does one thing besides computing: writes, draws, decides, breaks, catches ..."""

from typing import Any

import torch
from torch import nn


class Doing(nn.Module):
    """A layer that does what `kind` names; the forwards below are looked up by it."""

    def __init__(self, kind: str):
        super().__init__()
        self.linear, self.kind = nn.Linear(6, 6), kind
        self.norm, self.drop = nn.BatchNorm1d(6), nn.Dropout(0.5)
        self.register_buffer("seen", torch.zeros(6))
        self.register_buffer("rows", torch.arange(5))
        self.calls = 0

    def forward(self, x: torch.Tensor) -> Any:
        return getattr(self, self.kind)(x)

    def batch_norm(self, x):
        return self.norm(self.linear(x)).relu_()

    def dropout(self, x):
        return self.drop(self.linear(x))

    def no_grad_inside(self, x):
        with torch.no_grad():
            y = self.linear(x)
        return x + y * 2

    def autocast_inside(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(x)
        return x + y.float()

    def writes_to_its_argument(self, x):
        x.add_(1)
        return self.linear(x)

    def writes_to_a_buffer(self, x):
        self.seen.add_(1)
        return self.linear(x) + self.seen

    def stores_an_attribute(self, x):
        self.last = x
        return self.linear(x)

    def counts(self, x):
        self.calls += 1
        return self.linear(x) * self.calls

    def returns_a_view(self, x):
        return x.view(-1, 6)

    def returns_a_tuple(self, x):
        return self.linear(x), x, x.shape[0], None

    def returns_a_parameter(self, x):
        return self.linear(x), self.linear.bias

    def decides_on_a_size(self, x):
        return self.linear(x) * x.shape[0] if x.shape[0] > 3 else self.linear(x)

    def prints(self, x):
        print("seen", x.shape)
        return self.linear(x)

    def reads_the_data(self, x):
        return self.linear(x) * x.sum().item()

    def catches(self, x):
        try:
            raise ValueError("x")
        except ValueError:
            return self.linear(x) + 1

    def raises(self, x):
        if x.dim() == 3:
            raise ValueError("three dimensions")
        return self.linear(x)

    def generates(self, x):
        return sum(self.linear(one) for one in (x, x))

    def fails_on_data(self, x):
        y = self.drop(x)
        return self.linear(y)[torch.arange(x.shape[0])]

    def looks_up(self, x):
        return self.linear(x)[self.rows]

    def draws(self, x):
        return self.linear(x) + torch.rand(6)

    def detaches(self, x):
        return self.linear(x.detach())

    def splits(self, x):
        left, right = self.linear(x).chunk(2, -1)
        return torch.cat([left.relu(), right.transpose(0, 1).contiguous().t()], -1)


KINDS = [name for name in vars(Doing) if not name.startswith("__") and name != "forward"]


class Effects(nn.Module):
    def __init__(self, kind: str, count: int = 4):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(Doing(kind) for _ in range(count))

    def forward(self, x: torch.Tensor) -> Any:
        result = None
        for layer in self.layers:
            result = layer(x)
            x = result[0] if isinstance(result, tuple) else result
        return x, result
