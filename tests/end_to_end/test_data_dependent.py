"""Numbers, sizes and conditions that only the running program knows, in one graph (`fullgraph=True`)."""

import pytest
import torch
from tests.end_to_end.support import check, check_source

from framesmith import frontend

STRICT = {"fullgraph": True}
X = torch.tensor([1.0, -2.0, 3.0, -4.0, 5.0, 6.0])
KEYS = torch.tensor([1, 2, 2, 3])


def negate(*tensors):
    """Other data, so other sizes; after the third call there is nothing that is positive."""
    for tensor in tensors:
        tensor.copy_(-tensor.abs() if tensor[0] < 0 else -tensor)


SIZES = {
    "nonzero": lambda x: (x > 0).nonzero() + 1,
    "nonzero as a tuple": lambda x: x[torch.nonzero(x > 0, as_tuple=True)[0]],
    "where": lambda x: torch.where(x > 0)[0] * 2,
    "mask": lambda x: x[x > 0].sum() * 2,
    "mean of nothing": lambda x: x[x > 0].mean(),
    "masked_select": lambda x: torch.masked_select(x, x > 0).exp(),
    "length of a mask": lambda x: (x[x > 0].shape[0], x[x > 0] * 2),
    "sizes of others": lambda x: torch.zeros(x[x > 0].size(0), 3) + x[x > 0][:, None],
    "view": lambda x: x[x > 0].view(-1, 1) + 1,
    "cat": lambda x: torch.cat([x[x > 0], x]),
    "text": lambda x: f"{x[x > 0].shape[0]} rows",
    "unique": lambda x: torch.unique(x > 0, return_counts=True),
    "bincount": lambda x: torch.bincount((x > 0).long()),
    "repeat_interleave": lambda x: torch.repeat_interleave(x, (x > 0).long()),
    "item": lambda x: (x * 2).sum().item() + 1,
    "float": lambda x: float(x.sum()) * 2,
    "int": lambda x: int(x.sum()) + 1,
    "item as a size": lambda x: torch.ones((x > 0).sum().item()),
    "tensor as a size": lambda x: torch.ones((x > 0).sum()),
    "tensor as an index": lambda x: x[(x > 0).sum() - 1],
    "tensor as an end": lambda x: x[: (x > 0).sum()] * 2,
    "tensor as a start": lambda x: torch.narrow(x, 0, (x > 0).long().argmax(), 1),
    "factor": lambda x: torch.add(x, x, alpha=x.sum().item()),
    "tolist": lambda x: torch.split(x, [*(x > 0).sum().view(1).tolist(), int((x <= 0).sum())]),
    "rounded": lambda x: round(x.sum().item() / 3, 2),
    "truth of a number": lambda x: bool((x > 0).sum().item()),
    "truth as a value": lambda x: (x > 0).any().item(),
    "an index and a slice": lambda x: x.view(2, 3)[(x > 0).sum() // 4, 1:],
}


@pytest.mark.parametrize("name", SIZES)
def test_what_only_the_running_program_knows_is_captured(name) -> None:
    report = check(SIZES[name], X, calls=3, change=negate, options=STRICT, backward=False)
    assert report.graphs == 1 and not report.breaks


def store_at(x):
    y = x.clone()
    y[(x > 0).sum() - 1] = 9.0
    return y


def store_up_to(x):
    y = x.clone()
    y[: (x > 0).sum()] = 9.0
    return y


@pytest.mark.parametrize("function", [store_at, store_up_to])
def test_a_store_at_a_number_out_of_a_tensor(function) -> None:
    assert check(function, X, change=negate, options=STRICT).graphs == 1


def test_a_number_that_is_no_size_raises_what_eager_raises() -> None:
    compiled = frontend.compile(lambda n: torch.zeros(n + 1), backend="eager", fullgraph=True)
    compiled(torch.tensor(2))
    with pytest.raises(RuntimeError, match="Dimension size must be non-negative"):
        compiled(torch.tensor(-5))


INPUTS = {
    "branch": lambda x, n: x + 1 if n.item() > 2 else x - 1,
    "range": lambda x, n: sum(x[i] for i in range(n.item())),
    "extreme": lambda x, n: torch.ones(max(n.item(), 1)),
    "index": lambda x, n: x[n],
    "truth": lambda x, n: x if bool(n) else x * 2,
    "text": lambda x, n: f"{n.item()} of {len(x)}",
}


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("kind", [torch.int64, torch.uint8, torch.float64, torch.bool])
def test_decisions_on_the_number_in_an_input_are_guards(name, kind) -> None:
    if name in ("range", "index", "extreme") and kind in (torch.float64, torch.bool):
        pytest.skip("no index and no number of rounds")
    if name == "index" and kind is torch.uint8:
        pytest.skip("a mask")

    def change(x, n):
        n.copy_({3: 0, 0: 1, 1: 5}.get(int(n), 2))

    check(INPUTS[name], X, torch.tensor(3).to(kind), calls=5, change=change, options=STRICT)


def test_a_number_in_an_input_that_was_written_is_read_by_the_graph() -> None:
    def f(x, n):
        n.add_(1)
        return x * n.item()

    assert check(f, X, torch.tensor(3), calls=4, options=STRICT).graphs == 1


ASSERTIONS = {
    "assert": """
def f(x):
    log.append("before")
    assert (x > 0).all()
    log.append("after")
    return x * 2
""",
    "a message that breaks the graph": """
def f(x):
    assert x.sum() > 3, f"the sum of {x.shape} is {x.sum()}"
    return x * 2
""",
    "raise": """
def f(x):
    y = x + 1
    if (x < 0).any():
        raise ValueError("negative", x)
    return y
""",
    "a handler": """
def f(x):
    try:
        assert (x > 0).all(), "low"
    except AssertionError as error:
        return str(error)
    return x * 2
""",
    "two conditions": """
def f(x):
    assert (x > -9).all() and (x > 0).any(), "low"
    return x * 2
""",
    "a number": """
def f(x):
    n = x.sum().item()
    assert n > 0, f"only {n > 0}"
    return x * n
""",
    "a size": """
def f(x):
    y = x[x > 0]
    if y.shape[0] < 2:
        raise IndexError(y.shape[0])
    return y * 2
""",
    "torch._check": """
def f(x):
    n = (x > 0).sum().item()
    torch._check(n > 1, lambda: "few")
    return torch.ones(n)
""",
    "a function that asserts": """
def positive(x):
    torch._assert((x > 0).all(), "low")
    return x
def f(x):
    log.append(1)
    return positive(x).log()
""",
    "a write before": """
def f(x):
    x.mul_(2)
    log.append(x.sum().item())
    assert (x > 0).all(), "low"
    return x + 1
""",
    "a distribution": """
def f(x):
    return torch.distributions.Normal(x, x).log_prob(x)
""",
}
HEAD = """
import torch
log = []
def args(): return [torch.ones(3)]
def change(x):
    x.copy_(torch.tensor([1.0, -1.0, 2.0]) if x[1] > 0 else torch.full((3,), 2.0))
"""


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("name", ASSERTIONS)
def test_an_assertion_on_data_is_one_graph_and_fails_as_in_eager(name, backend) -> None:
    if backend is not None and name in ("torch._check", "a size"):
        pytest.skip("torch's own ahead-of-time compiler leaves an attribute on results of unknown size")
    report = check_source(HEAD + ASSERTIONS[name], calls=4, backend=backend, options=STRICT, backward=False)
    assert not report.breaks


@pytest.mark.parametrize("name", ["assert", "raise", "two conditions"])
def test_an_assertion_on_a_tensor_does_not_break_the_graph(name) -> None:
    assert not check_source(HEAD + ASSERTIONS[name], calls=1, backward=False).breaks


def test_other_values_after_an_operation_that_raised_get_a_graph() -> None:
    def f(x, n):
        return x[n] * 2

    compiled = frontend.compile(f, backend="eager", fullgraph=True)
    for n in (3, 0, 9, -2, 4, -9):
        index = torch.tensor(n)
        if -6 <= n < 6:
            assert torch.equal(compiled(X, index), f(X, index))
        else:
            with pytest.raises(IndexError, match=f"index {n} is out of bounds"):
                compiled(X, index)


def test_a_loop_that_only_an_exception_ends_is_not_traced_for_ever() -> None:
    source = """
import torch
def args(): return [torch.full((2,), 400.0)]
def f(x):
    rounds = 0
    try:
        while True:
            x = x - 1
            rounds += 1
            if (x < 0).all():
                raise StopIteration
    except StopIteration:
        return x, rounds
"""
    check_source(source, calls=2, backward=False)


CONDITIONS = [
    "n == 0",
    "n % 2 == 0",
    "n > 1 or n < 0",
    "n",
    "not flag",
    "n % -2 == 0",
    "small == 300",
    "n == 0.0",
    "n + 1 == 1",
]
DECIDED = CONDITIONS[:5]


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_number_in_an_input_decides_a_branch(condition, fullgraph) -> None:
    source = f"""
import torch
n, flag, small = torch.tensor(0), torch.tensor(False), torch.tensor(44, dtype=torch.uint8)
def f(x):
    if {condition}:
        x = x * 2
    n.add_(1)
    flag.fill_(True)
    return x
def args(): return (torch.ones(2),)
"""
    if not fullgraph or condition in DECIDED:
        report = check_source(source, calls=6, options={"fullgraph": fullgraph})
        assert bool(report.breaks) != fullgraph


@pytest.mark.parametrize("fullgraph", [True, False])
def test_a_function_that_is_in_no_module_is_in_the_graph(fullgraph):
    def f(x):
        return torch._VF.unique_dim(x, 0, return_counts=True)

    compiled, x = (
        frontend.compile(f, backend="eager", fullgraph=fullgraph),
        torch.tensor([[1, 2], [1, 2], [3, 4]]),
    )
    for found, expected in zip(compiled(x), f(x), strict=True):
        assert torch.equal(found, expected)


def test_an_index_that_only_the_running_graph_knows_is_named():
    def subscript(x, items):
        return items[: (x * 2).long()[0]], x + 1

    with pytest.raises(frontend.FullGraphError, match="an index is needed, and it is int u0"):
        frontend.compile(subscript, backend="eager", fullgraph=True)(torch.ones(2), [1, 2, 3])
    check(subscript, torch.ones(2), [1, 2, 3])
