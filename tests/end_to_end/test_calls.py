"""Arguments of every kind, defaults, and what a call raises when they do not fit."""

import functools

import pytest
import torch
from tests.end_to_end.support import check, check_source

X = torch.tensor([-1.5, 0.25, 2.0])


def scale(x, /, by=2, *rest, plus=0, **named):
    return x * by + sum(rest) + plus + named.get("extra", 0)


CALLS = {
    "positional": lambda x: scale(x, 3),
    "defaults": lambda x: scale(x),
    "keyword": lambda x: scale(x, by=5),
    "star": lambda x: scale(x, *[3, 4, 5]),
    "double star": lambda x: scale(x, **{"plus": 1, "extra": 2}),
    "all": lambda x: scale(*(x,), *[3], 7, plus=1, **{"extra": 4}),
    "two double stars": lambda x: scale(x, **{"plus": 1}, **{"extra": 2}),
    "star of tensor rows": lambda x: scale(*x, plus=1),
    "star of a generator": lambda x: scale(x, *(i for i in range(3))),
}
WRONG = {
    "too many": lambda x: (lambda a: a)(x, x),
    "missing": lambda x: (lambda a, b: a)(x),
    "unknown keyword": lambda x: (lambda a: a)(x, c=3),
    "twice": lambda x: (lambda a, b: a)(x, a=3),
    "keyword only": lambda x: (lambda a, *, b: a)(x, 1),
    "missing keyword only": lambda x: (lambda a, *, b: a)(x),
    "positional only by name": lambda x: scale(x=x),
    "duplicate in mapping": lambda x: scale(x, by=1, **{"by": 2}),
    "star of a number": lambda x: scale(x, *3),
    "mapping expected": lambda x: scale(x, **[1]),
    "not callable": lambda x: x.shape[0](x),
    "keys are not strings": lambda x: scale(x, **{1: 2}),
}


@pytest.mark.parametrize("name", CALLS)
def test_call_with(name):
    check(CALLS[name], X, graphs=1, breaks=0)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_call_raises_like_eager(name):
    check(WRONG[name], X)


def test_own_star_arguments():
    check(
        lambda *xs, **named: (sum(xs), list(named), named["k"] * 2, len(xs)),
        X,
        X + 1,
        kwargs={"k": X, "b": 3},
        breaks=0,
    )


def test_number_of_star_arguments_may_change():
    def f(x, box):
        return (lambda *a: len(a) * x)(*box)

    check(f, X, [1], change=lambda x, box: box.append(2), breaks=0)


def test_defaults_are_evaluated_once():
    def f(x, log):
        def g(y, seen=[]):
            seen.append(len(seen))
            return y + len(seen)

        g(x)
        log.append(g.__defaults__)
        return g(x)

    check(f, X, [])


def test_default_that_is_mutated_outlives_the_call():
    def f(x, seen=[]):  # noqa: B006
        seen.append(len(seen))
        return x * len(seen)

    check(f, X)


def test_defaults_replaced_between_calls_are_noticed():
    check_source("""
import torch
def g(x, k=2): return x * k
def f(x, box):
    r = g(x)
    g.__defaults__ = (box[0],)
    box[0] += 1
    return r
def args(): return torch.ones(3), [5]
""")


def test_recursion():
    def fact(x, n):
        return x if n == 0 else fact(x, n - 1) * n

    check(fact, X, 5)


def test_mutual_recursion():
    def even(x, n):
        return x if n == 0 else odd(x + 1, n - 1)

    def odd(x, n):
        return -x if n == 0 else even(x * 2, n - 1)

    check(even, X, 7, breaks=0)


def test_endless_recursion_raises_like_eager():
    def f(x):
        return f(x + 1)

    check(f, X, calls=1)


def test_lambda_and_immediate_call():
    check(lambda x: (lambda a, b=3: a * b)((lambda: x + 1)()), X, graphs=1, breaks=0)


def test_decorated_function():
    def twice(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs) * 2

        return wrapper

    @twice
    def g(x, y=1):
        """doc"""
        return x + y

    check(lambda x: (g(x, y=3), g.__name__, g.__doc__, g.__wrapped__(x)), X)


class Counted:
    """A method that each instance wraps, as metrics do."""

    def __init__(self):
        self.count = 0
        self.update = self.counting(self.update)

    def counting(self, method):
        @functools.wraps(method)
        def counted(*args):
            self.count += 1
            return method(*args)

        return counted

    def update(self, x: int):
        """doc"""
        return x * 2

    update.mark = 5


def test_a_wrapper_of_a_bound_method():
    def f(x):
        counted = Counted()
        y, update = counted.update(x), counted.update
        return y, counted.count, update.__name__, update.__doc__, update.mark, update.__wrapped__(x)

    check(f, X, graphs=1, breaks=0)


def test_functions_in_containers():
    def f(x, table):
        for name in ("a", "b"):
            x = table[name](x)
        return x

    check(f, X, {"a": torch.relu, "b": lambda t: t * 3}, breaks=0)


def test_evaluation_order_of_arguments():
    def f(x, log):
        def note(value):
            log.append(value)
            return value

        scale(x, note(1), note(2), plus=note(3), **{"extra": note(4)})
        return x + sum(log)

    check(f, X, [])


def test_callable_objects():
    class Adder:
        def __init__(self, n):
            self.n = n

        def __call__(self, x, *, times=1):
            return x + self.n * times

    check(lambda x, a: a(x, times=3), X, Adder(4), graphs=1, breaks=0)


def test_a_function_that_returns_nothing():
    check(lambda x, out: out.append(x * 2), X, [])


def test_unused_result_of_a_graph_call():
    def f(x):
        x * 2
        return None

    check(f, X)


def test_function_attributes():
    def f(x):
        def g(y):
            g.count += 1
            return y * g.count

        g.count = 0
        g(x)
        return g(x), g.count, vars(g)

    check(f, X)


def test_inspect_of_function_parts():
    def f(x):
        def g(a, b: int = 3, *, c=4) -> float: ...

        return (
            x,
            g.__name__,
            g.__qualname__,
            g.__defaults__,
            g.__kwdefaults__,
            g.__annotations__,
            g.__module__,
        )

    check(f, X)


def test_a_partial_is_called_and_its_keywords_are_read():
    check_source("""
import functools
import torch
def add(x, y, scale=1): return x + y * scale
half = functools.partial(add, scale=0.5)
def f(x): return half(x, 2), half.keywords["scale"], len(half.keywords)
def args(): return [torch.ones(2)]
""")


@pytest.mark.parametrize(
    "call",
    [
        "own_list() == own_list()",
        "own_dict() != own_dict()",
        "hash(nest(1))",
        "str(Endless())",
        "object.__repr__(Endless()) and Endless()()",
    ],
)
def test_an_operation_that_recurses_without_end_is_a_break(call):
    check_source(
        f"""
import torch

class Endless:
    def __str__(self):
        return str(self)

Endless.__call__ = Endless()

def own_list():
    made = []
    made.append(made)
    return made

def own_dict():
    made = {{}}
    made[1] = made
    return made

def nest(value):
    for _ in range(3000):
        value = (value,)
    return value

def attempt(function):
    try:
        return function()
    except RecursionError as error:
        return type(error)

def f(x):
    return x + 1, attempt(lambda: {call})

def args():
    return (torch.ones(2),)
"""
    )
