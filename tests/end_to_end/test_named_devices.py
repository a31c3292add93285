"""Devices that a program names: those that are not there, where eager raises, and numbers of the CPU, of which there is one."""

import pytest
import torch
from tests.end_to_end.support import check
from torch import nn

X = torch.ones(3)
ABSENT = f"cuda:{torch.cuda.device_count()}" if torch.cuda.is_available() else "cuda"


def attempt(call):
    try:
        return call()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        return type(error), str(error)[:40]


def unused(x):
    return attempt(lambda: torch.ones(1, device=ABSENT).shape), x + 1


def asked(x):
    return attempt(lambda: torch.zeros(1, device=ABSENT).device.type), x + 1


def like_others(x):
    return attempt(lambda: x.new_ones(2, device=ABSENT).dtype), attempt(lambda: x.to(ABSENT).dtype), x + 1


def in_a_block(x):
    def make():
        with torch.device(ABSENT):
            return torch.ones(1).shape

    return attempt(make), x + 1


def in_a_module(x):
    return attempt(lambda: nn.Linear(2, 2, device=ABSENT).in_features), x + 1


def chosen(x):
    try:
        device = torch.zeros(1, device=ABSENT).device
    except (RuntimeError, AssertionError):
        device = torch.device("cpu")
    return torch.ones(3, device=device) + x


@pytest.mark.parametrize("function", [unused, asked, like_others, in_a_block, in_a_module, chosen])
@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_a_device_that_is_not_there(function, backend) -> None:
    check(function, X, backend=backend)


def numbered(x):
    first = torch.device("cpu", 0)
    with first:
        a = torch.ones(2)
    b, c = torch.zeros(2, device="cpu:0"), x.to("cpu:1")
    return a.device, b.device, c.device, a + b, c is x, torch.empty_like(x, device=first).device, first


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_a_number_of_the_cpu(backend) -> None:
    check(numbered, X, backend=backend, breaks=0)


def test_pinned_memory() -> None:
    check(lambda x: (attempt(lambda: torch.empty(1, pin_memory=True).is_pinned()), x + 1), X)
