"""Programs with breaks inside what a loop asks for its next value, as source text; `f(x, log)` each."""

PROGRAMS = {
    "next default user": """
class It:
    def __init__(self, x): self.x = x; self.n = 0
    def __iter__(self): return self
    def __next__(self):
        print("n", self.n)
        self.n += 1
        if self.n > 2:
            print("stop")
            raise StopIteration(7)
        y = self.x * self.n
        print("after")
        return y + 1
def f(x, log):
    it = It(x)
    y = next(it, None) + next(it, None)
    z = next(it, "dflt")
    try: next(it)
    except StopIteration as e: log.append(e.value)
    for t in It(x):
        y = y + t
        print("body")
    return y, z
""",
    "user next raises other": """
class It:
    def __init__(self, x): self.x = x; self.n = 0
    def __iter__(self): return self
    def __next__(self):
        self.n += 1
        print("n")
        if self.n == 3: raise Boom("b")
        if self.n == 2: failing()
        return self.x
def f(x, log):
    it = It(x)
    for k in range(2):
        try:
            for t in it:
                x = x + t
        except KeyError as e: log.append(repr(e))
        except Boom as e: log.append(repr(e))
    return x
""",
    "native stopiteration in next": """
@frontend.disable
def stop(): raise StopIteration
class It:
    def __init__(self, x): self.x = x; self.n = 0
    def __iter__(self): return self
    def __next__(self):
        self.n += 1
        if self.n == 3: stop()
        native()
        return self.x
def f(x, log):
    for t in It(x):
        x = x + t
    else: log.append("else")
    return x * 2
""",
    "map": """
def h(t):
    x = t + 1
    print("h")
    return x * 2
def f(x, log):
    for t in map(h, [x, x + 1]):
        print("b")
        x = x + t
    a = list(map(h, [x]))
    b = sum(map(h, [x, x]))
    return a, b, tuple(map(h, (x,))), [*map(h, [x])]
""",
    "map stop": """
class Stop:
    def __call__(self, t):
        print("s", t)
        if t == 2: raise StopIteration
        return t
def f(x, log):
    for t in map(Stop(), [0, 1, 2, 3]):
        x = x + t
    log.append(list(map(Stop(), [0, 2, 4])))
    return x
""",
    "filter": """
def keep(t):
    print("k", t)
    return t % 2
def f(x, log):
    for t in filter(keep, [0, 1, 2, 3]):
        x = x + t
    log.append(list(filter(keep, [0, 2, 3])))
    return x
""",
    "iter with break inside and outside": """
class It:
    def __init__(self, g): self.g = g
    def __iter__(self): return self
    def __next__(self):
        print("n")
        return next(self.g)
def g(x):
    for i in range(3):
        print("g"); yield x + i
def f(x, log):
    for t in It(g(x)):
        print("b")
        x = x + t
    return x
""",
    "traceback of next": """
import traceback
class It:
    n = 0
    def __iter__(self): return self
    def __next__(self):
        self.n += 1
        print("n")
        if self.n == 2: raise KeyError(3)
        return 1
def f(x, log):
    try:
        for t in It():
            print("b"); x = x + t
    except KeyError as e:
        log.append([(s.name, s.line) for s in traceback.extract_tb(e.__traceback__)])
    return x
""",
    "traceback without the form of a builtin": """
import traceback
def key(n):
    if n == 3: raise Boom(1)
    return n
def f(x, log):
    try: return sorted([1,3,2], key=key)
    except Boom as e:
        log.append([(s.name, s.line) for s in traceback.extract_tb(e.__traceback__)])
    print("a")
    return x
""",
    "builtins over generators": """
def h(t):
    y = t + 1
    print("h")
    return y * 2
def g(x):
    for i in range(3):
        print("g"); yield x + i
class It:
    n = 0
    def __init__(self, x): self.x = x
    def __iter__(self): return self
    def __next__(self):
        self.n += 1
        print("n")
        if self.n > 2: raise StopIteration
        return self.x * self.n
def f(x, log):
    a = list(g(x)); b = tuple(map(h, [x, x * 2])); c = sum(h(t) for t in [x, x]); d = sum(It(x), x)
    log.append((any(print("q", i) for i in range(2)), all(i < 1 for i in map(int, "012") if print(i) is None)))
    log.append(list(It(1)))
    return a, b, c, d
""",
    "builtins over what raises": """
def g(x):
    yield x
    print("g")
    failing()
def bad(t):
    print("bad")
    raise Boom(len(t))
def f(x, log):
    for make in (list, tuple, sum, any, all):
        try: make(g(x.sum().item() * 0))
        except KeyError as e: log.append((repr(e), e.__traceback__.tb_next.tb_frame.f_code.co_name))
        try: make(map(bad, ["ab"]))
        except Boom as e: log.append((repr(e), e.__traceback__.tb_next.tb_frame.f_code.co_name))
    return x
""",
}
