"""Small functions that together use every construct a function can contain.

`PROGRAMS`: (function, arguments). Each takes a `log` list first, into which it writes what it does, so that two runs
can be compared. Generators are driven by the tests.
"""

import sys


class Manager:
    def __init__(self, log, name, swallow=False):
        self.log, self.name, self.swallow = log, name, swallow

    def __enter__(self):
        self.log.append(("enter", self.name))
        return self.name

    def __exit__(self, kind, error, traceback):
        self.log.append(("exit", self.name, kind, str(error), str(sys.exc_info()[1])))
        return self.swallow


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def moved(self, *, by=0):
        return Point(self.x + by, self.y + by)


class Child(Point):
    def moved(self, *, by=0):
        again = super().moved(by=by)
        return super(Child, self).moved(by=by + again.x)


def current():
    error = sys.exc_info()[1]
    return None if error is None else (type(error).__name__, str(error))


def straight(log, a, b):
    c = a + b * 2
    log.append(c)
    d = [c, *range(3), a]
    d[1:2] = [c, c]
    del d[0]
    x, (y, *z) = c, d
    return f"{x!r:>5} {y} {z} {-a} {~b} {not a} {a < b <= c}"


def for_loop(log, n):
    total = 0
    for i in range(n):
        if i == 1:
            continue
        for j in (10, 20):
            total += i * j
            if j > 15 and i > 2:
                break
        else:
            log.append(i)
    return total


def while_loop(log, n):
    while n > 0 and (n != 5 or log):
        n -= 1
        log.append(n)
    else:
        log.append("else")
    return n


def with_blocks(log):
    with Manager(log, "a") as a, Manager(log, "b", True) as b:
        log.append(a + b)
        raise ValueError("inside")
    log.append("after")
    with Manager(log, "c"):
        return len(log)


def with_raises(log):
    with Manager(log, "a"):
        log.append(1)
        {}["missing"]


def try_finally(log, n):
    try:
        log.append(n)
        if n > 2:
            return n // (n - 3)
        n += 1
    finally:
        log.append(("finally", current()))
    return n


def try_except(log, value):
    try:
        log.append("try")
        r = 10 // value
    except (TypeError, ZeroDivisionError) as error:
        log.append(("handler", str(error), current()))
        r = repr(error)
    except ValueError:
        r = "never"
    else:
        log.append("else")
    finally:
        log.append(current())
    return r


def nested_handlers(log):
    try:
        try:
            raise KeyError("one")
        except KeyError as one:
            log.append(current())
            try:
                raise IndexError("two") from one
            except IndexError:
                log.append(current())
                try:
                    log.append("inner")
                    raise
                finally:
                    log.append(current())
            finally:
                log.append(current())
    except LookupError as error:
        log.append((current(), repr(error.__context__), repr(error.__cause__)))
    return current()


def bare_raise(log):
    for name in ("a", "b"):
        try:
            try:
                raise ValueError(name)
            except ValueError:
                log.append(current())
                raise
        except Exception as error:
            log.append(str(error))
    raise RuntimeError("end")


def context_of_new(log):
    try:
        [][1]
    except IndexError:
        log.append(current())
        int("x")


def loop_in_handler(log):
    try:
        raise OSError("disk")
    except OSError:
        for i in range(3):
            with Manager(log, i):
                log.append((i, current()))
                if i == 1:
                    continue
        return current()


def comprehension(log, n):
    x = "outer"
    pairs = [(x, y) for x in range(n) for y in range(x) if x != 2]
    named = {x: [x for x in range(y)] for x, y in pairs}
    log.append(x)
    return pairs, named, {x for x, _ in pairs}, list(x for x in pairs)


def comprehension_cells(log, n):
    x = 5
    makers = [lambda: x + y for y in range(n)]
    inner = [[lambda: (x, z) for z in range(2)] for x in range(2)]
    log.append([f() for f in makers])
    return [f() for row in inner for f in row], x, (lambda: x)()


def comprehension_raises(log, values):
    x = "kept"
    try:
        return [1 // x for x in values]
    except ZeroDivisionError:
        log.append(x)
    return x


def cells(log, n):
    count = 0

    def add(by, *, twice=False):
        nonlocal count
        count += by * (2 if twice else 1)
        return n + count

    log.append(add(1))
    n += 10
    add(2, twice=True)
    log.append(count)
    del count
    try:
        return add(1)
    except NameError as error:
        return str(error)


def make_free(start):
    def free(log, step):
        nonlocal start
        for _ in range(2):
            start += step
            log.append(start)
        return start, (lambda: start)()

    return free


def argument_kinds(log, a, /, b, *rest, c=3, **more):
    log.append((a, b, rest, c, more))
    call = dict(**more, a=a)
    return Point(a, b).moved(by=c).x, call, print.__name__, max(*rest, key=lambda v: -v)


def star_calls(log, *args, **kwargs):
    log.extend(args)
    values = sorted(*[args], **{"reverse": True})
    return dict(x=1, **kwargs), "{} {k}".format(*values, k=kwargs.get("k"))


def deleting(log, n):
    m = n
    del n
    try:
        log.append(n)  # noqa: F821
    except UnboundLocalError as error:
        log.append(str(error))
    n = m
    return n


def superclass(log):
    p = Child(1, 2).moved(by=3)
    p.x += 1
    del p.y
    log.append(hasattr(p, "y"))
    return p.x


def matching(log, value):
    match value:
        case [1, *rest]:
            return "list", rest
        case {"k": found, **rest}:
            log.append(rest)
            return found
        case Point(x=0, y=y) | Point(y, 1):
            return y
        case str(text) if text:
            return text
        case None:
            return "none"
    return "other"


def chained(log, a):
    log.append(a or "empty")
    b = a and a[0]
    if (found := log[-1]) is not None and "e" in found:
        return found, b
    return "short" if a is None else "long", b


def groups(log):
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), KeyError(2), OSError(3)])
        except* ValueError as error:
            log.append(repr(error))
        except* KeyError:
            log.append("key")
    except ExceptionGroup as rest:
        log.append(repr(rest.exceptions))
    return current()


def imports(log):
    import math
    from os import path as where
    from os import sep

    assert sep, "no separator"
    log.append(where.__name__)
    return math.floor(2.5)


def returns_in_finally(log):
    for i in range(3):
        try:
            if i == 1:
                raise ValueError(i)
        except ValueError:
            continue
        finally:
            log.append((i, current()))
            if i == 2:
                return "finally"


def early_exit(log):
    for i in range(4):
        with Manager(log, i):
            try:
                if i == 2:
                    return [i, current()]
            finally:
                log.append("f")


def wide(log, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9):
    b0, b1, b2, b3, b4, b5, b6, b7, b8, b9 = a9, a8, a7, a6, a5, a4, a3, a2, a1, a0
    log.append((b0, b9))
    return [b0 + b1, b2 + b3, b4 + b5, b6 + b7, b8 + b9, (a0, a1, a9, b9)]


def classes(log, base):
    shift = 3

    class Local(base):
        factor = shift * 2

        def scaled(self, n: int = 2, *, m: int = 1) -> int:
            return self.factor * n * m + shift

    log.append(Local.__name__)
    return Local().scaled(m=2)


def numbers(log):
    yield 1
    got = yield 2
    log.append(got)
    return got


def guarded(log):
    for i in range(3):
        try:
            with Manager(log, i):
                got = yield i
                log.append(("got", got))
        except ValueError as error:
            log.append(("caught", str(error), current()))
            got = yield "handler"
            log.append((got, current()))
        finally:
            log.append(("finally", current()))
    return "done"


def delegating(log):
    first = yield from numbers(log)
    log.append(first)
    try:
        second = yield from guarded(log)
    except KeyError:
        log.append(current())
        second = yield [x for x in range(3)]
    return first, second


def endless(log):
    n = 0
    try:
        while True:
            n = (yield n) or n + 1
    except GeneratorExit:
        log.append("closed")
        raise


TEMPLATES = """
def template(log, name, width):
    found = t"{name}: {width!r:>{width}} end" + t"{log}"
    log.append(str(width))
    return [(one.value, one.expression, one.conversion, one.format_spec) for one in found.interpolations], found.strings
"""


def new_syntax():
    """Programs in a syntax that older Pythons cannot read."""
    if sys.version_info < (3, 14):
        return []
    names = {"__name__": __name__}
    exec(compile(TEMPLATES, __file__, "exec"), names)
    return [(names["template"], ("a", 7))]


PROGRAMS = [
    *new_syntax(),
    (straight, (2, 3)),
    (for_loop, (5,)),
    (while_loop, (3,)),
    (while_loop, (5,)),
    (with_blocks, ()),
    (with_raises, ()),
    (try_finally, (1,)),
    (try_finally, (3,)),
    (try_finally, (4,)),
    (try_except, (5,)),
    (try_except, (0,)),
    (try_except, ("a",)),
    (nested_handlers, ()),
    (bare_raise, ()),
    (context_of_new, ()),
    (loop_in_handler, ()),
    (comprehension, (4,)),
    (comprehension_cells, (3,)),
    (comprehension_raises, ([1, 2, 0],)),
    (comprehension_raises, ([1],)),
    (cells, (1,)),
    (make_free(1), (2,)),
    (argument_kinds, (1, 2, 3, 4)),
    (star_calls, (3, 1, 2)),
    (deleting, (1,)),
    (superclass, ()),
    (matching, ([1, 2, 3],)),
    (matching, ({"k": 1, "m": 2},)),
    (matching, (Point(0, 7),)),
    (matching, (Point(8, 1),)),
    (matching, ("text",)),
    (matching, (None,)),
    (matching, (3.5,)),
    (chained, (None,)),
    (chained, ("text",)),
    (groups, ()),
    (imports, ()),
    (returns_in_finally, ()),
    (early_exit, ()),
    (wide, tuple(range(10))),
    (classes, (object,)),
]

# What a driver does with a generator: a value to send, an exception to throw, or "close".
GENERATORS = [
    (numbers, (None, None, "x")),
    (guarded, (None, 1, 2, 3)),
    (guarded, (None, ValueError("v"), 5, 6, 7)),
    (guarded, (None, "a", KeyError("k"))),
    (guarded, (None, ValueError("v"), TypeError("t"))),
    (guarded, (None, 1, "close")),
    (delegating, (None, 1, 2, 3, 4, 5, 6)),
    (delegating, (None, 1, 2, 3, KeyError("k"), 4)),
    (delegating, (None, ValueError("v"))),
    (delegating, (None, None, None, ValueError("v"), 1, 2, 3)),
    (endless, (None, 5, None, "close")),
    (endless, (None, OSError("o"))),
]
