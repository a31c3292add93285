"""Which sizes are to be symbolic, by what several processes have seen."""

import pytest
import torch
import torch.distributed as dist

from framesmith import frontend
from framesmith.frontend.cache import agreement
from framesmith.frontend.cache.agreement import SizesSeen, differing


def seen(dynamic=(), **sizes):
    return SizesSeen(sizes, {name: list(dynamic) for name in sizes})


@pytest.mark.parametrize(
    ("processes", "expected"),
    [
        ([seen(x=[2, 3]), seen(x=[2, 3])], {}),
        ([seen(x=[2, 3]), seen(x=[4, 3])], {"x": {0}}),
        ([seen(x=[2, 3]), seen(x=[4, 5])], {"x": {0, 1}}),
        ([seen(x=[2, 3]), seen(x=[2])], {}),
        ([seen(x=[2]), seen(y=[4])], {}),
        ([seen(x=[2], dynamic=[0]), seen(x=[4], dynamic=[0])], {}),
        ([seen(x=[2], dynamic=[0]), seen(x=[2])], {"x": {0}}),
        ([seen(x=[2], dynamic=[0]), seen(y=[2])], {}),
        ([seen(x=[2]), seen(x=[2]), seen(x=[3])], {"x": {0}}),
        ([seen(), seen()], {}),
    ],
)
def test_what_differs_or_was_learnt_by_one_is_symbolic_for_all(processes, expected):
    assert differing(processes) == differing(processes[::-1]) == expected


def test_what_is_exchanged_comes_back():
    one = seen(dynamic=[1], x=[2, 3])
    assert SizesSeen.of_text(one.text().encode()) == one


def test_a_store_that_has_gone_is_told_as_processes_that_do_not_come(monkeypatch):
    def fail(*args):
        raise dist.DistNetworkError("the connection was closed")

    monkeypatch.setattr(agreement, "_has_others", lambda: True)
    monkeypatch.setattr(agreement, "exchange", fail)
    monkeypatch.setattr(dist, "get_rank", lambda: 1)
    monkeypatch.setattr(dist, "get_world_size", lambda: 3)
    with (
        frontend.config.patch(enable_compiler_collectives=True),
        pytest.raises(frontend.ProcessesDiffer, match="ranks 0, 2") as told,
    ):
        frontend.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    assert isinstance(told.value.__cause__, dist.DistNetworkError)
