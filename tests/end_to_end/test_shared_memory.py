"""What the trace decides by the memory that two inputs share, where they share it in one call and not in the next."""

import itertools
from collections.abc import Callable

import pytest
import torch
from tests.end_to_end.support import check_source, compare_worlds
from tests.end_to_end.worlds import World, load
from torch import nn

from framesmith import frontend


def numbers(count: int = 4) -> torch.Tensor:
    """A new tensor."""
    return torch.arange(float(count))


def two_parts(first: slice, second: slice) -> list[torch.Tensor]:
    """Two views of one tensor."""
    whole = numbers(8)
    return [whole[first], whole[second]]


def with_view(form: Callable[[torch.Tensor], torch.Tensor]) -> list[torch.Tensor]:
    """A tensor and another one over its memory."""
    whole = numbers()
    return [whole, form(whole)]


WAYS: dict[str, Callable[[], list[torch.Tensor]]] = {
    "free": lambda: [numbers(), numbers()],
    "parts of two": lambda: [numbers(8)[2:6], numbers(8)[2:6]],
    "one": lambda: with_view(lambda whole: whole),
    "a view": lambda: with_view(lambda whole: whole.view(4)),
    "the base": lambda: with_view(lambda whole: whole.view(4))[::-1],
    "detached": lambda: with_view(torch.Tensor.detach),
    "two views": lambda: two_parts(slice(0, 4), slice(0, 4)),
    "two later views": lambda: two_parts(slice(2, 6), slice(2, 6)),
    "apart": lambda: two_parts(slice(4, 8), slice(0, 4)),
    "overlapping": lambda: two_parts(slice(1, 5), slice(3, 7)),
    "two storages": lambda: [torch.from_dlpack(whole := numbers()), torch.from_dlpack(whole)],
}  # fmt: skip
# Each way beside the one that shares nothing, first and later, and what differs between ways of sharing.
CROSSED = [
    *((way, "free") for way in WAYS if way != "free"),
    *(("free", way) for way in ("a view", "detached", "apart", "two storages")),
    ("a view", "detached"),
    ("two views", "two later views"),
    ("two later views", "two views"),
    ("two storages", "apart"),
    ("two storages", "a view"),
]


def compare(body: str, first: str, second: str, backend: str) -> None:
    """Three calls with inputs of the first kind, the second one and the first one again."""
    turns = iter([second, second, first, first])  # each for eager and compiled

    def change(pair: list[torch.Tensor]) -> None:
        pair[:] = WAYS[next(turns)]()

    source = (
        f"import torch\nW = torch.ones(4, requires_grad=True)\ndef f(pair):\n    p, q = pair\n    {body}\n"
    )
    worlds = [World(load(source, "test")["f"], (WAYS[first](),), {}) for _ in range(2)]
    compare_worlds(*worlds, backend=backend, change=change)


QUESTIONS = {
    "equal": "return p.data_ptr() == q.data_ptr()",
    "unequal": "return p.data_ptr() != q.data_ptr(), p * 2",
    "less": "return p.data_ptr() < q.data_ptr() or q.data_ptr() < p.data_ptr()",
    "in a list": "return p.data_ptr() in [q.data_ptr()], len({p.data_ptr(), q.data_ptr()})",
    "decided": "return p + q if p.data_ptr() == q.data_ptr() else p - q",
    "through data": "return p.data.data_ptr() == q.detach().data_ptr()",
    "of views": "return p.view(-1).data_ptr() == q[:2].data_ptr(), p[1:].data_ptr() == q[1:].data_ptr()",
    "of copies": "return p.contiguous().data_ptr() == q.to(q.dtype).data_ptr()",
    "each": "return [a.data_ptr() == b.data_ptr() for a in pair for b in pair]",
    "storages": "return p.untyped_storage().data_ptr() == q.untyped_storage().data_ptr(), p.is_set_to(q)",
    "offsets": "return p.storage_offset(), p.storage_offset() == q.storage_offset()",
    "bases": "return p._base is None, q._is_view(), (p if p._base is None else p._base) is q._base",
    "identity": "return p is q",
    "alias": "return torch._C._is_alias_of(p, q)",
    "before a write": "a = p.data_ptr() == q.data_ptr(); q.add_(1); return a, p * 2",
    "replaced data": "p.data = p * 2; return p.data_ptr() == q.data_ptr()",
    "behind": "a = p.data_ptr(); p.data = q.detach() * 2; return a == q.data_ptr(), p.data_ptr() == q.data_ptr()",
}
WRITES = {
    "counted": "a = p._version; q.add_(1); return p._version - a",
    "counts": "q[0] = 1; return p._version - q._version",
    "through a view": "q.view(-1).add_(1); return p.view(-1)._version",
    "requires a gradient": "q.mul_(W); return p.requires_grad, q.requires_grad",
    "leaf": "q.mul_(W); return p.is_leaf, p.grad_fn is None",
    "computed": "q.mul_(W); return (p * 2).requires_grad",
    "read again": "a = p * 2; q.add_(1); return a, p * 3",
    "read and written": "q.add_(p); return q * p",
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_about_memory(name: str, backend: str) -> None:
    for first, second in CROSSED if name == "equal" else CROSSED[1::4]:
        compare(QUESTIONS[name], first, second, backend)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", WRITES)
def test_a_question_behind_a_write_to_the_other_one(name: str, backend: str) -> None:
    for first, second in CROSSED if backend == "eager" else CROSSED[-9:]:
        compare(WRITES[name], first, second, backend)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_tied_weights_that_are_untied(backend: str) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 2)
            self.second.weight = nn.Parameter(self.first.weight.data)

        def forward(self, x: torch.Tensor) -> tuple[bool, torch.Tensor]:
            return self.first.weight.data_ptr() == self.second.weight.data_ptr(), self.first(x)

    model = Tied()
    compiled = frontend.compile(model, backend=backend)
    assert compiled(torch.ones(1, 2))[0] is True
    model.second.weight = nn.Parameter(torch.ones(2, 2))
    assert compiled(torch.ones(1, 2))[0] is False
    model.second.weight.data = model.first.weight.data
    assert compiled(torch.ones(1, 2))[0] is True


def test_equal_addresses_cost_no_graph_for_one_input() -> None:
    def f(p: torch.Tensor) -> tuple[bool, torch.Tensor]:
        return p.data_ptr() == p.view(-1).data_ptr(), p * 2

    compiled = frontend.compile(f, backend="eager", fullgraph=True)
    assert compiled(numbers())[0] and compiled(numbers(8)[:4])[0]


ARRAYS = {
    "free": "np.arange(4.0), np.arange(4.0)",
    "one": "(a := np.arange(4.0)), a",
    "a view": "(a := np.arange(4.0)), a[:]",
    "apart": "(a := np.arange(8.0))[:4], a[4:]",
    "overlapping": "(a := np.arange(8.0))[1:5], a[3:7]",
}
ARRAY_QUESTIONS = [
    "return np.shares_memory(p, q), np.may_share_memory(p[:1], q[:1])",
    "return p.ctypes.data == q.ctypes.data, p is q, p.base is q, q.base is p",
    "return p.__array_interface__['data'] == q.__array_interface__['data']",
    "return torch.from_numpy(p).data_ptr() == torch.from_numpy(q).data_ptr()",
    "q[0] = 7; return p.sum(), p * 2",
    "c = p * 2; q += 1; return c, p * 3",
]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("body", ARRAY_QUESTIONS)
def test_arrays_that_share_memory(body: str, backend: str) -> None:
    for first, second in itertools.permutations(ARRAYS, 2):
        source = f"import numpy as np, torch\ndef f(pair):\n    p, q = pair\n    {body}\n"
        made = f"def args():\n    return ([{ARRAYS[first]}],)\ndef other(pair):\n    pair[:] = {ARRAYS[second]}\n"
        space: dict[str, object] = {}
        exec(f"import numpy as np\n{made}", space)  # noqa: S102
        check_source(source + made, backend=backend, calls=2, change=space["other"])
