"""What the programs that drop objects are made of. `program(compile, calls)` gives (what is kept, weak references to what was dropped)."""

import dataclasses
import weakref

import torch
from torch import nn


class Thing:
    def __init__(self, value=2.0):
        self.value = value
        self.tensor = torch.full((3,), float(value))

    def scale(self, x):
        return x * self.value + self.tensor


class Items(list):
    pass


class Table(dict):
    pass


@dataclasses.dataclass
class Point:
    x: torch.Tensor
    n: int = 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.thing = Thing()

    def forward(self, x):
        return self.norm(self.inner(x)).relu() * self.thing.value


def refs(*objects):
    return [weakref.ref(one) for one in objects]


def X():
    return torch.ones(3)


def XX():
    return torch.ones(4, 3)


KINDS = []


def kind(f):
    KINDS.append(f)
    return f
