"""Calls that make the state which the next one finds run natively, once, where the backend takes seconds for a graph."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from framesmith import frontend
from framesmith.graph import GraphOptions

GRAPHS: list[torch.fx.GraphModule] = []


@pytest.fixture(autouse=True)
def slow_backend(monkeypatch):
    """Every backend counts as one that takes seconds; `GRAPHS` lists what it was given."""
    monkeypatch.setattr(GraphOptions, "compiles_slowly", property(lambda self: True))
    GRAPHS.clear()


def counting(module, examples):
    GRAPHS.append(module)
    return module.forward


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


OPTIMIZERS = {
    "AdamW": lambda p: torch.optim.AdamW(p, 1e-2),
    "Adam of one tensor at a time": lambda p: torch.optim.Adam(p, 1e-2, foreach=False),
    "momentum": lambda p: torch.optim.SGD(p, 1e-2, momentum=0.9),
    "Adagrad": lambda p: torch.optim.Adagrad(p, 1e-2),
    "RMSprop": lambda p: torch.optim.RMSprop(p, 1e-3, centered=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("keeps", [True, False])
def test_a_training_step_is_one_graph_for_the_backend(name, keeps):
    def make():
        module = net()
        optimizer = OPTIMIZERS[name](module.parameters())

        def step(x):
            optimizer.zero_grad(set_to_none=not keeps)
            loss = module(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        return module, optimizer, step

    (eager, eager_optimizer, plain), (module, optimizer, step) = make(), make()
    compiled = frontend.compile(step, backend=counting, fullgraph=True)
    for number in range(5):
        x = torch.randn(3, 4, generator=torch.Generator().manual_seed(number))
        torch.testing.assert_close(compiled(x), plain(x), rtol=0, atol=0)
        assert len(GRAPHS) == min(number, 1)
    for one, other in zip(eager.parameters(), module.parameters(), strict=True):
        assert torch.equal(one, other) and torch.equal(one.grad, other.grad)
    assert str(eager_optimizer.state_dict()) == str(optimizer.state_dict())


def test_what_differs_in_the_second_call_is_symbolic_at_once():
    module, optimizer = (it := net()), torch.optim.AdamW(it.parameters(), 1e-2)
    counter = {"steps": 0}

    def step(x):
        optimizer.zero_grad()
        loss = module(x).square().mean()
        loss.backward()
        optimizer.step()
        counter["steps"] += 1
        return loss * counter["steps"]

    compiled = frontend.compile(step, backend=counting)
    for size in (3, 5, 7, 9):
        compiled(torch.randn(size, 4))
    assert counter == {"steps": 4}
    assert len(GRAPHS) == 1


class Cached(nn.Module):
    """Makes a table in its first call."""

    def __init__(self, missing):
        super().__init__()
        self.missing = missing
        if not missing:
            self.table = None

    def forward(self, x):
        made = not hasattr(self, "table") if self.missing else self.table is None
        if made:
            self.table = torch.arange(4.0)
        return x + self.table, made


@pytest.mark.parametrize("missing", [True, False])
def test_a_table_made_in_the_first_call(missing):
    module = Cached(missing)
    compiled = frontend.compile(module, backend=counting)
    x = torch.ones(4)
    for number in range(3):
        result, made = compiled(x)
        assert torch.equal(result, x + torch.arange(4.0))
        assert made is (number == 0)
        assert len(GRAPHS) == min(number, 1)


def test_a_dictionary_filled_by_name():
    known: dict[str, torch.Tensor] = {}

    def f(x, name):
        if name not in known:
            known[name] = x * 2
        return known[name] + 1

    compiled = frontend.compile(f, backend=counting)
    x = torch.ones(2)
    assert [compiled(x, "a").tolist() for _ in range(3)] == [[3.0, 3.0]] * 3
    assert len(GRAPHS) == 1
    # The second time it is no longer the first call.
    compiled(x, "b")
    assert len(GRAPHS) == 2 and [*known] == ["a", "b"]


def test_a_place_that_is_filled_again_and_again_is_compiled():
    class Box:
        value = None

    box = Box()
    box.value = None

    def f(x):
        if box.value is None:
            box.value = x * 2
            return x
        box.value = None
        return x + 1

    compiled = frontend.compile(f, backend=counting)
    x = torch.ones(2)
    assert [compiled(x).tolist() for _ in range(5)] == [[1.0, 1.0], [2.0, 2.0]] * 2 + [[1.0, 1.0]]
    assert len(GRAPHS) == 2


def test_an_argument_is_another_one_in_the_next_call():
    def f(x, cache):
        if not cache:
            cache["x"] = x * 2
        return cache["x"] + 1

    compiled = frontend.compile(f, backend=counting)
    for number in range(3):
        cache = {}
        assert torch.equal(
            compiled(torch.full((2,), float(number)), cache), torch.full((2,), number * 2.0 + 1)
        )
        assert [*cache] == ["x"]
        assert len(GRAPHS) == 1


def test_what_is_stored_without_a_question_is_compiled_at_once():
    class Box:
        value = None

    box = Box()
    box.value = None

    def f(x):
        box.value = x * 2
        return x + 1

    compiled = frontend.compile(f, backend=counting)
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
    assert len(GRAPHS) == 1


def test_a_first_call_that_raises_leaves_what_eager_leaves():
    def make():
        module = net()
        optimizer = torch.optim.AdamW(module.parameters(), 1e-2)

        def step(x, fails):
            optimizer.zero_grad()
            module(x).square().mean().backward()
            optimizer.step()
            if fails:
                raise ValueError("after the step")
            return x

        return module, step

    (eager, plain), (module, step) = make(), make()
    compiled = frontend.compile(step, backend=counting)
    x = torch.ones(3, 4)
    for fails in (True, True, False):
        if fails:
            for run in (plain, compiled):
                with pytest.raises(ValueError, match="after the step"):
                    run(x, fails)
        else:
            plain(x, fails), compiled(x, fails)
    assert all(map(torch.equal, eager.parameters(), module.parameters()))


def test_a_quick_backend_gets_the_first_call(monkeypatch):
    monkeypatch.undo()
    module, optimizer = (it := net()), torch.optim.AdamW(it.parameters(), 1e-2)

    def step(x):
        optimizer.zero_grad()
        module(x).square().mean().backward()
        optimizer.step()

    compiled = frontend.compile(step, backend=counting)
    compiled(torch.ones(3, 4))
    assert len(GRAPHS) == 1
    assert GraphOptions(backend="inductor").compiles_slowly
    assert not GraphOptions(backend="aot_eager").compiles_slowly


def test_the_same_function_after_reset():
    module = Cached(missing=False)
    copy = deepcopy(module)
    compiled = frontend.compile(module, backend=counting)
    compiled(torch.ones(4)), compiled(torch.ones(4))
    assert len(GRAPHS) == 1
    frontend.reset()
    other = frontend.compile(copy, backend=counting)
    other(torch.ones(4))
    assert len(GRAPHS) == 1
    other(torch.ones(4))
    assert len(GRAPHS) == 2
