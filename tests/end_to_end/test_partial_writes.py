"""An operation that raises may have written a part by then: it ran once, however its exception reaches the program."""

import pytest
from tests.end_to_end.support import check_source

HEAD = """
import torch
import torch.nn.functional as F
turn = [0]
def bad(good, other):
    turn[0] += 1
    return torch.tensor(other if turn[0] % 2 == 0 else good)
def index(): return bad([0, 1, 1, 2], [0, 1, 9, 2])
def args(): return [torch.ones(3)]
"""
WORK = {
    "scatter_add_": "x.scatter_add_(0, index(), torch.ones(4))",
    "scatter_reduce_": "x.scatter_reduce_(0, index(), torch.ones(4), 'sum')",
    "index_add_": "x.index_add_(0, index(), torch.ones(4))",
    "index_put_": "x.index_put_((index(),), torch.ones(4), accumulate=True)",
    "put_": "x.put_(index(), torch.ones(4), accumulate=True)",
    "a view": "x.view(1, 3)[0].index_add_(0, index(), torch.ones(4))",
    "division": "torch.tensor([8, 8, 8]).floor_divide_(bad([2, 2, 1], [2, 2, 0]))",
    "random numbers": "x.bernoulli_(bad([0.5, 0.5, 0.5], [0.5, 0.5, 2.0])), torch.rand(1)",
    "running statistics": "F.batch_norm(torch.arange(6.0).view(2, 3), x, torch.ones(3), None, bad([1.0], [1.0]).expand(3).to("
    "torch.float64 if turn[0] % 2 == 0 else torch.float32), training=True)",
}
AROUND = {
    "handler": "try: out = {work}\n    except (RuntimeError, IndexError) as error: return x, str(error), log\n    return x, out, log",
    "nothing": "out = {work}\n    log.append(2)\n    return x, out, log",
    "an effect before": "log.append(1)\n    y = x + 1\n    out = {work}\n    return x, out, y, log",
    "finally": "try: out = {work}\n    finally: log.append(x.sum())\n    return out, log",
    "a function": "def inner(x): return {work}\n    log.append(1)\n    with torch.no_grad(): out = inner(x)\n    return x, out, log",
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", WORK)
def test_a_write_that_fails_half_way_happens_once(name, around):
    source = f"{HEAD}log = []\ndef f(x):\n    {AROUND[around].format(work=WORK[name])}\n"
    check_source(source, calls=4, backward=False)


def test_an_operation_of_the_users_that_raises_runs_once():
    check_source(
        HEAD
        + "@torch.library.custom_op(f'partial_writes::own{id(globals())}', mutates_args=())\n"  # one for each of the two programs
        + "def own(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:\n    print('here')\n    return torch.ones(3)[i] + x[0]\n"
        + "own.register_fake(lambda x, i: x.new_empty(i.shape))\n"
        + "def f(x):\n    try: return own(x, index())\n    except IndexError: return None\n",
        calls=4,
        backward=False,
    )


@pytest.mark.parametrize(
    "work",
    [
        "F.batch_norm(x, mean, variance, training=True)",
        "F.batch_norm(x, mean, variance, None, None, True)",
        "F.instance_norm(x.view(1, 3, 2), mean, variance)",
        "torch.batch_norm(x, None, None, mean, variance, True, 0.1, 1e-5, False)",
        "torch.native_batch_norm(x, None, None, mean, variance, True, 0.1, 1e-5)",
        "torch.ops.aten.native_batch_norm(x, None, None, mean, variance, True, 0.1, 1e-5)",
        "net(x)",
    ],
)
def test_running_statistics_are_written_though_nobody_uses_the_result(work):
    check_source(
        "import torch\nimport torch.nn.functional as F\nmean, variance = torch.zeros(3), torch.ones(3)\nnet = torch.nn.BatchNorm1d(3)\n"
        f"def f(x):\n    {work}\n    return x + 1\ndef args(): return [torch.arange(6.0).view(2, 3)]\n",
        breaks=0,
    )


def test_a_normalization_in_evaluation_mode_is_dropped_when_unused():
    check_source(
        "import torch\nnet = torch.nn.BatchNorm1d(3).eval()\n"
        "def f(x):\n    net(x)\n    return x + 1\ndef args(): return [torch.ones(2, 3)]\n",
        operators=1,
    )
