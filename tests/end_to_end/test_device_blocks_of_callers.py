"""`with torch.device(...)` and default devices: what is made in the block is on its device, in each call and after breaks."""

import pytest
import torch
from tests.end_to_end.support import check, check_source

from framesmith import frontend


def devices(*tensors):
    return [(tensor.device, tensor.shape) for tensor in tensors]


def block(n):
    with torch.device("meta"):
        y = torch.ones(n)
    return devices(y, torch.ones(n))


def nested(n):
    with torch.device("meta"):
        y = torch.rand(n)
        with torch.device("cpu") as inner:
            z = torch.tensor([n, 2])
        w = torch.arange(n)
    return devices(y, z, w), inner


def breaking(n):
    with torch.device("meta") as device:
        y = torch.ones(n)
        print("in the block", device, n)
        z = torch.zeros(n)
    return devices(y, z, torch.ones(n))


def by_hand(n):
    torch.device("meta").__enter__()
    y = torch.ones(n)
    torch.device("cpu").__exit__(None, None, None)
    return devices(y, torch.ones(n))


def raising(n):
    try:
        with torch.device("meta"):
            y = torch.ones(n)
            raise ValueError(n)
    except ValueError as error:
        return devices(y, torch.ones(n)), str(error)


def failing(n):
    with torch.device("meta"):
        y = torch.ones(n)
        with torch.device("cpu"):
            torch.linalg.cholesky(-torch.eye(n))
    return devices(y)


def given(n):
    with torch.device("meta"):
        return devices(
            torch.ones(n, device="cpu"), torch.ones(n, device=None), torch.empty((n,), dtype=torch.int8)
        )


def looped(n):
    found = []
    for index in range(3):
        with torch.device("meta" if index % 2 else "cpu"):
            found.append(torch.ones(n + index))
    return devices(*found)


def generated(n):
    def make():
        with torch.device("meta"):
            yield torch.ones(n)
            yield torch.zeros(n)

    return [devices(one, torch.ones(n)) for one in make()]


def asked(n):
    with torch.device("meta"):
        inside = torch.get_default_device(), torch._C._len_torch_function_stack()
    return inside, torch.get_default_device(), torch._C._len_torch_function_stack(), n


def switched_off(n):
    with torch._C.DisableTorchFunction(), torch.device("meta"):
        y = torch.ones(n)
    with torch.device("meta"), torch._C.DisableTorchFunction():
        z = torch.ones(n)
    return devices(y, z)


def switched_off_alone(n):
    with torch._C.DisableTorchFunction():
        y = torch.ones(n)
    return devices(y, torch.ones(n))


def modules(n):
    with torch.device("meta"):
        layer = torch.nn.Linear(n, 2)
    return devices(layer.weight, layer.bias)


# They ask no mode, though torch lists the first.
def unasked(n):
    with torch.device("meta"):
        return devices(torch.range(0, n), torch.Tensor([1.0]))


BLOCKS = [
    block, nested, breaking, by_hand, raising, failing, given, looped, generated, asked, switched_off, switched_off_alone,
    modules, unasked,
]  # fmt: skip


def runs(function, *, outer):
    found = []
    for n in (1, 2, 1, 3, 4):
        depth = torch._C._len_torch_function_stack()
        try:
            if outer:
                with torch.device("meta"):
                    found.append(function(n))
            else:
                found.append(function(n))
        except RuntimeError as error:
            found.append((type(error), str(error)))
        found.append(torch._C._len_torch_function_stack() - depth)
        found.append(torch.ones(1).device)
    return found


@pytest.mark.filterwarnings("ignore:torch.range is deprecated:UserWarning")
@pytest.mark.parametrize("outer", [False, True], ids=["alone", "in-a-block-of-the-caller"])
@pytest.mark.parametrize("function", BLOCKS)
def test_each_call_makes_tensors_on_the_device(function, outer, capsys):
    expected = runs(function, outer=outer)
    printed = capsys.readouterr().out
    compiled = frontend.compile(function, backend="eager")
    assert runs(compiled, outer=outer) == expected
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize("function", [block, nested, given, looped])
def test_a_block_is_part_of_the_graph(function):
    check(function, 2, breaks=0)
    check(function, 2, backend="aot_eager", breaks=0)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_the_block_of_the_caller_is_not_for_the_backend(device):
    def run(x):
        y = torch.ones(2)
        with torch.device("cpu"):
            z = torch.linalg.cholesky(torch.eye(2))
        return devices(y, z), x + 1

    compiled = frontend.compile(run, backend="aot_eager")
    with torch.device(device):
        for x in (1, 2, 3):
            assert compiled(x) == run(x)


def test_a_block_that_stays_open():
    def enter(n):
        torch.device("meta").__enter__()
        return torch.ones(n)

    def leave(n):
        torch.device("meta").__exit__(None, None, None)
        return torch.ones(n)

    found = []
    compiled = (frontend.compile(enter, backend="eager"), frontend.compile(leave, backend="eager"))
    for one, other in ((enter, leave), compiled):
        for n in (1, 1, 2, 3):
            inside, depth = one(n).device, torch._C._len_torch_function_stack()
            found.append((inside, depth, other(n).device, torch._C._len_torch_function_stack()))
    assert found[:4] == found[4:]


def test_leaving_a_block_that_is_not_open():
    check_source(
        "import torch\ndef f():\n    torch.device('cpu').__exit__(None, None, None)\ndef args(): return []\n"
    )


ARRAYS = [
    "a + np.ones(3)", "np.cross(a, a)", "torch.as_tensor(a).device", "torch.tensor(a).device", "torch.from_numpy(a + 1).device",
    "torch.from_numpy(np.ones(3)).device", "np.zeros_like(a) + a", "torch.asarray(a).device",
]  # fmt: skip


@pytest.mark.parametrize("expression", ARRAYS)
def test_arrays_stay_on_the_cpu(expression):
    head = f"import numpy as np\nimport torch\ndef args(): return [np.arange(3.0)]\ndef work(a): return {expression}\n"
    check_source(f"{head}def f(a):\n    with torch.device('meta'):\n        return work(a)\n")
    pytest.importorskip("numpy")
    namespace = {}
    exec(head, namespace)  # the function of the test, as `check_source` loads it
    compiled = frontend.compile(namespace["work"], backend="eager")
    with torch.device("meta"):
        for _ in range(2):
            (array,) = namespace["args"]()
            found, expected = compiled(array), namespace["work"](array)
            assert type(found) is type(expected)
            assert str(found) == str(expected)
