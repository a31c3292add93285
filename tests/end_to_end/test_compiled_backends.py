"""What ahead-of-time compilers take differently from the captured operations: guarded, or kept out of their graphs."""

import pytest
import torch
from tests.end_to_end.support import check, check_source
from torch.overrides import TorchFunctionMode

from framesmith import frontend

OVERLAPS = [
    (slice(0, 3), slice(3, 6)),
    (slice(0, 3), slice(1, 4)),
    (slice(0, 3), slice(0, 3)),
    (slice(3, 6), slice(2, 5)),
]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 0, 3, 2), (2, 3, 1, 0), (0, 3, 0, 1)])
def test_views_of_one_storage_that_overlap_otherwise(order: tuple[int, ...]) -> None:
    def f(a, b):
        a.add_(1)
        b.mul_(2)
        return a * b

    compiled = frontend.compile(f, backend="aot_eager")
    for one in order:
        left, right = OVERLAPS[one]
        bases = [torch.arange(6.0) for _ in range(2)]
        results = [g(z[left], z[right]) for g, z in zip((f, compiled), bases, strict=True)]
        assert torch.equal(*results) and torch.equal(*bases)


def test_a_default_dtype_that_is_set_midway() -> None:
    def f(x):
        torch.set_default_dtype(torch.float64)
        return torch.zeros(1), x + 1

    compiled = frontend.compile(f, backend="aot_eager")
    try:
        for _ in range(2):
            torch.set_default_dtype(torch.float32)
            assert compiled(torch.ones(2))[0].dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("given", [True, False])
def test_generators(given: bool) -> None:
    generator = torch.Generator()

    def f(x, g):
        return torch.rand(2, generator=g) + x, torch.randn(1, generator=generator)

    compiled = frontend.compile(f, backend="aot_eager")
    for seed in range(3):
        found = []
        for function in (f, compiled):
            generator.manual_seed(seed)
            own = torch.Generator().manual_seed(seed) if given else None
            torch.manual_seed(seed)
            found.append(torch.cat(function(torch.ones(2), own)))
        assert torch.equal(*found)


@pytest.mark.parametrize("added", ["before", "between"])
def test_backward_hooks_of_modules(added: str) -> None:
    def run(compiled: bool) -> list[object]:
        torch.manual_seed(0)
        layer, seen = torch.nn.Linear(2, 2), []

        def f(x):
            return layer(x) * 2

        function = frontend.compile(f, backend="aot_eager") if compiled else f
        for number in range(3):
            if number == (0 if added == "before" else 1):
                layer.register_full_backward_hook(lambda module, gi, go: seen.append(go[0].sum().item()))
            function(torch.ones(1, 2)).sum().backward()
        return [*seen, layer.weight.grad.tolist()]

    assert run(True) == run(False)


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_recurrent_layers_train(kind: type) -> None:
    layer = kind(2, 3)
    compiled = frontend.compile(lambda x: layer(x)[0] * 2, backend="aot_eager")
    for size in (2, 3, 1):
        x = torch.randn(size, 2, 2)
        found = []
        for function in (compiled, lambda x: layer(x)[0] * 2):
            layer.zero_grad()
            result = function(x)
            result.sum().backward()
            found.append([result, *(one.grad for one in layer.parameters())])
        assert all(torch.allclose(one, other) for one, other in zip(*found, strict=True))


def test_no_mode_sees_the_search_for_what_changed() -> None:
    seen: list[str] = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function.__name__)
            return function(*args, **(kwargs or {}))

    compiled = frontend.compile(lambda x: torch.sin(x), backend="eager", dynamic=True)
    for x in (torch.ones(2), torch.ones(3)):
        compiled(x)
        with Mode():
            compiled(x)
    assert seen == ["sin", "sin"]


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64])
@pytest.mark.parametrize(
    "program",
    [
        lambda x, c: x + c,
        lambda x, c: (x * c).sum() + c.sin(),
        lambda x, c: x.sum() * 0.5 + c,
        lambda x, c: c.add_(1) * x,
    ],
)
def test_a_number_in_a_tensor_is_no_reason_for_the_backend_to_begin_again(program, dtype):
    compiled = frontend.compile(program, backend="aot_eager")
    for value in (1, 2):
        torch._dynamo.symbolic_convert.TensorifyState.clear()  # torch asks for that once in a process
        one, other = (
            (torch.ones(2, dtype=torch.float64), torch.tensor(value, dtype=dtype)) for _ in range(2)
        )
        assert torch.equal(compiled(*one), program(*other)) and torch.equal(one[1], other[1])


def test_repeated_blocks_with_a_conversion_that_does_nothing_are_compiled_beside_a_write():
    """What the finished graph does without is still known to the copies of its results."""

    class Norm(torch.nn.Module):
        def forward(self, h):
            return h * torch.rsqrt(h.to(torch.float32).pow(2).mean(-1, keepdim=True) + 1e-6)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = torch.nn.ModuleList([Norm() for _ in range(4)])
            self.linear = torch.nn.Linear(8, 8)
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x):
            h = self.linear(x)
            for norm in self.norms:
                h = norm(h) + h
            self.calls.add_(1)
            return h

    check(Net(), torch.randn(3, 8), backend="aot_eager", breaks=0, tolerance=1e-6)


@pytest.mark.parametrize("bounds", [(), (5,), (0, 5), (-3, 4)])
def test_random_integers_within_bounds(bounds: tuple[int, ...]) -> None:
    def f(x):
        y = x * 2
        y.random_(*bounds)
        return y + x

    check(f, torch.ones(4), backend="aot_eager")


def test_a_graph_that_raises_has_drawn_what_the_program_draws() -> None:
    """The operations before the one that raised run again, and the generator starts where the program did."""
    check_source(
        """
import torch
table = torch.linspace(0.1, 1, 20)
log = []
turn = [0]
def args(): return [torch.ones(2)]
def f(x):
    turn[0] += 1
    index = torch.tensor([3, 30 * (turn[0] % 2)])
    noise = torch.randn_like(x)
    log.append(1)
    x.add_(1)
    try: return torch.index_select(table, 0, index) * torch.rand_like(x) + noise
    except IndexError as error: log.append(str(error))
    finally: log.append(torch.rand(2))
    return noise
""",
        calls=4,
        backend="aot_eager",
        backward=False,
    )
