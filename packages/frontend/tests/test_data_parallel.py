"""Which buckets a wrapper of data parallel training makes, and where there are none."""

from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from framesmith.frontend.tracing.data_parallel import buckets_of, find_buckets


@pytest.fixture
def inner():
    """A model in this process, which is alone in a group."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    model[0].bias.requires_grad_(False)
    yield model
    dist.destroy_process_group()


def test_the_first_bucket_is_small_where_the_program_names_no_size(inner):
    buckets = buckets_of(DistributedDataParallel(inner))
    assert buckets.first == 2**20 and buckets.size > buckets.first
    assert buckets.parameters == {id(one) for one in (inner[0].weight, *inner[1].parameters())}


def test_all_buckets_have_the_size_that_the_program_names(inner):
    buckets = buckets_of(DistributedDataParallel(inner, bucket_cap_mb=2))
    assert buckets.first == buckets.size == 2 * 2**20


def test_there_are_none_without_a_wrapper_or_other_processes(inner):
    assert find_buckets(SimpleNamespace(frames=[])) is None
    wrapper = DistributedDataParallel(inner)
    frame = SimpleNamespace(
        code=DistributedDataParallel.forward.__code__, locals={"self": SimpleNamespace(value=wrapper)}
    )
    assert find_buckets(SimpleNamespace(frames=[frame])) is None
