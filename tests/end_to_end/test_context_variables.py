"""`ContextVar.get`, `set` and `reset`, and the settings of torch's backends that are read and set through Python objects."""

import contextvars

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend

PROGRAM = """
import contextlib
import contextvars
import torch

scale = contextvars.ContextVar("scale", default=2)
other = contextvars.ContextVar("other")
held = []

@contextlib.contextmanager
def scope(value):
    token = scale.set(value)
    try:
        yield scale.get()
    finally:
        scale.reset(token)

def args():
    return (torch.arange(12.0).reshape(3, 4),)

{}
"""


def run(body, **settings):
    return check_source(PROGRAM.format(body), **settings)


@pytest.mark.parametrize(
    "lines",
    [
        "return x * scale.get(), scale.name",
        "scale.set(scale.get() + 1); return x * scale.get()",
        "return x * scale.get(5), x * other.get(7)",
        "token = scale.set(x + 1); y = scale.get() * 2; scale.reset(token); return y, scale.get()",
        "held.append(scale.set(scale.get() * 2)); return x * scale.get(), len(held)",
        "other.set([1]) if not held else other.get().append(2); held.append(0); return x, list(other.get())",
        "return {scale: x}[scale], scale is scale, scale == other",
    ],
)
def test_a_context_variable_is_read_and_set_in_one_graph(lines):
    run(f"def f(x):\n    {lines}", breaks=0)


@pytest.mark.parametrize("value", ["4", "x + 1", "scale.get() + 1"])
def test_nested_blocks_set_and_take_back(value):
    run(
        f"""
def f(x):
    with scope({value}) as first:
        with scope({value}):
            y = scale.get() * x
        z = scale.get() * first
    return y, z, scale.get()
""",
        breaks=0,
    )


@pytest.mark.parametrize(
    "body",
    [
        "with scope(x + 1):\n        print('inside', scale.get().sum())\n        y = scale.get() * 2\n    return y, scale.get()",
        "first = scale.set(1); second = scale.set(2); scale.reset(first); return x * scale.get()",
        "token = scale.set(1)\n    try:\n        other.reset(token)\n    except ValueError:\n        return x, scale.get()",
        "token = scale.set(1); scale.reset(token)\n    try:\n        scale.reset(token)\n    except RuntimeError:\n        return x",
        "try:\n        return x * other.get()\n    except LookupError:\n        return x + 1",
        "if held:\n        scale.reset(held.pop())\n    else:\n        held.append(scale.set(9))\n    return x * scale.get()",
        "return scale.set(7).old_value, x * scale.get()",
    ],
)
def test_breaks_and_exceptions_leave_the_variables_as_eager_does(body):
    run(f"def f(x):\n    {body}")


def test_a_changed_context_variable_is_seen_by_the_next_call():
    scale = contextvars.ContextVar("scale", default=2)

    @frontend.compile(fullgraph=True, backend="eager")
    def multiply(x):
        return x * scale.get(), x * scale.get(5)

    x = torch.ones(2)
    seen = [multiply(x)]
    scale.set(3)
    seen.append(multiply(x))
    assert [(int(one[0]), int(other[0])) for one, other in seen] == [(2, 5), (3, 3)]
    assert [int(one[0]) for one in contextvars.Context().run(multiply, x)] == [2, 5]


SETTINGS = [
    "torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)",
    "torch.nn.attention.sdpa_kernel([torch.nn.attention.SDPBackend.MATH], set_priority=True)",
    "torch.backends.cudnn.flags(enabled=False)",
    "torch.backends.cudnn.flags(enabled=True, benchmark=True, deterministic=True, allow_tf32=False)",
]


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_of_backends_are_turned_in_the_graph(setting, backend):
    before = torch.backends.cudnn.benchmark, torch._C._get_sdp_priority_order()
    body = f"""
def f(x):
    with {setting}:
        y = torch.nn.functional.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None])
        inside = torch.backends.cudnn.benchmark, torch.backends.cudnn.enabled
    return y, inside, torch.backends.cudnn.benchmark
"""
    run(body, breaks=0, backend=backend, tolerance=1e-6)
    assert before == (torch.backends.cudnn.benchmark, torch._C._get_sdp_priority_order())


def test_a_flag_of_a_backend_is_stored():
    body = """
def f(x):
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = not before
    y = x + torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = before
    return y
"""
    run(body, breaks=0)


def test_a_graph_that_raises_leaves_the_variable_as_eager_does():
    run("""
def f(x):
    token = scale.set(3)
    try:
        torch.linalg.inv(torch.zeros(3, 3) * x.sum())
    except RuntimeError:
        return scale.get()
    finally:
        scale.reset(token)
""")
