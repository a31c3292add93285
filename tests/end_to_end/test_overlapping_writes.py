"""Writes to memory that the operation also reads in another place: eager refuses most, and gives numbers of its own for others."""

import pytest
import torch

from framesmith import frontend


def stored(x):
    x[1:] = x[:-1]


def added(x):
    x[1:] += x[:-1]


OVERLAPPING = {
    "copy": lambda x: x[1:].copy_(x[:-1]),
    "add": lambda x: x[1:].add_(x[:-1]),
    "store": stored,
    "operator": added,
    "out": lambda x: torch.add(x[1:], 1, out=x[:-1]),
    "several outs": lambda x: torch.sort(x[1:], out=(x[:-1], torch.empty(5, dtype=torch.long))),
    "product": lambda x: torch.mm(x[:4].view(2, 2), x[:4].view(2, 2), out=x[2:].view(2, 2)),
    "transposed": lambda x: x.view(2, 3).copy_(x.view(3, 2).t()),
    "own transposed": lambda x: x[:4].view(2, 2).add_(x[:4].view(2, 2).t()),
    "third operand": lambda x: x[:3].addcmul_(x[3:], x[2:5]),
    "detached": lambda x: x[1:].mul_(x.detach()[:-1]),
    "list": lambda x: torch._foreach_add_([x[1:]], [x[:-1]]),
    "indices": lambda x: x.index_add_(0, torch.tensor([0, 1]), x[:2]),
    "strided": lambda x: x.view(2, 3)[:, 1:].add_(x.view(2, 3)[:, :2]),
    "number": lambda x: x.mul_(x[1]),
    "written twice": lambda x: x.as_strided((3, 2), (1, 1)).add_(1),
    "windows": lambda x: x.unfold(0, 2, 1).mul_(2),
    "unsafe chunk": lambda x: x.unsafe_chunk(2)[0].add_(1),
}
APART = {
    "rows": lambda x: x.view(2, 3)[0].add_(x.view(2, 3)[1]),
    "every second": lambda x: x[::2].mul_(x[1::2]),
    "columns": lambda x: x.view(3, 2)[:, 0].copy_(x.view(3, 2)[:, 1]),
    "itself": lambda x: x.add_(x),
    "the same view": lambda x: x[1:].add_(x[1:]),
    "copy of itself": lambda x: x[1:].add_(x[:-1].clone()),
    "lists": lambda x: torch._foreach_add_(list(x.view(2, 3)), 1),
}


def on_a_copy(write):
    def f(x):
        y = x * 1
        write(y)
        return y

    return f


def on_the_input(write):
    def f(x):
        write(x)
        return x * 1

    return f


def outcome(function):
    x = torch.arange(6.0)
    try:
        return function(x).tolist(), x.tolist()
    except RuntimeError as error:
        return str(error), x.tolist()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("place", [on_a_copy, on_the_input])
@pytest.mark.parametrize("name", OVERLAPPING | APART)
def test_a_write_does_what_it_does_in_eager(name, place, backend):
    function = place((OVERLAPPING | APART)[name])
    assert outcome(frontend.compile(function, backend=backend)) == outcome(function)


@pytest.mark.parametrize("name", OVERLAPPING)
def test_sizes_that_vary(name):
    function = on_a_copy(OVERLAPPING[name])
    assert outcome(frontend.compile(function, backend="aot_eager", dynamic=True)) == outcome(function)


def test_views_that_are_inputs():
    def f(one, other):
        one.add_(other)

    def call(function):
        return outcome(lambda x: function(x[1:], x[:-1]) or x)

    assert call(frontend.compile(f, backend="aot_eager")) == call(f)


@pytest.mark.parametrize("name", APART)
def test_what_is_apart_is_compiled(name, monkeypatch):
    made = []
    real = torch._functorch.aot_autograd.aot_module_simplified
    monkeypatch.setattr(
        "torch._functorch.aot_autograd.aot_module_simplified",
        lambda *given, **more: made.append(given[0]) or real(*given, **more),
    )
    frontend.compile(on_a_copy(APART[name]), backend="aot_eager")(torch.arange(6.0))
    assert len(made) == 1


def test_the_reason_is_told(caplog):
    compiled = frontend.compile(lambda x: x.clone()[1:].copy_(x[:-1]) + x[:-1].mul_(2), backend="aot_eager")
    with caplog.at_level("INFO", logger="framesmith.graph"):
        compiled(torch.ones(4))
    assert "runs as it was captured" not in caplog.text

    def shift(x):
        try:
            x[1:].copy_(x[:-1])
        except RuntimeError:
            return x
        return x + 1

    compiled = frontend.compile(shift, backend="aot_eager")
    with caplog.at_level("INFO", logger="framesmith.graph"):
        compiled(torch.ones(4))
    said = "the graph runs as it was captured, since an operation writes to memory that it reads in another place"
    assert said in caplog.text
    assert said in frontend.explain(compiled)().text()
