"""The copies of weights that autocast keeps until its outermost block ends: what is written to a weight in between is not seen."""

import gc
import weakref

import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend

BACKENDS = [None, "aot_eager"]


def written_in_between(weight, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        first = x @ weight
        with torch.no_grad():
            weight.add_(1.0)
        return first, x @ weight


def written_through_data(weight, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        first = x @ weight
        weight.data.mul_(2.0)
        with torch.autocast("cpu", enabled=False):
            second = x @ weight
        return first, second, torch.nn.functional.linear(x, weight)


def without_copies(weight, x):
    with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
        first = x @ weight
        with torch.no_grad():
            weight.add_(1.0)
        return first, x @ weight


def in_one_block_after_the_other(weight, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        first = x @ weight
    with torch.no_grad():
        weight.add_(1.0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return first, x @ weight


def forgotten_by_the_program(weight, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        first = x @ weight
        with torch.no_grad():
            weight.add_(1.0)
        torch.clear_autocast_cache()
        return first, x @ weight


def two_steps_in_a_block(weight, x):
    optimizer = torch.optim.SGD([weight], lr=0.5)
    losses = []
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(2):
            loss = (x @ weight).float().sum()
            loss.backward(retain_graph=True)
            optimizer.step()
            losses.append(loss.detach())
    return losses, weight.grad


PROGRAMS = [
    written_in_between,
    written_through_data,
    without_copies,
    in_one_block_after_the_other,
    forgotten_by_the_program,
    two_steps_in_a_block,
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_weight_is_written_inside_of_a_block(program, backend) -> None:
    check(
        program, torch.full((2, 2), 0.5, requires_grad=True), torch.ones(1, 2), backend=backend, change=None
    )


def shown(result):
    return [(one.dtype, one.tolist(), one.requires_grad) for one in result]


def in_a_block_of_the_caller(function, weight, x):
    found = []
    for _ in range(3):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found += [x @ weight]
            with torch.no_grad():
                weight.add_(2.0)
            found += function(weight, x)
            found += [x @ weight]
    return shown(found)


def twice_in_the_callers_block(weight, x):
    first = x @ weight
    with torch.no_grad():
        weight.add_(1.0)
    return first, x @ weight


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", [twice_in_the_callers_block, *PROGRAMS[:4]])
def test_the_block_is_open_around_the_call(program, backend) -> None:
    found = []
    for function in (program, frontend.compile(program, backend=backend)):
        weight = torch.full((2, 2), 0.5, requires_grad=True)
        found.append(in_a_block_of_the_caller(function, weight, torch.ones(1, 2)))
    assert found[0] == found[1]


def breaks_inside(weight, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        first = x @ weight
        print("a break")
        with torch.no_grad():
            weight.add_(1.0)
        second = x @ weight
        print("a break that leaves the block to its continuation")
        return first, second, x @ weight


def test_tracing_the_end_of_a_block_forgets_no_copies() -> None:
    check(breaks_inside, torch.full((2, 2), 0.5, requires_grad=True), torch.ones(1, 2), change=None)


def test_copies_of_fakes_end_with_the_trace() -> None:
    @frontend.compile(backend="eager")
    def left_open(weight, x):
        block = torch.autocast("cpu", dtype=torch.bfloat16)
        block.__enter__()
        return block, x @ weight

    weight = torch.ones(2, 2, requires_grad=True)
    block, product = left_open(weight, torch.ones(1, 2))
    block.__exit__(None, None, None)
    end = weakref.ref(weight)
    del weight, product
    gc.collect()
    assert end() is None
    assert torch.autocast_increment_nesting() == 1
    assert torch.autocast_decrement_nesting() == 0


def turned_off_for_a_product(weight, x):
    with torch.autocast("cpu", enabled=False):
        return [x @ weight]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("depths", [(1, 2, 1), (2, 1, 2)])
def test_the_cache_is_the_callers_if_the_caller_is_in_a_block(depths, backend) -> None:
    def run(function):
        weight, x, found = torch.full((2, 2), 0.5, requires_grad=True), torch.ones(1, 2), []
        for depth in depths:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=depth == 2):
                found += [x @ weight]
                with torch.no_grad():
                    weight.add_(2.0)
                with torch.autocast("cpu", enabled=False):
                    found += function(weight, x)
                found += [x @ weight]
            found += function(weight, x)
            found += [torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()]
        return [one.tolist() if isinstance(one, torch.Tensor) else one for one in found]

    assert run(frontend.compile(turned_off_for_a_product, backend=backend)) == run(turned_off_for_a_product)
