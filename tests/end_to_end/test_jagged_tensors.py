"""Nested tensors with the layout `torch.jagged`: captured, with symbolic lengths, and equal to eager over batches of other lengths."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from framesmith import frontend

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
LENGTHS = ((3, 5, 2), (4, 4, 4), (1, 2, 3), (2, 2), (7,), (1, 1, 1, 1), (3, 5, 2))
WEIGHT = torch.linspace(-1, 1, 24).view(6, 4)
Batch = tuple[torch.Tensor, ...]


def jagged(lengths: Sequence[int], seed: int = 0, requires_grad: bool = False) -> torch.Tensor:
    torch.manual_seed(seed)
    parts = [torch.randn(length, 4) for length in lengths]
    return torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=requires_grad)


def singles() -> list[Batch]:
    return [(jagged(lengths),) for lengths in LENGTHS]


def leaves() -> list[Batch]:
    return [(jagged(lengths, requires_grad=True),) for lengths in LENGTHS]


def alike() -> list[Batch]:
    """Pairs that share their lengths."""
    return [(one, one * 3) for (one,) in singles()]


def mixed() -> list[Batch]:
    """Pairs that share their lengths or do not, in turn."""
    apart = [(jagged(lengths), jagged(lengths, 1)) for lengths in LENGTHS]
    return [pair for both in zip(alike()[:4], apart[:4], strict=True) for pair in both]


def parts() -> list[Batch]:
    return [(one.values().clone(), one.offsets().clone()) for (one,) in singles()]


def with_its_values() -> list[Batch]:
    return [(one, one.values()) for (one,) in singles()]


def with_its_offsets() -> list[Batch]:
    return [(one, one.offsets()) for (one,) in singles()]


def make(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    return torch.nested.nested_tensor_from_jagged(values, offsets)


def reads_shapes(n: torch.Tensor) -> tuple[object, ...]:
    return (
        n.shape[0],
        n.size(2),
        n.dim(),
        n.is_nested,
        n.layout == torch.jagged,
        n.size(1) == n.shape[1],
        type(n),
    )


def branches(n: torch.Tensor) -> torch.Tensor:
    return n * 2 if n.size(0) > 2 else n + 1


def breaks_inside(n: torch.Tensor) -> torch.Tensor:
    values = n.values().sin()
    print("between")
    return make(values, n.offsets()) + n


def attends(n: torch.Tensor) -> torch.Tensor:
    heads = n.unflatten(-1, [2, 2]).transpose(1, 2)
    return F.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).flatten(-2) * 2


def handles(n: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    try:
        return n + m
    except RuntimeError:
        return n.sin()


def writes(n: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    n.add_(m)
    return n * 2


def writes_values(n: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    values.mul_(2)
    return n + 1


def without_gradients(n: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return n * 2


def counts(n: torch.Tensor) -> list[int]:
    return [part.shape[0] for part in n.unbind()]


CAPTURED: dict[str, tuple[Callable[..., object], Callable[[], list[Batch]]]] = {
    "pointwise": (lambda n: torch.relu(n * 2 + 1).cos() - n, singles),
    "a layer": (lambda n: F.layer_norm(F.linear(n, WEIGHT).relu(), (6,)), leaves),
    "a reduction": (lambda n: (n.sum(dim=1), n.sum(dim=-1), F.softmax(n, dim=-1)), singles),
    "padding": (lambda n: torch.nested.to_padded_tensor(n.sin(), 0.5), leaves),
    "values and offsets": (lambda n: (n.values().sum(), n.offsets().diff(), n.offsets()), singles),
    "components": (lambda n: [part.sum(0) for part in n.unbind()], singles),
    "dimensions": (lambda n: (n.unsqueeze(-1), n.unflatten(-1, (2, 2)), n.chunk(2, dim=-1)), singles),
    "shapes": (reads_shapes, singles),
    "a branch on the batch": (branches, singles),
    "itself": (lambda n: n, singles),
    "copies": (lambda n: (n.clone(), n.detach(), n.to(torch.float64), torch.zeros_like(n)), singles),
    "equal lengths": (lambda n, m: (n + m, torch.where(n > m, n, m), torch.cat([n, m], dim=-1)), alike),
    "other lengths or equal ones": (lambda n, m: (n.sin(), m.cos(), n.shape == m.shape), mixed),
    "a write": (writes, alike),
    "made": (lambda v, o: make(v.sin(), o) * 2, parts),
    "made twice": (lambda v, o: (make(v, o) + make(v + 1, o)).values(), parts),
    "made with its offsets": (lambda n, o: make(n.values() * 3, o) + n, with_its_offsets),
    "made of a list": (lambda v, o: torch.nested.nested_tensor([v[:1], v[:1]], layout=torch.jagged), parts),
    "without gradients": (without_gradients, leaves),
}
NATIVE_IN_PART: dict[str, tuple[Callable[..., object], Callable[[], list[Batch]]]] = {
    "a break": (breaks_inside, singles),
    "attention": (attends, leaves),
    "numbers of components": (counts, singles),
    "an exception": (handles, mixed),
    "refused by torch": (lambda n: n + torch.ones(3), singles),
    "memory that is shared": (writes_values, with_its_values),
}


def tensors_of(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from tensors_of(item)


def show(value: Any) -> object:
    """What a test compares: a jagged tensor by what it holds. The number that stands for its lengths is counted per process."""
    if isinstance(value, tuple | list):
        return [show(item) for item in value]
    if not isinstance(value, torch.Tensor):
        return value
    shown = (value.dtype, value.requires_grad, value.grad_fn is None)
    if not value.is_nested:
        return *shown, tuple(value.shape), value.tolist()
    values = value.values()
    place = value._ragged_idx, [*value._metadata_cache]  # type: ignore[attr-defined]
    return *shown, *place, values.stride(), values.tolist(), value.offsets().tolist()


def observe(function: Callable[..., Any], batch: Batch) -> tuple[object, ...]:
    try:
        result = function(*batch)
    except RuntimeError as error:
        return type(error), str(error)
    for one in tensors_of(result):
        if one.requires_grad and not one.is_leaf:
            (one.values() if one.is_nested else one).square().sum().backward()
    same = [[one is given for given in batch] for one in tensors_of(result)]
    # Its lengths are those of the argument still.
    for one in tensors_of(result):
        if one.is_nested and batch[0].is_nested and one.shape == batch[0].shape:
            assert show(one.detach() - one.detach()) is not None
    return show(result), show(batch), [show(one.grad) for one in batch if one.is_leaf], same


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", CAPTURED)
def test_the_whole_function_is_captured(name: str, backend: str):
    function, batches = CAPTURED[name]
    compiled = frontend.compile(function, backend=backend, fullgraph=True)
    for one, other in zip(batches(), batches(), strict=True):
        assert observe(compiled, other) == observe(function, one)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", NATIVE_IN_PART)
def test_what_no_graph_holds_runs_natively(name: str, backend: str):
    function, batches = NATIVE_IN_PART[name]
    compiled = frontend.compile(function, backend=backend)
    for one, other in zip(batches(), batches(), strict=True):
        assert observe(compiled, other) == observe(function, one)


def test_a_result_has_the_lengths_of_its_operand():
    compiled = frontend.compile(lambda n: n * 2, backend="aot_eager", fullgraph=True)
    for (one,) in singles():
        assert compiled(one).shape == one.shape
        assert torch.equal((compiled(one) - one).values(), one.values())


def test_other_lengths_need_no_new_graph():
    graphs = 0

    def backend(module: torch.fx.GraphModule, inputs: object) -> Callable[..., object]:
        nonlocal graphs
        graphs += 1
        return module.forward

    compiled = frontend.compile(lambda n, m: (n + m).sin(), backend=backend, fullgraph=True)
    for length in range(2, 9):
        one = jagged((length, 2 * length, 3))
        compiled(one, one * 2)
    assert graphs == 1


def test_operands_of_other_lengths_are_refused_as_in_eager():
    compiled = frontend.compile(lambda n, m: n + m, backend="eager")
    for one, other in mixed():
        if one.shape == other.shape:
            assert torch.equal(compiled(one, other).values(), (one + other).values())
        else:
            with pytest.raises(RuntimeError, match="cannot call binary pointwise function"):
                compiled(one, other)
