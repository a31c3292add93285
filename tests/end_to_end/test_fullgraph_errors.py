"""Under `fullgraph=True` a break is an error that begins with the user's line; an error of the user's program is that of eager."""

import contextlib
import random

import pytest
import torch

from framesmith import frontend

X = torch.ones(2, 3)


def strict(function):
    return frontend.compile(function, backend="eager", fullgraph=True)


def raised(function, *args):
    with pytest.raises(Exception) as caught:
        function(*args)
    return type(caught.value), str(caught.value)


def product(x):
    return x @ torch.ones(5, 5)


def viewed(x):
    return x.sin().view(7)


class Narrow(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x) + 1


def nested(x):
    return product(x * 2) + 1


def stacked(x):
    return torch.stack([x, x[0]])


def in_a_with(x):
    with contextlib.nullcontext():
        return product(x)


@pytest.mark.parametrize("function", [product, viewed, nested, stacked, in_a_with, Narrow])
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_wrong_shape_raises_what_eager_raises(function, dynamic) -> None:
    function = function() if isinstance(function, type) else function
    expected = raised(function, X)
    compiled = frontend.compile(function, backend="eager", fullgraph=True, dynamic=dynamic)
    for _ in range(2):
        assert raised(compiled, X) == expected


def test_a_wrong_shape_where_a_break_is_refused_inside_raises_what_eager_raises() -> None:
    def f(x):
        with frontend.error_on_graph_break(True):
            return product(x)

    assert raised(frontend.compile(f, backend="eager"), X) == raised(product, X)


def test_an_error_that_the_program_catches_is_a_graph_break() -> None:
    def f(x):
        try:
            return product(x)
        except RuntimeError:
            return x + 1

    for _ in range(2):
        with pytest.raises(frontend.FullGraphError, match="operation that raises"):
            strict(f)(X)
    assert torch.equal(frontend.compile(f, backend="eager")(X), X + 1)


def test_right_shapes_work_after_wrong_ones() -> None:
    compiled = strict(lambda x, y: x @ y)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        compiled(X, torch.ones(5, 5))
    assert torch.equal(compiled(X, torch.ones(3, 2)), X @ torch.ones(3, 2))


def printing(x):
    y = x + 1
    print(y)
    return y


def test_the_message_begins_with_the_users_line() -> None:
    with pytest.raises(frontend.FullGraphError) as caught:
        strict(printing)(X)
    line = printing.__code__.co_firstlineno + 2
    first = str(caught.value).splitlines()[0]
    assert first == f"the graph breaks at {__file__}:{line} in printing: print(y)"
    assert caught.value.place == f"{__file__}:{line} in printing: print(y)"


def test_the_line_is_the_users_where_a_library_breaks() -> None:
    import json

    def f(x):
        return x + len(json.dumps([1]))

    with pytest.raises(frontend.FullGraphError) as caught:
        strict(f)(X)
    assert "in f: return x + len(json.dumps([1]))" in str(caught.value).splitlines()[0]


def branch(x):
    if x.sum() > 0:
        return x
    return -x


def drawn(x):
    return x * random.random()


def pointer(x):
    return x.untyped_storage().nbytes()


def counted(x):
    with frontend.error_on_graph_break(True):
        return x.sum().item() + x


def masked(x):
    with frontend.error_on_graph_break(True):
        return x[x > 0]


@torch.compiler.disable
def outside(x):
    return x


def disabled(x):
    return outside(x) + 1


def counted_rows(x):
    count = int(x.sum().item())
    rows = x.new_zeros(count, 2)
    return rows if rows.shape[0] > 3 else x


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (counted_rows, "in counted_rows: count = int(x.sum().item()))\n"),
        (branch, "the condition is a tensor, whose value is known only when the program runs"),
        (drawn, ": random.random()\n"),
        (pointer, "no memory, no content and no history"),
        (counted, "set frontend.config.capture_scalar_outputs = True"),
        (masked, "Set frontend.config.capture_dynamic_output_shape_ops = True"),
        (disabled, "outside is marked with torch.compiler.disable"),
    ],
)
def test_the_reason_is_said_in_plain_words(function, said) -> None:
    # fullgraph=True itself captures what those two read
    fullgraph = function not in (counted, masked)
    _, text = raised(frontend.compile(function, backend="eager", fullgraph=fullgraph), X)
    assert said in text and "is Tensor" not in text and "aten." not in text


@pytest.mark.parametrize("function", [counted, masked])
def test_the_remedies_work(function) -> None:
    with frontend.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True):
        assert torch.equal(frontend.compile(function, backend="eager")(X), function(X))


def test_an_error_advises_what_mends_it() -> None:
    import time

    def f(x):
        return x + time.time()

    _, text = raised(strict(f), X)
    assert "what to do: For one graph, move the call out" in text and "Nothing has to be done" not in text
