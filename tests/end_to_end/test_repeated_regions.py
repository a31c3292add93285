"""Functions marked with `nested_compile_region`: calls like an earlier one are repeated, and mean what they mean eagerly."""

import pytest
import torch
from tests.end_to_end.support import check
from torch import nn

from framesmith import frontend

region = torch.compiler.nested_compile_region
SETTINGS = {"scale": 2.0}
CALLS = [0]
SPECIAL = torch.ones(3, 3)


@region
def plain(x, w):
    return torch.relu(x @ w).t() + x * SETTINGS["scale"]


@region
def writes_its_argument(x, w):
    x.mul_(0.5)
    return (x @ w).tanh() + 1


@region
def writes_a_weight(x, w):
    w.add_(1.0)
    return (x @ w).tanh() + 1


@region
def draws(x, w):
    return torch.dropout(x @ w, 0.5, True) + torch.rand(3)


@region
def returns_its_argument(x, w):
    return x, x.view(9), (x @ w).sin()


@region
def counts(x, w):
    CALLS[0] += 1
    return (x @ w) * CALLS[0]


@region
def compares(x, w):
    return x * 100 if w is SPECIAL else (x @ w).tanh()


@region
def breaks(x, w):
    y = x @ w
    print(y.shape)
    return y.tanh()


@region
def raises(x, w):
    return torch.linalg.inv(x @ w)


@region
def calls_another(x, w):
    return plain(plain(x, w), w).tanh()


REGIONS = (
    plain,
    writes_its_argument,
    writes_a_weight,
    draws,
    returns_its_argument,
    compares,
    breaks,
    raises,
    calls_another,
)


def stacked(function, x, weights):
    torch.manual_seed(0)
    SETTINGS["scale"], CALLS[0] = 2.0, 0
    for w in weights:
        x = function(x * 1.5, w)
        x = x[-1] if isinstance(x, tuple) else x
    return x


def with_changes_between(function, x, weights):
    CALLS[0] = 0
    for index, w in enumerate(weights):
        SETTINGS["scale"] = float(index // 3)
        with torch.set_grad_enabled(index % 3 != 2):
            x = function(x * 1.5, w)
        x = x[-1] if isinstance(x, tuple) else x
    return x


@pytest.fixture(autouse=True)
def plain_globals():
    SETTINGS["scale"], CALLS[0] = 2.0, 0
    yield
    SETTINGS["scale"], CALLS[0] = 2.0, 0


def weights(requires_grad=False):
    torch.manual_seed(1)
    made = [torch.randn(3, 3) / 3 for _ in range(4)]
    made += [SPECIAL, made[0], torch.randn(3, 3).t(), torch.randn(1, 3, 3)[0], SPECIAL]
    return [w.requires_grad_() for w in made] if requires_grad else made


@pytest.mark.parametrize("function", REGIONS)
@pytest.mark.parametrize("program", [stacked, with_changes_between])
@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_regions_do_what_they_do_eagerly(program, function, backend):
    with torch.no_grad():
        check(program, function, torch.randn(3, 3), weights(), backend=backend)


@pytest.mark.parametrize("function", [plain, draws, returns_its_argument, calls_another])
@pytest.mark.parametrize("program", [stacked, with_changes_between])
def test_gradients_pass_through_regions(program, function):
    made = [w.detach().clone().requires_grad_() for w in weights()]
    check(program, function, torch.randn(3, 3, requires_grad=True), made)


def repeats(function, *args):
    before = frontend.counters["stats"]["repeated_blocks"]
    with torch.no_grad():
        frontend.compile(function, backend="eager")(*args)
    return frontend.counters["stats"]["repeated_blocks"] - before


def test_a_region_is_traced_once():
    assert (
        repeats(stacked, plain, torch.randn(3, 3), [torch.randn(3, 3) for _ in range(12)]) >= 10
    )  # the first input has other strides


def test_a_region_in_a_region_is_traced_once():
    assert repeats(stacked, calls_another, torch.randn(3, 3), [torch.randn(3, 3) for _ in range(12)]) >= 11


def test_a_region_that_reads_what_has_changed_is_traced_again():
    x, made = torch.randn(3, 3), weights()
    assert repeats(stacked, counts, x, made) == 0
    compiled = frontend.compile(stacked, backend="eager")
    for _ in range(3):
        assert torch.equal(compiled(counts, x, made), stacked(counts, x, made))
        assert CALLS[0] == len(made)


class Cell(nn.Module):
    """Its method is a region, called without the module's own call."""

    def __init__(self, scale=1.0):
        super().__init__()
        self.linear, self.scale = nn.Linear(3, 3), scale

    @region
    def step(self, x):
        return self.linear(x).tanh() * self.scale


def stepped(cells, x):
    for cell in cells:
        x = cell.step(x)
    return x


@pytest.mark.parametrize("odd", [None, 2])
def test_regions_that_are_methods_of_modules(odd):
    torch.manual_seed(0)
    cells = nn.ModuleList(Cell(3.0 if index == odd else 1.0) for index in range(6))
    check(stepped, cells, torch.randn(2, 3))
    assert repeats(stepped, cells, torch.randn(2, 3)) >= 4


def test_an_operation_of_a_region_that_raises_raises_what_it_raises_eagerly():
    def stack(x, weights):
        for w in weights:
            x = raises(x, w)
        return x

    good = [torch.eye(3) for _ in range(5)]
    with torch.no_grad():
        check(stack, torch.eye(3), [*good[:3], torch.zeros(3, 3), *good])
        check(stack, torch.eye(3), good)


def test_a_region_whose_closure_changes_between_its_calls():
    def program(x):
        factor = 1

        @torch.compiler.nested_compile_region
        def region(y):
            return (y * factor).sin() + y.cos() - y * factor

        first = region(x)
        factor = 3
        return first, region(first), region(x)

    check(program, torch.randn(3))


def test_regions_that_a_loop_makes_and_drops():
    def program(x):
        found = []
        for factor in range(1, 6):
            region = torch.compiler.nested_compile_region(lambda y, k=factor: (y * k).sin() + y.cos() - y * k)
            found.append(region(x))
            del region
        return found

    check(program, torch.randn(3))
