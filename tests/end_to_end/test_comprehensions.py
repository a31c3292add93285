"""Comprehensions and generator expressions."""

import torch
from tests.end_to_end.support import check

X = torch.tensor([-1.5, 0.25, 2.0])


def test_list_comprehension():
    check(lambda x: [x * i for i in range(3) if i != 1], X, graphs=1, breaks=0)


def test_dict_and_set_comprehensions():
    check(
        lambda x: ({k: x * v for k, v in {"a": 1, "b": 2}.items()}, {n % 3 for n in range(7)}),
        X,
        graphs=1,
        breaks=0,
    )


def test_nested_comprehension():
    check(lambda x: [[x[i] * j for j in range(2)] for i in range(3)], X, graphs=1, breaks=0)


def test_two_loops_in_one():
    check(lambda x: [(i, j, x + i * j) for i in range(3) for j in range(i)], X, graphs=1, breaks=0)


def test_iteration_variable_does_not_leak():
    def f(x):
        i = 10
        r = [x + i for i in range(2)]
        return r, i

    check(f, X, breaks=0)


def test_comprehension_closes_over_locals():
    def f(x, k):
        return [(lambda: x * k + i)() for i in range(3)]

    check(f, X, 2, breaks=0)


def test_walrus_in_a_comprehension():
    def f(x):
        r = [y := x + i for i in range(3)]
        return r, y

    check(f, X, breaks=0)


def test_comprehension_over_a_tensor():
    check(lambda x: [t * 2 for t in x], X, breaks=0)


def test_generator_expression_in_functions():
    check(
        lambda x: (
            sum(x * i for i in range(3)),
            tuple(i for i in (1, 2)),
            any(i > 1 for i in range(3)),
            max(i for i in (3, 1)),
            ",".join(str(i) for i in range(3)),
        ),
        X,
        breaks=0,
    )


def test_generator_expression_is_lazy():
    def f(x, log):
        g = (log.append(i) or i for i in range(5))
        next(g)
        return log, x + next(g)

    check(f, X, [], breaks=0)


def test_first_iterable_is_evaluated_at_once():
    def f(x):
        n = 3
        g = (i for i in range(n))
        n = 1
        return list(g), x

    check(f, X, breaks=0)


def test_comprehension_in_a_class_body():
    def f(x):
        class A:
            items = [i * 2 for i in range(3)]

        return A.items, x

    check(f, X)


def test_error_inside_a_comprehension_is_like_eager():
    check(lambda x: [1 // i for i in (1, 0)], X)


def test_comprehension_that_returns_lambdas():
    check(lambda x: [g(x) for g in [lambda t, i=i: t + i for i in range(3)]], X, breaks=0)


def test_condition_on_a_tensor():
    check(lambda x: [i for i in range(3) if x[i] > 0], X)


def test_comprehension_mutates_outer_state():
    def f(x, log):
        [log.append(x * i) for i in range(2)]
        return log

    check(f, X, [], breaks=0)
