"""How many graphs ten calls need whose arguments change in one way or another; each call gives what eager gives."""

import enum
import math

import pytest
import torch

from framesmith import frontend

CALLS = 10


class Color(enum.Enum):
    RED = 1
    GREEN = 2


def rows(number, width=3):
    return torch.arange(float(number * width)).view(number, width)


def flip(x, flag):
    return x.sin() if flag else x.cos()


def clip(x, number):
    return x.clamp(-number, number)


def pad(x):
    missing = -x.shape[0] % 4
    return torch.nn.functional.pad(x, (0, 0, 0, missing)).view(-1, 4, 3)


def longer_than(limit):
    def run(x):
        if x.size(0) > limit:
            raise ValueError("too long")
        return x + rows(limit)[: x.size(0)]

    return run


PROGRAMS = {
    "a key": (lambda x, d, k: x + d[k], lambda i: (rows(2), {"a": 1.0, "b": 2.0}, "ab"[i % 2]), 2),
    "numbers of a dict": (lambda x, d: x * d["a"] + d["b"], lambda i: (rows(2), {"a": i - 3, "b": i * 0.5 - 1}), 2),
    "a flag": (flip, lambda i: (rows(2), i % 3 == 0), 2),
    "an unused flag": (lambda x, flag: x.sin(), lambda i: (rows(2), i % 2 == 0), 1),
    "a window": (lambda x, start, stop: x[start:stop] * 2, lambda i: (rows(40), i, i + 4), 2),
    "a window that grows": (lambda x, start, stop: x[start:stop].sum(), lambda i: (rows(60), i, 3 * i + 5), 2),
    "a window from the end": (lambda x, size: x[-size:] * 2, lambda i: (rows(40), i + 1), 2),
    "a slice": (lambda x, part: x[part] * 2, lambda i: (rows(40), slice(i, i + 4)), 2),
    "a member": (lambda x, color: x + 1 if color is Color.RED else x - 1, lambda i: (rows(2), list(Color)[i % 2]), 2),
    "None or a tensor": (lambda x, y: x * 2 if y is None else x * 2 + y, lambda i: (rows(2), None if i % 2 else rows(2)), 2),
    "a step number": (lambda x, step: x * 0.9**step, lambda i: (rows(2), i), 2),
    "a warm-up": (lambda x, step: x * min(1.0, step / 5), lambda i: (rows(2), i), 2),
    "a cosine of the step": (lambda x, step: x * (1 + math.cos(math.pi * step / 10)), lambda i: (rows(2), i), 2),
    "several sizes": (lambda x, y, z: (x @ y).sum() + z.sum(), lambda i: (rows(i + 2, i + 3), rows(i + 3, i + 4), rows(i + 5)), 2),
    "sizes with one": (lambda x: x * 2, lambda i: (rows(i % 4 + 1),), 3),
    "sizes with none and one": (lambda x: x * 2, lambda i: (rows(i % 4),), 3),
    "a size and a limit": (longer_than(12), lambda i: (rows(i + 2),), 2),
    "a shape": (lambda x, a, b: x.reshape(a, b) * 2, lambda i: (rows(i + 2).view(-1), i + 2, 3), 2),
    "a shape of one": (lambda x, shape: x.view(shape), lambda i: (rows(i + 2).view(-1), (i + 2, 3)), 2),
    "an expansion": (lambda x, n: x.expand(n, 3) * 2, lambda i: (rows(1), i + 2), 2),
    "new zeros": (lambda x, n: torch.zeros(n, 3) + x.sum(), lambda i: (rows(2), i), 3),
    "a cache that grows": (lambda x, held: torch.cat([held, x], 0), lambda i: (rows(1), rows(i + 1)), 3),
    "floats": (lambda x, v: x * v - v, lambda i: (rows(2), (i - 3) * 0.37), 2),
    "special floats": (lambda x, v: x * v, lambda i: (rows(2), [0.5, 1.0, 0.0, -0.0, -2.5, math.inf, math.nan, 1e300, 2.0, 3.0][i]), 4),
    "limits": (clip, lambda i: (rows(2), i * 0.37), 2),
    "ints": (lambda x, n: x * n, lambda i: (rows(2), [5, 1, 0, -1, -7, 2**31, 2**62, 2, 3, 10][i]), 2),
    "large ints": (lambda x, n: (x + 1, n * n * n), lambda i: (rows(2), 10**i), 2),
    "quotients": (lambda x, n: x * (n // 2) + (n % 3) + n / 2, lambda i: (rows(2), i - 4), 2),
    "bits": (lambda x, n: x * (n & 3) + (n << 1) - (~n >> 1), lambda i: (rows(2), i - 4), 2),
    "a padded size": (pad, lambda i: (rows(i + 4),), 2),
    "a root of a size": (lambda x: x * x.shape[0] ** -0.5, lambda i: (rows(i + 4),), 2),
    "parts": (lambda x, sizes: x.split(sizes), lambda i: (rows(10 + i), [4, 6 + i]), 2),
    "equal shapes": (lambda x, y: x + y if x.shape == y.shape else x * 2, lambda i: (rows(i + 4), rows(i + 4)), 2),
}  # fmt: skip


def is_equal(one, other):
    if isinstance(one, torch.Tensor):
        return (
            one.dtype is other.dtype
            and one.stride() == other.stride()
            and torch.equal(one.nan_to_num(7.0), other.nan_to_num(7.0))
            and torch.equal(one.isnan(), other.isnan())
        )
    if isinstance(one, tuple | list):
        return type(one) is type(other) and all(map(is_equal, one, other))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("name", PROGRAMS)
def test_ten_calls_need_few_graphs(name):
    function, arguments, graphs = PROGRAMS[name]
    made = []

    def backend(module, inputs):
        made.append(module)
        return module

    compiled = frontend.compile(function, backend=backend, fullgraph=True)
    for call in range(CALLS):
        assert is_equal(compiled(*arguments(call)), function(*arguments(call))), call
    assert len(made) <= graphs
