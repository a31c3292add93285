"""Generators that the traced code makes and drives, and those that leave it."""

import asyncio
import contextlib

import torch
from tests.end_to_end.support import check

X = torch.tensor([-1.5, 0.25, 2.0])


def count(x, n):
    for i in range(n):
        yield x + i
    return "done"


def test_consumed_by_a_loop():
    check(lambda x: [t * 2 for t in count(x, 3)], X, graphs=1, breaks=0)


def test_next_with_and_without_default():
    def f(x):
        g = count(x, 1)
        return next(g), next(g, None)

    check(f, X, breaks=0)


def test_exhaustion_raises_with_the_returned_value():
    def f(x):
        g = count(x, 1)
        next(g)
        try:
            next(g)
        except StopIteration as e:
            return e.value, x

    check(f, X)


def test_uncaught_exhaustion_is_like_eager():
    check(lambda x: next(count(x, 0)), X)


def test_send():
    def acc(x):
        total = x
        while True:
            n = yield total
            if n is None:
                return
            total = total + n

    def f(x):
        g = acc(x)
        next(g)
        return g.send(1), g.send(2), next(g, "end")

    check(f, X)


def test_send_to_a_fresh_generator_raises_like_eager():
    check(lambda x: count(x, 2).send(3), X)


def test_throw_is_caught_inside():
    def g(x):
        try:
            yield x
        except ValueError as e:
            yield str(e)

    def f(x):
        it = g(x)
        next(it)
        return it.throw(ValueError("in")), x + 1

    check(f, X)


def test_throw_that_is_not_caught():
    def f(x):
        it = count(x, 3)
        next(it)
        try:
            it.throw(KeyError("k"))
        except KeyError as e:
            return e.args, list(it)

    check(f, X)


def test_close_runs_finally():
    def g(x, log):
        try:
            yield x
            yield x
        finally:
            log.append("closed")

    def f(x, log):
        it = g(x, log)
        y = next(it)
        it.close()
        return y, list(it), log

    check(f, X, [])


def test_yield_from():
    def outer(x):
        r = yield from count(x, 2)
        yield r
        yield from [7, 8]

    check(lambda x: list(outer(x)), X, breaks=0)


def test_send_through_yield_from():
    def inner():
        got = yield 1
        return got * 2

    def outer(x):
        r = yield from inner()
        yield x * r

    def f(x):
        g = outer(x)
        next(g)
        return g.send(5)

    check(f, X)


def test_two_generators_in_turn():
    check(lambda x: [a * b for a, b in zip(count(x, 3), count(x, 2))], X, breaks=0)


def test_generator_with_mutated_locals_outside():
    def f(x):
        n = 0

        def g():
            nonlocal n
            while n < 3:
                n += 1
                yield x * n

        it = g()
        a = next(it)
        n = 2
        return a, list(it), n

    check(f, X, breaks=0)


def test_suspended_generator_is_returned():
    def f(x):
        g = count(x, 3)
        first = next(g)
        return g, first

    check(f, X)


def test_fresh_generator_is_returned():
    check(lambda x: count(x * 2, 3), X)


def test_generator_argument_goes_on():
    def f(x, box):
        return next(box[0]) + x

    def outer(x):
        box = [count(x, 5)]
        return f(x, box), f(x, box)

    check(outer, X)


def test_generator_method_and_recursion():
    class Tree:
        def __init__(self, v, *kids):
            self.v, self.kids = v, kids

        def __iter__(self):
            yield self.v
            for k in self.kids:
                yield from k

    check(lambda x: [v * x for v in Tree(1, Tree(2), Tree(3, Tree(4)))], X, breaks=0)


def test_generator_raises_while_consumed():
    def g(x):
        yield x
        raise ValueError("broken")

    def f(x):
        out = []
        try:
            for t in g(x):
                out.append(t * 2)
        except ValueError as e:
            out.append(str(e))
        return out

    check(f, X)


def test_stop_iteration_inside_becomes_runtime_error():
    def g():
        yield 1
        raise StopIteration

    check(lambda x: list(g()), X)


def test_generator_based_context_manager():
    @contextlib.contextmanager
    def manage(log):
        log.append("in")
        try:
            yield 5
        finally:
            log.append("out")

    def f(x, log):
        with manage(log) as n:
            y = x * n
        return y, log

    check(f, X, [])


def test_infinite_generator_with_break():
    def naturals():
        n = 0
        while True:
            yield n
            n += 1

    def f(x):
        for n in naturals():
            if n == 4:
                break
            x = x + n
        return x

    check(f, X, breaks=0)


def test_unpacking_a_generator():
    def f(x):
        a, b, *c = count(x, 4)
        return a + b, c, [*count(x, 2), 1]

    check(f, X, breaks=0)


def test_running_twice_raises_like_eager():
    def g():
        yield next(me[0])

    me = []

    def f(x):
        me.append(g())
        return next(me[0])

    check(f, X, calls=1)


def test_generator_in_finally_and_return():
    def g(x, log):
        try:
            for i in range(3):
                yield x + i
        finally:
            log.append("end")

    def f(x, log):
        for t in g(x, log):
            return t, log

    check(f, X, [])


def guarded(x, log):
    try:
        yield x
        yield x + 1
    finally:
        log.append("closed")


def test_generator_dropped_by_break_is_closed_at_once():
    def f(x, log):
        for t in guarded(x, log):
            break
        log.append("after")
        return t, log

    check(f, X, [])


def test_generator_dropped_by_return_is_closed_at_once():
    def first(x, log):
        it = guarded(x, log)
        return next(it)

    def f(x, log):
        y = first(x, log)
        log.append("after")
        return y, log

    check(f, X, [])


def test_generator_that_is_kept_is_not_closed():
    def f(x, log):
        kept = []
        for t in (it := guarded(x, log)):
            kept.append(it)
            break
        log.append("after")
        return next(kept[0]), log

    check(f, X, [])


def test_generator_dropped_across_a_break():
    def f(x, log):
        it = guarded(x, log)
        y = next(it)
        print("break")
        return y + next(it), log

    check(f, X, [])


def test_generator_dropped_in_a_try_is_closed_at_once():
    def g(x, log):
        try:
            for i in range(3):
                yield x + i
        finally:
            log.append("end")

    def f(x, log):
        for t in g(x, log):
            break
        log.append(len(log))
        return t * len(log)

    check(f, X, [])


def test_generator_dropped_by_an_inlined_function_is_closed():
    def g(log):
        try:
            yield 1
            yield 2
        finally:
            log.append("end")

    def first(log):
        source = g(log)
        return next(source)

    def f(x, log):
        value = first(log)
        log.append("after")
        return x * value

    check(f, X, [])


async def slept(x):
    await asyncio.sleep(0)
    return x.sin()


async def items(x):
    for i in range(3):
        yield x + i


async def collected(x):
    return [await slept(item) async for item in items(x)]


def test_coroutines_run_natively():
    def f(x):
        found = asyncio.run(collected(x * 2))
        begun = slept(x)
        try:
            while True:
                begun.send(None)
        except StopIteration as end:
            found.append(end.value * 2)
        return found

    check(f, X)
