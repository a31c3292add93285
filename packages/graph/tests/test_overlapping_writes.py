"""Whether two tensors share elements, beside a comparison of all elements."""

import random

import pytest
import torch

from framesmith.graph.backends.overlapping_writes import share_elements

BASE = torch.arange(400)


def some_view(source, shape=None, stride=None):
    rank = source.randint(1, 3)
    shape = shape or [source.randint(1, 4) for _ in range(rank)]
    stride = stride or [source.randint(0, 9) for _ in range(len(shape))]
    return BASE.as_strided(shape, stride, source.randint(0, 40))


@pytest.mark.parametrize("is_alike", [True, False])
def test_elements_are_shared_as_a_comparison_says(is_alike):
    source = random.Random(7)
    for _ in range(2000):
        one = some_view(source)
        other = some_view(source, list(one.shape), list(one.stride())) if is_alike else some_view(source)
        places = [(view.shape, view.stride(), view.storage_offset()) for view in (one, other)]
        if places[0] != places[1]:
            expected = not set(one.flatten().tolist()).isdisjoint(other.flatten().tolist())
            assert share_elements(one, other) == expected, places


def test_halves_of_large_tensors_are_told_apart():
    large = torch.empty(64, 128, 4096, device="meta")
    assert not share_elements(large[..., ::2], large[..., 1::2])
    assert not share_elements(large[..., :2048], large[..., 2048:])
    assert share_elements(large[:, 1:], large[:, :-1])
