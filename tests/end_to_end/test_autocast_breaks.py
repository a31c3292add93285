"""Autocast blocks that are open where a graph ends, under a backend that refuses graphs that change autocast."""

import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend

SETTINGS = [
    {"device_type": "cpu", "dtype": torch.float16},
    {"device_type": "cpu", "dtype": torch.bfloat16},
    {"device_type": "cpu", "dtype": torch.float16, "cache_enabled": False},
    {"device_type": "cpu", "enabled": False, "dtype": torch.float16},
]


def switches():
    return (
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
        torch.is_autocast_cache_enabled(),
        torch._C._is_any_autocast_enabled(),
    )


def around_a_print(x, w, settings):
    with torch.autocast(**settings):
        y = x @ w
        print("between", y.dtype, switches())
        z = y.float() @ w
    return y, z, x @ w, switches()


def in_two_blocks(x, w, settings):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ w
        with torch.autocast(**settings):
            z = x @ w
            print("inner", z.dtype)
        print("outer")
        u = x @ w
    return y, z, u, switches()


def before_an_exception(x, w, settings):
    try:
        with torch.autocast(**settings):
            y = x @ w
            y.reshape(7)
    except RuntimeError as error:
        return str(error), x @ w, switches()
    return None


def through_a_generator(x, w, settings):
    def products():
        with torch.autocast(**settings):
            yield x @ w
            yield x @ w * 2

    found = []
    for one in products():
        print("product", one.dtype)
        found.append(one)
    return found, switches()


PROGRAMS = [around_a_print, in_two_blocks, before_an_exception, through_a_generator]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_blocks_around_the_end_of_a_graph(program, settings):
    # `w` requires no gradient: autocast keeps copies of leaves that do, which AOTAutograd's graphs do without.
    check(program, torch.ones(2, 2), torch.full((2, 2), 0.5), settings, backend="aot_eager")


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_caller_is_in_a_block_of_another_dtype(program, settings):
    compiled = frontend.compile(program, backend="aot_eager")
    x, w = torch.ones(2, 2), torch.full((2, 2), 0.5)
    for dtype in (torch.float16, torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype=dtype):
            expected, found = program(x, w, settings), compiled(x, w, settings)
            assert str(found) == str(expected)
            assert switches() == (True, dtype, True, True)
        assert not torch.is_autocast_enabled("cpu")
