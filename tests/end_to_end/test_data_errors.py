"""An operation that fails on the data of a call: what came before it in the program has happened, what comes after has not."""

import traceback

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend
from framesmith.frontend.build_entry import EntryBuilder
from framesmith.graph.running.failures import Failures

HEAD = """
import torch
log = []
turn = [0]
class Box: pass
def matrix():
    turn[0] += 1
    return torch.eye(2) * (turn[0] % 2)
def args(): return [torch.eye(2)]
"""

PROGRAMS = {
    "handler around the operation": """
def f(x):
    try: return torch.linalg.inv(x * matrix()).sum().item()
    except RuntimeError: return "bad"
""",
    "append before and after": """
def f(x):
    log.append(1)
    y = torch.linalg.inv(x * matrix())
    log.append(2)
    return y
""",
    "a norm that nobody uses": """
def f(x):
    log.append(1)
    torch.norm(x / matrix().sum(), "nuc")
    return x + 1
""",
    "a pseudo-inverse that nobody uses": """
def f(x):
    log.append(1)
    torch.pinverse(x / matrix().sum())
    return x + 1
""",
    "attribute stores": """
box = Box()
box.n = 0
def f(x):
    box.n += 1
    box.h = x + 1
    y = torch.linalg.cholesky(x * matrix())
    box.n += 100
    box.h = y
    return box.h
""",
    "writes to the argument": """
def f(x):
    y = x + 1
    x.add_(5)
    log.append(y)
    log[0] = x - 5
    try: z = torch.linalg.inv((x - 5) * matrix())
    except RuntimeError as error: return y, str(error)[:10]
    finally: x.sub_(5)
    log[0] = 0
    return z
""",
    "random numbers": """
def f(x):
    torch.manual_seed(0)
    log.append(torch.rand(2))
    y = torch.nn.functional.dropout(x, 0.5)
    log[-1] = y
    z = torch.linalg.inv(x * matrix())
    log[-1] = 0
    return z, torch.rand(2)
""",
    "a counter in a loop": """
def f(x):
    good = 0
    for i in range(4):
        try:
            log.append(i)
            torch.linalg.inv(x * matrix())
            good += 1
        except RuntimeError:
            log.append(-i)
            continue
    return good
""",
    "an inlined function": """
def inner(x, found):
    found.append(1)
    return torch.linalg.inv(x)
def f(x):
    found = []
    try: y = inner(x * matrix(), found)
    except RuntimeError: y = None
    log.append(len(found))
    return y
""",
    "a manager that swallows": """
class Manager:
    def __enter__(self): log.append("in")
    def __exit__(self, *raised):
        log.append(raised[0])
        return True
def f(x):
    with Manager(): x = torch.linalg.inv(x * matrix())
    log.append("after")
    return x
""",
    "a mode switch": """
def f(x):
    log.append(torch.is_grad_enabled())
    with torch.no_grad(), torch.autocast("cpu"):
        torch.linalg.inv(x * matrix())
    return torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")
""",
    "finally": """
def f(x):
    try: return torch.linalg.inv(x * matrix())
    finally: log.append("finally")
""",
    "else and a second handler": """
def f(x):
    try: y = torch.linalg.inv(x * matrix())
    except ValueError: log.append("no")
    except (KeyError, RuntimeError) as error:
        log.append(str(error)[:10])
        raise TypeError("mine") from error
    else:
        log.append("else")
        return y
""",
    "a generator": """
def numbers(x):
    try:
        yield x + 1
        yield torch.linalg.inv(x)
    finally: log.append("closed")
def f(x):
    total = 0
    for value in numbers(x * matrix()):
        log.append(1)
        total = total + value
    return total
""",
    "a key function": """
def f(x):
    m = x * matrix()
    def key(v):
        log.append(v)
        return torch.linalg.inv(m).shape[0] * v
    return sorted([2, 1], key=key)
""",
    "embedding": """
def f(x):
    log.append(1)
    return torch.nn.functional.embedding(torch.tensor([0, turn.append(0) or len(turn)]), x)
""",
    "cross_entropy": """
def f(x):
    turn[0] += 1
    target = torch.zeros(2, dtype=torch.long) + turn[0]
    return torch.nn.functional.cross_entropy(x, target)
""",
    "integer division": """
def f(x):
    turn[0] += 1
    return torch.tensor([4]) // (torch.tensor([turn[0]]) % 2)
""",
    "gather": """
def f(x):
    log.append(x)
    turn[0] += 1
    return x.gather(0, torch.zeros(1, 2, dtype=torch.long) + turn[0])
""",
    "index": """
def f(x):
    turn[0] += 1
    x[torch.tensor([turn[0]])] = 7
    log.append(1)
    return x
""",
    "one_hot": """
def f(x):
    turn[0] += 1
    return torch.nn.functional.one_hot(torch.tensor([turn[0]]), 3)
""",
    "multinomial": """
def f(x):
    log.append(1)
    return torch.multinomial((x * matrix()).sum(0) - 0.5, 1).shape
""",
    "torch._assert_async": """
def f(x):
    log.append(1)
    torch._assert_async((x * matrix()).sum() > 0)
    log.append(2)
    return x
""",
    "bincount": """
def f(x):
    log.append(1)
    turn[0] -= 1
    return torch.bincount(torch.tensor([turn[0] + 1]), minlength=4).sum()
""",
    "a distribution": """
def f(x):
    log.append(1)
    return torch.distributions.Normal(x, (x * matrix()).sum()).loc
""",
    "a class that is out of range in a result that nobody uses": """
def f(x):
    try: torch.nn.functional.one_hot((x * 2 * matrix()).long().sum(0), 2)
    except RuntimeError: return "bad"
    return x + 1
""",
    "a value that was written and is held by a closure only": """
def f(x):
    def outer(y):
        log.append(1)
        def inner():
            y.fill_(2.0)
            torch.linalg.inv(x * matrix())
        inner()
        log.append(2)
    outer(x + 1)
    return x + 1
""",
    "a value that was written, whose shape alone is needed": """
def f(x):
    y = x + 1
    log.append(1)
    y.fill_(2.0)
    torch.linalg.inv(x * matrix())
    log.append(2)
    return y.shape
""",
    "a value on the stack that was written": """
def written(y):
    log.append(1)
    y.fill_(2.0)
    return y
def f(x):
    return [written(x + 1), torch.linalg.inv(x * matrix())][0].shape
""",
    "a value that a list holds and a change behind it": """
def f(x):
    held = [x + 1]
    log.append(1)
    (x * 2).add_(1)
    torch.linalg.inv(x * matrix())
    log.append(2)
    return held[0].shape
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("backend", [None, "eager", "aot_eager"])
def test_effects_and_handlers_are_those_of_eager(name, backend):
    check_source(HEAD + PROGRAMS[name], calls=5, backend=backend, backward=False)


@pytest.mark.parametrize("name", ["append before and after", "a mode switch", "finally"])
def test_what_may_fail_does_not_break_the_graph(name):
    source = HEAD + PROGRAMS[name].replace("matrix()", "2")
    check_source(source, breaks=0, graphs=1)


def test_fullgraph_takes_a_handler_around_an_operation():
    def f(x):
        try:
            return torch.linalg.inv(x)
        except RuntimeError:
            return None

    compiled = frontend.compile(f, backend="eager", fullgraph=True)
    assert torch.equal(compiled(torch.eye(2)), torch.eye(2))
    assert compiled(torch.zeros(2, 2)) is None


def test_the_trace_before_the_operation_is_made_once(monkeypatch):
    def f(x):
        try:
            return torch.linalg.inv(x)
        except RuntimeError:
            return None

    compiled = frontend.compile(f, backend="eager")
    made = []
    real = EntryBuilder.build_partial
    monkeypatch.setattr(EntryBuilder, "build_partial", lambda *args: made.append(1) or real(*args))
    for _ in range(3):
        assert compiled(torch.zeros(2, 2)) is None
    assert len(made) == 1


@pytest.mark.parametrize("fullgraph", [True, False])
@pytest.mark.parametrize("step", ["build_partial", "find"])
def test_a_bug_of_ours_does_not_replace_the_error_of_the_user(step: str, fullgraph: bool, monkeypatch):
    def f(x):
        with torch.enable_grad():
            return torch.linalg.inv(x)

    def fail(*args):
        raise KeyError("ours")

    compiled = frontend.compile(f, backend="eager", fullgraph=fullgraph)
    monkeypatch.setattr(EntryBuilder if step == "build_partial" else Failures, step, fail)
    compiled(torch.eye(2))
    with frontend.config.patch(raise_bugs=True), pytest.raises(KeyError):
        compiled(torch.zeros(2, 2))
    with frontend.config.patch(raise_bugs=False), pytest.raises(RuntimeError, match="singular") as caught:
        with pytest.warns(frontend.errors.TracingBugWarning, match="KeyError: 'ours'. An operation"):
            compiled(torch.zeros(2, 2))
    assert caught.value.__context__ is None


def test_the_traceback_names_each_frame_of_the_user_once():
    def inner(x):
        return torch.linalg.inv(x)

    def f(x):
        return inner(x) + 1

    for function in (f, frontend.compile(f, backend="eager")):
        with pytest.raises(RuntimeError) as caught:
            function(torch.zeros(2, 2))
        names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)[1:]]
        assert names == ["f", "inner"]


@pytest.mark.parametrize(
    "work",
    [
        "(a @ b).dtype",
        "torch.mm(a, b).shape",
        "torch.nn.functional.linear(a, b).ndim",
        "torch.einsum('ij,jk', a, b).dtype",
    ],
)
def test_a_result_nobody_uses_still_refuses_two_dtypes(work):
    check_source(
        f"import torch\ndef f(a, b): return a + 1, {work}\n"
        "def args(): return [torch.ones(2, 2, dtype=torch.float16), torch.ones(2, 2)]"
    )


@pytest.mark.parametrize(
    "work", ["x.mul_(3)", "x.view(2, -1).t()[0].mul_(3)", "x[0] = 5", "torch.mul(x, 3, out=x)"]
)
def test_a_refused_write_to_an_inference_tensor_happens_once(work):
    check_source(
        f"import torch\ndef f(x):\n    try: {work}\n    except RuntimeError as error: return str(error)\n    return x + 1\n"
        "def args():\n    with torch.inference_mode(): return [torch.arange(6.0)]"
    )


def test_inference_tensors_are_written_in_inference_mode():
    check_source(
        "import torch\n@torch.inference_mode()\ndef f(x):\n    x.mul_(3)\n    return x + 1\n"
        "def args():\n    with torch.inference_mode(): return [torch.arange(6.0)]"
    )


@pytest.mark.parametrize(
    "work",
    [
        "x * ((x > 0) & (x < 9))",
        "x * ((x > 0) | (x < 9))",
        "F.dropout(x * 2, 0.5, False)",
        "F.dropout(x * 2, p=0.5, training=False)",
        "F.scaled_dot_product_attention(x, x * 2, x)",
        "F.alpha_dropout(x * 2, 0.5, False)",
    ],
)
def test_what_only_computes_is_computed_again_for_the_traceback(work):
    check_source(
        "import torch\nimport torch.nn.functional as F\nturn = [0]\n"
        "def weight():\n    turn[0] += 1\n    return torch.ones(2, 2, dtype=torch.float16 if turn[0] % 2 == 0 else torch.float32)\n"
        "class Net(torch.nn.Module):\n    def forward(self, x, w):\n        y = x + 1\n        return F.linear(y, w)\n"
        f"net = Net()\ndef f(x):\n    y = {work}\n    y = y + 1\n    return net(y, weight())\n"
        "def args(): return [torch.ones(2, 2)]\n",
        calls=4,
        backward=False,
    )


BY_ITSELF = {
    "items": "x[x]",
    "gather": "x.gather(0, x)",
    "take": "torch.take(x, x)",
    "index_select": "x.index_select(0, x)",
    "index_add": "x.index_add(0, x, x)",
}


@pytest.mark.parametrize("work", BY_ITSELF)
def test_an_unused_index_that_is_the_tensor_itself_raises(work):
    check_source(
        "import torch\ndef args(): return [torch.tensor([5, 0])]\n"
        f"def f(x):\n    try:\n        {BY_ITSELF[work]}\n    except (IndexError, RuntimeError):\n        return x - 1\n"
        "    return x + 1\n",
    )
