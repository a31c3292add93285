"""Cells: read, written, shared, deleted, made in the trace and handed out."""

import torch
from tests.end_to_end.support import check

X = torch.tensor([-1.5, 0.25, 2.0])


def test_free_variable_is_read():
    k, t = 3, X + 1
    check(lambda x: x * k + t, X, graphs=1, breaks=0)


def test_nonlocal_of_the_compiled_function_is_written():
    total = 0

    def f(x):
        nonlocal total
        total += 1
        return x * total

    check(f, X, calls=4)


def test_tensor_in_a_cell_is_replaced():
    state = X

    def f(x):
        nonlocal state
        state = state * 2 + x
        return state.sum()

    check(f, X, calls=4)


def test_counter_made_inside():
    def f(x):
        n = 0

        def up():
            nonlocal n
            n += 1
            return n

        up()
        return x * up() + up(), n

    check(f, X, graphs=1, breaks=0)


def test_two_closures_share_a_cell():
    def f(x):
        value = x

        def put(v):
            nonlocal value
            value = v

        def get():
            return value

        put(get() * 2)
        return get(), value

    check(f, X, graphs=1, breaks=0)


def test_loop_variable_is_captured_late():
    check(lambda x: [g(x) for g in [lambda y: y + i for i in range(3)]], X, breaks=0)  # noqa: B023


def test_default_captures_early():
    check(lambda x: [g(x) for g in [lambda y, i=i: y + i for i in range(3)]], X, breaks=0)


def test_closure_is_returned_and_works_afterwards():
    def f(x):
        n = 1

        def g(y):
            nonlocal n
            n += 1
            return y * n + x

        g(x)
        return g

    check(f, X)


def test_returned_closures_share_their_cell():
    def f(x):
        box = x * 2

        def get():
            return box

        def put(v):
            nonlocal box
            box = v

        return get, put

    check(f, X)


def test_deleted_cell_raises_like_eager():
    def f(x):
        y = x + 1

        def g():
            return y

        del y
        return g()

    check(f, X)


def test_unbound_cell_raises_like_eager():
    def f(x):
        def g():
            return later

        r = g()
        later = x
        return r

    check(f, X)


def test_unbound_local_raises_like_eager():
    def f(x, flag):
        if flag:
            y = x
        return y

    check(f, X, False)


def test_argument_is_a_cell():
    def f(x, n):
        def g():
            nonlocal n, x
            n += 1
            x = x + n

        g()
        g()
        return x, n

    check(f, X, 2, breaks=0)


def test_closure_three_levels_deep():
    def f(x):
        a = 1

        def g():
            b = 2

            def h():
                nonlocal a, b
                a, b = b, a + b
                return x * a + b

            return h() + h(), b

        return g(), a

    check(f, X, graphs=1, breaks=0)


def test_free_variable_changed_from_outside_is_noticed():
    k = [2]

    def f(x):
        return x * k[0]

    def change(x):
        x.add_(1)

    check(f, X, change=change)


def test_class_body_reads_a_cell():
    def f(x):
        n = 3

        class A:
            m = n + 1

            def get(self):
                return x * self.m + n

        return A().get()

    check(f, X)


def test_recursive_inner_function():
    def f(x):
        def g(n):
            return x if n == 0 else g(n - 1) + n

        return g(4)

    check(f, X, graphs=1, breaks=0)
