"""Reasons and guards speak of the user's variables, expressions, parameters and lines; equal lines are counted."""

import random

import pytest
import torch

from framesmith import frontend
from framesmith.frontend import api

SCALE = [2]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.scale = 1

    def forward(self, x, *, power=1):
        return self.linear(x) ** power * self.scale


LINE = Net.forward.__code__.co_firstlineno


def recompiles(compiled) -> str:
    return "\n".join(api.session_of(compiled).history.recompiles)


def test_a_module_is_called_by_its_class_and_parameters() -> None:
    net = frontend.compile(Net(), backend="eager")
    net(torch.ones(2, 3))
    net(torch.ones(4, 2, 3))
    net(torch.ones(2, 3), power=2)
    net(torch.ones(2, 3), power=3)
    net.scale = 5
    net(torch.ones(2, 3))
    text = recompiles(net)
    assert "Net.forward: x: number of dimensions changed from 2 to 3" in text
    assert "Net.forward: power: value changed from 2 to 3" in text
    assert "Net.forward: self.scale: value changed from 1 to 5" in text
    assert f"(read at {__file__}:{LINE + 1} in forward)" in text
    assert "_call_impl" not in text and "args[" not in text and "kwargs" not in text


def test_a_limit_of_a_module_names_its_forward() -> None:
    net = frontend.compile(Net(), backend="eager", dynamic=False)
    with frontend.config.patch(recompile_limit=1), pytest.warns(frontend.RecompileLimitWarning) as caught:
        for rows in (2, 3):
            net(torch.ones(rows, 3))
    text = str(caught[0].message)
    assert text.startswith(f"Net.forward ({__file__}:{LINE}) has 1 entry") and "what varies: x: size" in text
    assert f"read at {__file__}:{LINE + 1} in forward" in text


def draws(x):
    return x * random.random()


def test_an_intermediate_value_is_called_by_its_expression() -> None:
    compiled = frontend.compile(draws, backend="eager")
    for _ in range(2):
        compiled(torch.ones(2))
    assert "draws: random.random(): value changed from " in recompiles(compiled)
    assert "random.random() == 0." in str(frontend.explain(draws)(torch.ones(2)))


def chained(x, items):
    return x * str(x).count("1") + sum(helper(item, str(x)) for item in items)


def helper(item, text):
    return item * len(text)


def test_no_name_of_ours_is_in_an_explanation() -> None:
    for function, args in ((chained, (torch.ones(2), [1, 2])), (draws, (torch.ones(2),))):
        text = str(frontend.explain(function)(*args))
        assert not any(
            word in text
            for word in ("stack_", "local_", "cell_", "cell_contents", "result_", "hidden_", "args[")
        )


def scaled(x):
    return x * SCALE[0]


def test_a_global_of_the_module_is_called_by_its_name() -> None:
    compiled = frontend.compile(scaled, backend="eager", dynamic=False)
    compiled(torch.ones(2))
    SCALE[0] = 3
    compiled(torch.ones(2))
    SCALE[0] = 2
    assert recompiles(compiled).startswith("scaled: SCALE[0]: value changed from 2 to 3 (read at ")


def test_a_variable_of_a_closure_is_called_by_its_name() -> None:
    factor = [2]

    def times(x):
        return x * factor[0]

    compiled = frontend.compile(times, backend="eager", dynamic=False)
    compiled(torch.ones(2))
    factor[0] = 3
    compiled(torch.ones(2))
    assert "times: factor[0]: value changed from 2 to 3" in recompiles(compiled)


def test_equal_reasons_are_one_line_with_a_count() -> None:
    class Flag:
        pass

    def f(x, text, flag):
        return x * len(text) if flag is None else x

    compiled = frontend.compile(f, backend="eager")
    for size in range(1, 6):
        compiled(torch.ones(2), "a" * size, None)
    compiled(torch.ones(2), "a", Flag())
    text = str(frontend.explain(compiled)())
    assert "flag: " in text and text.count("f: flag: ") == 1


def test_guards_are_listed_by_entry_with_their_lines() -> None:
    def f(x):
        y = x + 1
        frontend.graph_break()
        return y * 2

    text = str(frontend.explain(f)(torch.ones(3)))
    first = f.__code__.co_firstlineno
    assert f"entry 1, {f.__qualname__} ({__file__}:{first}), has " in text
    assert f"entry 2, {f.__qualname__} resumed at {__file__}:{first + 2} in f, has " in text
    assert f"x: Tensor [3] torch.float32 on cpu (read at {__file__}:{first + 1} in f)" in text
    assert f"y: Tensor [3] torch.float32 on cpu (read at {__file__}:{first + 3} in f)" in text
    assert text.startswith("2 graphs with 2 operators, 1 graph break, ")


def test_one_graph_and_one_operator_are_no_plural() -> None:
    assert str(frontend.explain(lambda x: x + 1)(torch.ones(2))).startswith("1 graph with 1 operator, 0 ")


def test_every_guard_that_the_trace_reads_has_the_users_line() -> None:
    net = Net()
    compiled = frontend.compile(lambda x: net(x) + SCALE[0], backend="eager")
    compiled(torch.ones(2, 3))
    entry = api.session_of(compiled)._root().dispatcher.entries[0]
    guards = [*entry.guards][2:]  # after the state of torch and the code
    places = {guard.text(): guard.reason.user_frame or "" for guard in guards}
    missing = [text for text, place in places.items() if not place.startswith(__file__)]
    assert all("__closure__" in text for text in missing)


def breaking_in_loops(x, names):
    for name in names:
        frontend.graph_break()
        x = x * len(name)
    return x


def breaking_in_cells(x):
    n = 1

    def more():
        nonlocal n
        n += 1
        frontend.graph_break()
        return x * n

    return more()


def breaking_in_generators(x, names):
    return sum((x * len(name) for name in names if not frontend.graph_break()), x)


def guards_of(function, *args):
    return [
        guard
        for entry in frontend.explain(function)(*args).guards
        for guard in (entry if isinstance(entry, tuple | list) else [entry])
    ]


def test_a_loop_is_called_by_its_variable_and_iterable() -> None:
    for function in (breaking_in_loops, breaking_in_generators):
        text = "\n".join(map(str, guards_of(function, torch.ones(2), ["a", "bc"])))
        assert "name == 'a'" in text and "type(iter(names)) is list_iterator" in text
        assert "iter(names) has at least 1 item left" in text and "for name in" not in text


def test_a_cell_is_not_called_as_what_it_holds() -> None:
    text = "\n".join(map(str, guards_of(breaking_in_cells, torch.ones(2))))
    assert "type(the cell of n) is cell" in text and "type(n) is cell" not in text


def test_only_a_number_is_said_to_be_passed_as_a_tensor() -> None:
    def named(x, name):
        return x if name == "a" else x + 1

    for function, values, is_said in (
        (named, "abcd", False),
        (lambda x, n: x * n, [True, 2, False, 3j], True),
    ):
        compiled = frontend.compile(function, backend="eager")
        with frontend.config.patch(recompile_limit=2), pytest.warns(frontend.RecompileLimitWarning) as caught:
            for value in values:
                compiled(torch.ones(2), value)
        assert ("as a tensor" in str(caught[0].message)) is is_said
