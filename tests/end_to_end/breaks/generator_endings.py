"""More of them: how generators end, what they hold, who holds them."""

PROGRAMS = {
    "many rounds": """
def g(x):
    for i in range(60):
        print("g")
        yield x + i
def f(x, log):
    for t in g(x):
        print("b")
        x = x + t * 0.01
    return x
""",
    "zip of gens": """
def g(x, n):
    for i in range(n):
        print("g", n)
        yield x + i
def f(x, log):
    for i, (a, b) in enumerate(zip(g(x, 3), g(x * 2, 2))):
        print("b")
        x = x + a * b * i
    return x
""",
    "recursive": """
def walk(x, d):
    if d:
        print("down", d)
        yield from walk(x + 1, d - 1)
        print("up", d)
    yield x * d
def f(x, log):
    for t in walk(x, 3):
        print("b")
        x = x + t
    return x
""",
    "recursive loop": """
def walk(x, d):
    if d:
        print("down", d)
        for t in walk(x + 1, d - 1): yield t
        print("up", d)
    yield x * d
def f(x, log):
    for t in walk(x, 3):
        print("b")
        x = x + t
    return x
""",
    "inner called function": """
def help(x):
    y = x + 1
    print("help")
    return y * 2
def g(x):
    for i in range(2):
        yield help(x * i)
def use(it, x):
    for t in it:
        x = x + help(t)
    return x
def f(x, log):
    it = g(x)
    return use(it, x) + help(x)
""",
    "generator sent to another": """
def a():
    other = yield
    print("a")
    yield next(other)
    print("a2")
    yield next(other)
def b(x):
    print("b")
    yield x
    print("b2")
    yield x + 1
def f(x, log):
    p = a(); q = b(x)
    next(p)
    y = p.send(q)
    print("f")
    z = next(p)
    return y + z, next(q, None)
""",
    "self sent": """
def a(x):
    me = yield x
    print("a")
    try: next(me)
    except ValueError as e: print(e)
    yield x + 1
def f(x, log):
    p = a(x)
    y = next(p)
    y = y + p.send(p)
    print("f")
    return y, next(p, 5)
""",
    "break in with": """
@contextlib.contextmanager
def m(log):
    log.append("in")
    print("in")
    try: yield 3
    finally:
        print("out"); log.append("out")
def g(x, log):
    with m(log) as n:
        print("w")
        yield x * n
        print("w2")
        yield x + n
def f(x, log):
    for t in g(x, log):
        print("f"); x = x + t
    for t in g(x, log):
        print("f"); x = x + t
        break
    log.append("done")
    return x
""",
    "stopiteration inside": """
def g(x):
    yield x
    print("r")
    raise StopIteration(3)
def f(x, log):
    try:
        for t in g(x):
            x = x + t
            print("b")
    except RuntimeError as e:
        log.append((str(e), repr(e.__cause__), repr(e.__context__)))
    return x
""",
    "next raises inside gen": """
def g(x):
    it = iter([])
    yield x
    next(it)
    yield x
def f(x, log):
    try:
        for t in g(x): x = x + t
    except RuntimeError as e:
        log.append((str(e), repr(e.__cause__)))
    return x
""",
    "state in loop var": """
def g(n):
    total = 0
    while total < n:
        got = yield total
        print("got", got)
        total += 1 if got is None else got
    return total
def f(x, log):
    it = g(5)
    v = next(it)
    try:
        while True:
            print("loop", v)
            x = x + v
            v = it.send(2)
    except StopIteration as e:
        log.append(e.value)
    return x
""",
    "tensor cond in gen": """
def g(x):
    for i in range(3):
        if x.sum() > i:
            x = x * 2
        else:
            x = x - 1
        yield x
def f(x, log):
    for t in g(x):
        if t.sum() > 1: x = x + t
        else: x = x - t
    return x
""",
    "return in loop": """
def g(x, log):
    try:
        for i in range(3):
            print("g"); yield x + i
    finally: log.append("end"); print("end")
def first(x, log):
    for t in g(x, log):
        print("b")
        return t
def f(x, log):
    y = first(x, log)
    log.append("after")
    return y * 2
""",
    "assign over": """
def g(x, log):
    try:
        for i in range(3):
            print("g"); yield x + i
    finally: log.append("end"); print("end")
def f(x, log):
    it = g(x, log)
    y = next(it)
    print("a")
    it = None
    log.append("after")
    print("b")
    return y * 2
""",
    "del": """
def g(x, log):
    try:
        for i in range(3):
            print("g"); yield x + i
    finally: log.append("end"); print("end")
def f(x, log):
    it = g(x, log)
    y = next(it)
    print("a")
    del it
    log.append("after")
    print("b")
    return y * 2
""",
    "gi attrs": """
def g(x):
    print("g"); yield x
    print("h"); yield x
def f(x, log):
    it = g(x)
    y = next(it)
    print("a")
    log.append((it.gi_frame is None, it.gi_running, it.__name__, type(it).__name__))
    y = y + next(it)
    return y
""",
    "locals in gen": """
def g(x):
    a = 1
    print(sorted(locals()))
    yield x + a
    b = 2
    print("q", sorted(locals()))
    yield x + b
def f(x, log):
    for t in g(x):
        print("b"); x = x + t
    return x
""",
    "kwargs gen": """
def g(a, *b, c=3, **d):
    print(a is None, len(b), c, sorted(d))
    yield a
    print("k")
    yield (b, c, d)
def f(x, log):
    it = g(x, 1, 2, c=4, e=5)
    print("x")
    return next(it), next(it)
""",
    "generator method": """
class T:
    def __init__(self, v, *kids): self.v, self.kids = v, kids
    def __iter__(self):
        print("visit", self.v)
        yield self.v
        for k in self.kids: yield from k
def f(x, log):
    for v in T(1, T(2), T(3, T(4))):
        x = x * v
        print("b")
    return x
""",
    "super in gen": """
class A:
    def it(self, x):
        print("A"); yield x
class B(A):
    def it(self, x):
        yield from super().it(x)
        print("B")
        yield from super().it(x + 1)
def f(x, log):
    for t in B().it(x):
        print("b"); x = x + t
    return x
""",
    "unbound in gen": """
def g(x):
    print("a")
    yield x
    print("b")
    print(zz)
    zz = 3
def f(x, log):
    try:
        for t in g(x): x = x + t
    except UnboundLocalError as e: log.append(str(e))
    return x
""",
    "nested try loops": """
def g(x):
    for i in range(4):
        yield x + i
def f(x, log):
    for t in g(x):
        try:
            try:
                print("b")
                if len(log) == 1: failing()
                log.append(1)
                continue
            finally:
                print("fin")
        except KeyError:
            print("handler")
            log.append(2)
            x = x * 2
        x = x + t
    return x
""",
    "comprehension over gen": """
def g(x):
    for i in range(3):
        print("g"); yield x + i
def f(x, log):
    a = [t * 2 for t in g(x)]
    b = {i: t for i, t in enumerate(g(x))}
    c = tuple(g(x)); d = sum(g(x)); e, h, k = g(x)
    return a, b, c, d, e + h + k, max(float(t.detach().sum()) for t in g(x))
""",
    "yield in expression": """
def g(x):
    y = x + (yield x) + (yield x + 1)
    print("y")
    yield y
def f(x, log):
    it = g(x)
    a = next(it); print("1"); b = it.send(a); print("2"); c = it.send(b)
    return a + b + c
""",
    "lazy pipeline": """
def src(x):
    for i in range(3):
        print("src"); yield x + i
def dbl(it):
    for t in it:
        print("dbl"); yield t * 2
def flt(it):
    for k, t in enumerate(it):
        if k != 1: yield t
def f(x, log):
    for t in flt(dbl(src(x))):
        print("b"); x = x + t
    return x
""",
    "traceback": """
import traceback
def inner(x):
    yield x
    failing()
def g(x):
    for t in inner(x):
        print("g"); yield t
def f(x, log):
    try:
        for t in g(x):
            print("b"); x = x + t
    except KeyError as e:
        log.append([(s.name, s.line) for s in traceback.extract_tb(e.__traceback__) if "framesmith" not in s.filename])
    return x
""",
    "traceback traced": """
import traceback
def inner(x):
    yield x
    print('i'); raise KeyError(1)
def g(x):
    for t in inner(x):
        print("g"); yield t
def f(x, log):
    try:
        for t in g(x):
            print("b"); x = x + t
    except KeyError as e:
        log.append([(s.name, s.line) for s in traceback.extract_tb(e.__traceback__) if "framesmith" not in s.filename])
    return x
""",
    "closed while it holds another": """
def g0(x, log):
    try:
        yield x
        yield x * 2
    finally:
        log.append('fin')
def g2(x, log):
    v1 = g0(x, log)
    x = x + next(v1)
    native()
    x = x + v1.send(3)
    yield x
def f(x, log):
    v3 = g2(x, log)
    x = x + next(v3)
    v3.close()
    log.append('after')
    return x
""",
    "ended while it holds another": """
def g0(x, log):
    try:
        yield x
        yield x * 2
    finally:
        log.append('fin')
def g2(x, log):
    v1 = g0(x, log)
    x = x + next(v1)
    print("a")
    yield x
    yield x
def f(x, log):
    v3 = g2(x, log)
    x = x + next(v3)
    x = x + next(v3)
    next(v3, None)
    log.append('after')
    return x
""",
    "throw through yield from": """
def inner(x, log):
    try: yield x
    except Boom as e:
        log.append("inner")
        yield x * 2
def outer(x, log):
    yield from inner(x, log)
    log.append("end")
def f(x, log):
    g = outer(x, log)
    y = next(g)
    z = g.throw(Boom("t"))
    return y + z, next(g, 5)
""",
    "close through yield from": """
def inner(x, log):
    try: yield x
    except GeneratorExit as e:
        log.append("inner")
        raise
def outer(x, log):
    try:
        yield from inner(x, log)
    except GeneratorExit:
        log.append("outer")
        raise
def f(x, log):
    g = outer(x, log)
    y = next(g)
    g.close()
    return y
""",
    "stopiteration inside, uncaught": """
def g(x):
    yield x
    print("r")
    raise StopIteration(3)
def f(x, log):
    for t in g(x):
        x = x + t
    return x
""",
}
