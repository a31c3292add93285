"""`is_compiling()` is true in a traced program, but not where the program raises for it: eager, where it is false, does not."""

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend

HEAD = """
import torch, contextlib
from torch.compiler import is_compiling
log = []
class Net(torch.nn.Module):
    def forward(self, x, mask=None):
        if mask is None and not is_compiling():
            mask = torch.ones(3)
        return x * mask[None, :]
net = Net()
@contextlib.contextmanager
def noting():
    try: yield
    finally: log.append("left")
def args(): return [torch.arange(3.0, requires_grad=True)]
"""

PROGRAMS = {
    "a mask that only eager makes": "def f(x): return net(x)",
    "an assertion": "def f(x):\n    assert not torch.compiler.is_dynamo_compiling()\n    return x + 1",
    "inside a block": "def f(x):\n    log.append(1)\n    with noting(): return net(x + 1)",
    "through a finally": "def f(x):\n    try: return net(x)\n    finally: log.append(x + 1)",
    "a handler that breaks": "def f(x):\n    try: return net(x)\n    except TypeError:\n        print('bad')\n        raise",
    "behind a break": "def f(x):\n    y = x + 1\n    print('broken')\n    return net(y)",
    "a break in what only eager does": (
        "def f(x):\n    if is_compiling(): raise ValueError\n    y = x + 1\n    print('eager')\n    return y * 2"
    ),
    "it raises either way": "def f(x):\n    log.append(is_compiling() and 0)\n    raise KeyError(len(log))",
    "an identity as a key beside it": (
        "def f(x):\n    seen = {id(net): 1, 9_999_999: 2}\n    return net(x), seen[id(net)], 9_999_999 in seen, len(seen)"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_raises_for_it_runs_as_in_eager(name):
    check_source(HEAD + PROGRAMS[name], calls=3)


def test_an_operation_that_raises_behind_it_is_recovered_the_same_way():
    check_source(
        HEAD + "turn = [0]\ndef f(x):\n    turn[0] += 1\n    y = net(x)\n    log.append(is_compiling())\n"
        "    z = torch.linalg.inv(torch.eye(2) * (turn[0] % 2) + y.sum() * 0)\n    log.append(2)\n    return z",
        calls=4,
        backward=False,
    )


def test_the_answer_stays_true_where_nothing_raises():
    compiled = frontend.compile(lambda x: x + torch.compiler.is_compiling(), backend="eager", fullgraph=True)
    assert torch.equal(compiled(torch.zeros(2)), torch.ones(2))


def test_a_handler_of_the_program_is_no_reason_to_ask_again():
    def tries(x):
        try:
            if torch.compiler.is_compiling():
                raise NotImplementedError
        except NotImplementedError:
            return x + 1
        return x

    assert torch.equal(frontend.compile(tries, backend="eager")(torch.zeros(2)), torch.ones(2))
