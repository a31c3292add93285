"""`with torch.device(...)`: the device of tensors that are made in the block. On `meta`, which differs from the default everywhere."""

import pytest
import torch
from tests.end_to_end.support import check
from torch.overrides import TorchFunctionMode, _len_torch_function_stack
from torch.utils._device import DeviceContext

X = torch.tensor([-1.5, 0.25, 2.0])


def places(*tensors):
    return [tensor.device.type for tensor in tensors]


class Doubling(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 2 if func is torch.ones else result


def makers(x):
    with torch.device("meta"):
        made = [
            torch.ones(3),
            torch.zeros(2, device=None),
            torch.empty(2),
            torch.arange(3),
            torch.full((2,), 1.0),
            torch.rand(2),
            torch.eye(2),
            torch.linspace(0, 1, 3),
        ]
        like = torch.zeros_like(x), x.new_ones(2), torch.ones(2, device="cpu")
    return places(*made), places(*like), places(torch.ones(2)), x + 1


def nested(x):
    with torch.device("meta"):
        a = torch.ones(2)
        with torch.device("cpu"):
            b = torch.ones(2)
        c = torch.ones(2)
    return places(a, b, c), b + 1, x * 2


def as_the_target_of_with(x):
    with torch.device("meta") as device:
        a = torch.ones(2)
        found = device, torch.get_default_device(), _len_torch_function_stack()
    return places(a), found, torch.get_default_device(), _len_torch_function_stack(), x * 2


def left_by_an_exception(x):
    try:
        with torch.device("meta"):
            a = torch.ones(2)
            raise ValueError("out")
    except ValueError:
        b = torch.ones(2)
    return places(a, b), b, x * 2


def left_by_return(x):
    for device in ("meta", "cpu"):
        with torch.device(device):
            if x.shape[0] == 3:
                return places(torch.ones(2)), x + 1
    return None


def with_switched_off_overrides(x):
    with torch.device("meta"):
        with torch._C.DisableTorchFunction():
            a = torch.ones(2)
        with torch._C.DisableTorchFunctionSubclass():
            b = torch.ones(2)
    return places(a, b), a, x * 2


def the_mode_itself(x):
    with DeviceContext("meta"):
        a = torch.ones(2)
    return places(a, torch.ones(2)), x * 2


def the_default_device(x):
    torch.set_default_device("meta")
    a = torch.ones(2)
    torch.set_default_device(None)
    return places(a, torch.ones(2)), x * 2


def inside_of_a_mode(x):
    with Doubling(), torch.device("cpu"):
        a = torch.ones(2)
        b = torch.zeros(2)
    with Doubling(), torch.device("meta"):
        c = torch.ones(2)
    return a, b, places(c), x * 2


def around_a_mode(x):
    with torch.device("meta"), Doubling():
        a = torch.ones(2)
        b = torch.ones(2, device="cpu")
    return places(a, b), b, x * 2


def settings_inside(x):
    with torch.device("meta"), torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        a = torch.ones(2, 2)
        b = a @ a
    return places(a, b), b.dtype, x * 2


@pytest.mark.parametrize(
    "function",
    [
        makers,
        nested,
        as_the_target_of_with,
        left_by_an_exception,
        left_by_return,
        with_switched_off_overrides,
        the_mode_itself,
        the_default_device,
        inside_of_a_mode,
        around_a_mode,
        settings_inside,
    ],
)
def test_tensors_are_made_on_the_device_of_the_block_in_one_graph(function) -> None:
    assert check(function, X).graphs == 1


def broken_inside(x):
    with torch.device("meta"):
        a = torch.ones(2)
        print("in")
        b = torch.ones(2)
        with torch.device("cpu"):
            c = torch.ones(2)
            print("deeper")
            d = torch.ones(2)
        e = torch.ones(2)
    return places(a, b, c, d, e, torch.ones(2)), _len_torch_function_stack(), c + d, x + 1


def raising_after_a_break(x):
    try:
        with torch.device("meta"):
            print("in")
            a = torch.ones(2)
            raise ValueError("out")
    except ValueError:
        return places(a, torch.ones(2)), _len_torch_function_stack(), x + 1


def made_in_a_helper(x):
    def make():
        print("in")
        return torch.ones(2)

    with torch.device("meta"):
        a = make()
    return places(a, make()), x + 1


@pytest.mark.parametrize("function", [broken_inside, raising_after_a_break, made_in_a_helper])
def test_a_block_that_is_open_at_a_break_is_the_same_afterwards(function) -> None:
    assert check(function, X).graphs > 1
