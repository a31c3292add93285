"""Programs with breaks around suspended generators and inside them, as source text; `f(x, log)` each."""

PROGRAMS = {
    "fresh across": """
def g(x):
    for i in range(3):
        yield x + i
def f(x, log):
    it = g(x * 2)
    print("b")
    for t in it:
        log.append(float(t.detach().sum()))
        x = x + t
    return x
""",
    "fresh with cell": """
def f(x, log):
    def g(n):
        def inner(): return n
        n += 1
        yield x * inner()
        n += 1
        yield x * inner()
    it = g(2)
    print("b")
    a = next(it); print("c"); b = next(it)
    log.append(next(it, "end"))
    return a + b
""",
    "two names": """
def g(x):
    r = yield x
    print("in", r)
    r = yield x * 2
    print("in", r)
def f(x, log):
    a = g(x); b = a
    y = next(a)
    print("b1")
    y = y + b.send(5)
    print("b2", a is b)
    try: a.send(6)
    except StopIteration as e: log.append(e.value)
    return y
""",
    "nested generators": """
def inner(x, n):
    for i in range(n):
        print("inner", i)
        yield x + i
def outer(x):
    for k in range(2):
        for t in inner(x * k, 2):
            print("outer")
            yield t * 2
def f(x, log):
    for t in outer(x):
        print("f")
        x = x + t
    return x
""",
    "yield from": """
def inner(x):
    got = yield x
    print("got", got)
    got = yield x + 1
    print("got", got)
    return x * 3
def outer(x):
    r = yield from inner(x)
    print("ret")
    yield r
    r2 = yield from inner(x + 1)
    return r2
def f(x, log):
    it = outer(x)
    a = next(it)
    print("1")
    b = it.send("s")
    print("2")
    c = it.send("t")
    print("3")
    d = next(it); e = next(it)
    try: next(it)
    except StopIteration as s: h = s.value
    return a + b + c + d + e + h
""",
    "yield from list": """
def outer(x):
    yield from [x, x + 1]
    print("mid")
    yield from (x * i for i in range(2))
def f(x, log):
    for t in outer(x):
        print("f"); x = x + t
    return x
""",
    "next default": """
def g(x):
    print("a"); yield x; print("b")
def f(x, log):
    it = g(x)
    y = next(it, None)
    print("m")
    z = next(it, "dflt")
    w = next(it, "again")
    return y + 1, z, w
""",
    "finally in abandoned": """
def g(x, log):
    try:
        print("g0")
        yield x
        print("g1")
        yield x + 1
    finally:
        log.append("closed")
        print("fin")
def f(x, log):
    for t in g(x, log):
        print("body")
        x = x + t
        break
    log.append("after")
    return x * 2
""",
    "finally full": """
def g(x, log):
    try:
        print("g0")
        yield x
        print("g1")
        yield x + 1
    finally:
        log.append("closed")
        print("fin")
def f(x, log):
    for t in g(x, log):
        print("body")
        x = x + t
    log.append("after")
    return x * 2
""",
    "finally and raise": """
def g(x, log):
    try:
        yield x
        yield x + 1
    finally:
        log.append("closed")
        print("fin")
def f(x, log):
    try:
        for t in g(x, log):
            print("body")
            x = x + t
            failing(x)
    except KeyError as e:
        log.append("caught")
    log.append("after")
    return x * 2
""",
    "finally and raise uncaught": """
def g(x, log):
    try:
        yield x
        yield x + 1
    finally:
        log.append("closed")
def f(x, log):
    for t in g(x, log):
        print("body")
        x = x + t
        failing(x)
    return x * 2
""",
    "raise traced uncaught": """
def g(x, log):
    try:
        yield x
        yield x + 1
    finally:
        log.append("closed")
def f(x, log):
    for t in g(x, log):
        print("body")
        x = x + t
        raise Boom(3)
    return x * 2
""",
    "raise inside gen": """
def g(x, log):
    yield x
    print("in")
    raise Boom("g")
def f(x, log):
    it = g(x, log)
    try:
        for t in it:
            x = x + t
            print("b")
    except Boom as e:
        log.append(str(e))
    log.append(list(it))
    return x
""",
    "native raise inside gen": """
def g(x, log):
    yield x
    print("in")
    failing()
def f(x, log):
    it = g(x, log)
    try:
        for t in it:
            x = x + t
            print("b")
    except KeyError as e:
        log.append(str(e))
    log.append(list(it))
    return x
""",
    "native raise inside gen, uncaught": """
def g(x, log):
    yield x
    print("in")
    failing()
def f(x, log):
    for t in g(x, log):
        x = x + t
        log.append(1)
    return x
""",
    "handled in gen": """
def g(x, log):
    for k in range(3):
        try:
            if k == 1: failing()
            yield x + k
        except KeyError as e:
            print("h", sys.exc_info()[0].__name__)
            log.append(repr(e))
            yield x * 10
            print("h2", sys.exc_info()[0].__name__)
        finally:
            print("f")
def f(x, log):
    for t in g(x, log):
        print("b", sys.exc_info()[0])
        x = x + t
    return x
""",
    "caller handles": """
def g(x, log):
    for k in range(2):
        print("g", repr(sys.exc_info()[1]))
        try: raise Boom(k)
        except Boom as e: log.append(repr(e.__context__))
        yield x + k
def f(x, log):
    try: raise ValueError("v")
    except ValueError:
        for t in g(x, log):
            print("b", repr(sys.exc_info()[1]))
            x = x + t
    return x
""",
    "throw": """
def g(x, log):
    while True:
        try:
            v = yield x
            log.append(v)
        except Boom as e:
            print("caught", e)
            log.append("boom")
            x = x * 2
def f(x, log):
    it = g(x, log)
    a = next(it)
    print("1")
    b = it.throw(Boom("t"))
    print("2")
    c = it.send(4)
    print("3")
    it.close()
    return a + b + c
""",
    "close returns": """
def g(x, log):
    try:
        yield x
    except GeneratorExit:
        print("exit"); log.append("exit")
        raise
    finally:
        print("fin")
def f(x, log):
    it = g(x, log)
    y = next(it)
    print("mid")
    it.close()
    print("end")
    return y, next(it, None)
""",
    "held by list": """
def g(x, log):
    for k in range(3):
        print("g", k)
        yield x + k
def f(x, log):
    it = g(x, log); box = [it]
    for t in it:
        print("f")
        x = x + t
        if len(log) == 0:
            log.append(1)
            x = x + next(box[0])
    return x
""",
    "held by attribute": """
class A: pass
def g(x, log):
    for k in range(3):
        print("g", k)
        yield x + k
def f(x, log):
    a = A(); a.it = g(x, log)
    for t in a.it:
        print("f")
        x = x + t
    return x
""",
    "held by cell": """
def g(x, log):
    for k in range(3):
        print("g", k)
        yield x + k
def f(x, log):
    it = g(x, log)
    def more(): return next(it)
    for t in it:
        print("f")
        x = x + t * more() if len(log) == 0 else x
        log.append(0)
    return x
""",
    "returned after": """
def g(x, log):
    for k in range(3):
        print("g", k)
        yield x + k
def f(x, log):
    it = g(x, log)
    x = x + next(it)
    print("f")
    x = x + next(it)
    return x, list(it), it
""",
    "passed natively": """
def g(x, log):
    for k in range(4):
        print("g", k)
        yield x + k
def f(x, log):
    it = g(x, log)
    x = x + next(it)
    print("f")
    y = consume(it)
    return x, y, next(it, 3)
""",
    "genexp": """
def f(x, log):
    for t in (x * i for i in range(3)):
        print("f")
        x = x + t
    return x
""",
    "genexp with call": """
def h(i):
    print("h", i)
    return i + 1
def f(x, log):
    for t in (x * h(i) for i in range(3)):
        x = x + t
    return sum(x * h(i) for i in range(2))
""",
}
