"""Sizes and numbers that change from call to call."""

import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend


def grow(box):
    box[0] = torch.arange(float(box[0].numel() + 1))


PROGRAMS = {
    "sum": lambda box: box[0].sum() / box[0].shape[0],
    "view": lambda box: box[0].view(-1, 1).expand(-1, 2).reshape(-1),
    "new tensor": lambda box: torch.zeros(box[0].shape[0] * 2) + box[0].size(0),
    "slice": lambda box: box[0][1 : box[0].shape[0] - 1],
    "branch": lambda box: box[0] + 1 if box[0].shape[0] > 4 else box[0] - 1,
    "python value": lambda box: (
        box[0].shape,
        box[0].numel() + 1,
        list(range(box[0].size(0))),
        f"{box[0].shape[0]}",
    ),
    "loop": lambda box: [t * 2 for t in box[0]],
    "cat": lambda box: torch.cat([box[0], box[0][:2]]),
    "arithmetic": lambda box: (
        box[0].shape[0] // 2 * 3 % 5,
        box[0] * box[0].shape[0] ** 2,
        -box[0].shape[0],
        box[0].shape[0] / 2,
    ),
    "chunks": lambda box: box[0].chunk(2),
    "comparison": lambda box: (
        box[0].shape == (4,),
        box[0].shape[0] == 5,
        max(box[0].shape[0], 5),
        min(3, box[0].numel()),
    ),
    "returned size": lambda box: box[0].shape[0],
    "dictionary": lambda box: {box[0].shape[0]: box[0]},
    "two uses": lambda box: torch.ones(box[0].shape[0]) @ box[0],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_growing_tensor(name):
    check(PROGRAMS[name], [torch.arange(3.0)], calls=6, change=grow)


@pytest.mark.parametrize("name", PROGRAMS)
def test_growing_tensor_with_everything_dynamic(name):
    check(PROGRAMS[name], [torch.arange(3.0)], calls=4, change=grow, options={"dynamic": True})


@pytest.mark.parametrize("name", PROGRAMS)
def test_growing_tensor_with_nothing_dynamic(name):
    check(PROGRAMS[name], [torch.arange(3.0)], calls=4, change=grow, options={"dynamic": False})


def test_second_graph_serves_all_later_sizes():
    check(PROGRAMS["sum"], [torch.arange(3.0)], calls=8, change=grow, graphs=2, breaks=0)


def test_size_zero_and_one_are_right():
    def change(box):
        box[0] = torch.ones({5: 1, 1: 0, 0: 7, 7: 2}[box[0].shape[0]])

    check(
        lambda box: (box[0] * 2, box[0] + torch.ones(1), box[0].sum()),
        [torch.ones(5)],
        calls=5,
        change=change,
    )


def test_two_dimensions_that_are_equal_by_chance():
    def change(box):
        box[0], box[1] = torch.ones(box[0].shape[0] + 1), torch.ones(box[1].shape[0] + 2)

    check(
        lambda box: (box[0].sum() + box[1].sum(), box[0].shape == box[1].shape),
        [torch.ones(3), torch.ones(3)],
        calls=5,
        change=change,
    )


def test_sizes_that_have_to_agree():
    def change(box):
        n = box[0].shape[0] + 1
        box[0], box[1] = torch.ones(n), torch.ones(n if n != 6 else 3)

    check(lambda box: box[0] + box[1], [torch.ones(3), torch.ones(3)], calls=5, change=change)


def test_integers_become_dynamic():
    def change(box):
        box[1] += 3

    report = check(lambda box: box[0] * box[1] + box[1] // 2, [torch.ones(3), 3], calls=8, change=change)
    assert report.graphs <= 2, report


def test_integer_used_by_python_is_right():
    def change(box):
        box[1] += 1

    check(
        lambda box: (
            [box[0]] * box[1],
            "a" * box[1],
            box[1] % 3 == 0,
            (1, 2, 3, 4, 5, 6, 7, 8)[box[1]],
            box[0] if box[1] > 4 else -box[0],
        ),
        [torch.ones(3), 2],
        calls=5,
        change=change,
    )


def test_integer_sizes():
    def change(box):
        box[1] += 1

    check(
        lambda box: (torch.zeros(box[1]), box[0].repeat(box[1]), torch.arange(box[1])),
        [torch.ones(3), 2],
        calls=5,
        change=change,
    )


def test_floats_that_change():
    def change(box):
        box[1] *= 1.5

    check(
        lambda box: (box[0] * box[1], box[1] > 4, box[1] * 2, int(box[1])),
        [torch.ones(3), 2.5],
        calls=5,
        change=change,
    )


def test_mark_dynamic_gives_one_graph():
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module

    compiled = frontend.compile(lambda x: x.sin() * x.shape[0], backend=backend)
    for n in (4, 5, 6):
        x = torch.ones(n)
        frontend.mark_dynamic(x, 0)
        torch.testing.assert_close(compiled(x), x.sin() * n)
    assert len(graphs) == 1


def test_mark_static_specializes():
    compiled = frontend.compile(lambda x: x * 2, backend="eager")
    for n in (4, 5, 6):
        x = torch.ones(n)
        frontend.mark_static(x)
        torch.testing.assert_close(compiled(x), x * 2)


def test_strides_that_change():
    def change(box):
        box[0] = torch.arange(24.0).reshape(4, 6)[:, :: 1 + len(box)][: 2 + len(box)]
        box.append(None)

    check(
        lambda box: (box[0] * 2, box[0].stride(), box[0].contiguous().view(-1)),
        [torch.ones(4, 6)],
        calls=4,
        change=change,
    )


def test_number_of_dimensions_changes():
    check(
        lambda box: box[0].sum(-1),
        [torch.ones(2)],
        calls=4,
        change=lambda box: box.__setitem__(0, box[0][None]),
    )


def test_module_with_changing_batch():
    def change(m, box):
        box[0] = torch.ones(box[0].shape[0] + 1, 3)

    check(
        lambda m, box: m(box[0]),
        torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)),
        [torch.ones(2, 3)],
        calls=5,
        change=change,
        graphs=2,
    )


DIVISIONS = [
    lambda x, n: x * (7 // n),
    lambda x, n: x * (7 % n),
    lambda x, n: x * (7 / n),
    lambda x, n: (x, divmod(7, n)),
    lambda x, n: x * (x.shape[0] // n),
    lambda x, n: x * (7.0 / (n * 0.5)),
    lambda x, n: x * (-7 // (n - 2)),
    lambda x, n: x * 0**n,
    lambda x, n: x * n**-1,
]


@pytest.mark.parametrize("function", DIVISIONS)
@pytest.mark.parametrize("number", [0, 2, 5])
def test_a_number_that_became_dynamic_may_be_zero(function, number):
    compiled = frontend.compile(function, backend="eager")

    def outcome(called, n):
        try:
            return str(called(torch.ones(2), n))
        except ZeroDivisionError as error:
            return str(error)

    for n in (1, 3, 4, -1, number, 7):
        assert outcome(compiled, n) == outcome(function, n)


def test_an_expression_that_doubles_in_size_with_each_step_is_fixed():
    def f(x, n):
        for i in range(24):
            n = (n + (n + i) % 9) % 9
            x = x + n
        return x, n

    compiled = frontend.compile(f, backend="eager")
    for n in (3, 4, 5, 3, 11):
        assert repr(compiled(torch.ones(2), n)) == repr(f(torch.ones(2), n))


def test_a_long_sum_stays_symbolic():
    def f(x, n):
        for i in range(300):
            n = n + i
        return x + n

    compiled = frontend.compile(f, backend="eager")
    results = [float(compiled(torch.zeros(()), n)) for n in (3, 4, 5, 6, 7, 8, 9)]
    assert results == [sum(range(300)) + n for n in (3, 4, 5, 6, 7, 8, 9)]
    assert len(frontend.explain(compiled)().graphs) == 2
