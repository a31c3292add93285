"""An OrderedDict keeps an order of its own, which is not that of the dict below it."""

import pytest
from tests.end_to_end.perturbed import check_changes
from tests.end_to_end.support import check_source

MOVED = """
d = collections.OrderedDict(a=1, b=2, c=3)
d.move_to_end('a')
def back(): 'c' in d and d.move_to_end('c')
def front(): 'b' in d and d.move_to_end('b', last=False)
changes = [back, front]
"""
PLACES = {
    "list": "def f(): return X, list(d)",
    "items": "def f(): return X, list(d.items()), list(d.values()), list(d.keys())",
    "reversed": "def f(): return X, list(reversed(d)), list(reversed(d.items()))",
    "popitem": "def f():\n    d['x'] = 4\n    d['y'] = 5\n    return X, d.popitem(), d.popitem(last=False), d",
    "popitem of an existing one": "def f():\n    p = d.popitem(last=False)\n    d['n'] = p\n    return X, p, list(d)",
    "loop": "def f():\n    out = X\n    for k in d: out = out * 2 + d[k]\n    return out",
    "equality": "e = collections.OrderedDict(b=2, c=3, a=1)\ndef f(): return X, d == e, e == d, d != e",
    "equality with a dict": "e = dict(b=2, c=3, a=1)\ndef f(): return X, d == e, e == d",
    "copies": "def f(): return X, list(dict(d)), list({**d}), list(d.copy()), list(collections.OrderedDict(d)), list(d | {}), list({} | d)",
    "update": "def f():\n    e = {}\n    e.update(d)\n    return X, list(e)",
    "star": "def g(**k): return list(k)\ndef f(): return X, g(**d), [*d], {*d}",
    "unpacking": "def f():\n    p, q, r = d\n    return X, p, q, r",
    "text": "def f(): return X, repr(d), str(d)",
    "next": "def f(): return X, next(iter(d)), next(reversed(d))",
    "comprehension": "def f(): return X, [k for k in d], {k: v for k, v in d.items()}",
    "moved in the trace": "def f():\n    d.move_to_end('c', last=False)\n    return X, list(d)",
    "max": "def f(): return X, max(d, key=lambda k: 0), sorted(d, key=lambda k: 0), enumerate(d).__next__()",
    "zip": "def f(): return X, list(zip(d, d.values()))",
    "counter": "def f(): return X, list(collections.Counter(d))",
    "deque": "def f(): return X, list(collections.deque(d)), tuple(d)",
    "returned": "def f():\n    d['new'] = 1\n    del d['new']\n    return X, d",
    "instance keys": "class K: pass\nk, l = K(), K()\nd[k] = 7\nd[l] = 8\nd.move_to_end(k)\ndef f(): return X, [v for v in d.values()], list(d)[-1] is k",
}
OTHERS = {
    "subclass": """
class D(collections.OrderedDict): pass
d = D(a=1, b=2, c=3); d.move_to_end('a')
def back(): d.move_to_end('b')
changes = [back]
def f(): return X, list(d), list(d.items()), next(reversed(d))
""",
    "subclass with a __getitem__": """
class D(collections.OrderedDict):
    def __getitem__(self, key): return super().__getitem__(key) + 1
def make(d = D(a=1, b=2, c=3)): return d
make().move_to_end('a')
def back(): make().move_to_end('b')
changes = [back]
def f(d=make()): return X, list(d), d['a'], [d[k] for k in d]
""",
    "lru": """
class LRU(collections.OrderedDict):
    def get_it(self, key):
        self.move_to_end(key)
        return self[key]
d = LRU(a=1, b=2, c=3)
n = [0]
def step(): n[0] += 1
changes = [step, step, step]
def f():
    v = d.get_it('abc'[n[0] % 3])
    return X * v, list(d)
""",
    "plain dict": """
d = dict(a=1, b=2)
def turn():
    v = d.pop('a'); d['a'] = v
def back():
    v = d.pop('b'); d['b'] = v
changes = [turn, back]
def f(): return X, list(d), next(iter(d))
""",
    "defaultdict": """
d = collections.defaultdict(int, a=1, b=2)
def turn():
    v = d.pop('a'); d['a'] = v
changes = [turn]
def f(): return X, list(d.items()), d['a']
""",
    "counter": """
d = collections.Counter('aab')
def turn():
    v = d.pop('a'); d['a'] = v
def more(): d['b'] += 4
changes = [turn, more]
def f(): return X, list(d), d.most_common(1), d + d, d - collections.Counter(a=1), d | d, d & d, d.total(), d['zz']
""",
    "counter elements": """
d = collections.Counter('aab')
def more(): d['b'] += 4
changes = [more]
def f(): return X, list(d.elements()), +d, d == collections.Counter('baa')
""",
    "keyword order": """
d = dict(a=1, b=2)
def turn():
    v = d.pop('a'); d['a'] = v
changes = [turn]
def g(**k): return list(k)
def f(): return X, g(**d)
""",
    "vars order": """
class A: pass
a = A(); a.x = 1; a.y = 2
def turn(): del a.x; a.x = 3
changes = [turn]
def f(): return X, list(vars(a))
""",
    "hooks in front": """
m = torch.nn.Linear(2, 2, bias=False)
with torch.no_grad(): m.weight.fill_(1.0)
m.register_forward_hook(lambda m, i, o: o + 1)
m.register_forward_hook(lambda m, i, o: o * 2, prepend=True)
m.register_forward_pre_hook(lambda m, i: (i[0] + 1,))
m.register_forward_pre_hook(lambda m, i: (i[0] * 2,), prepend=True)
def more(): m.register_forward_hook(lambda m, i, o: o * 3 + 1, prepend=True)
def pre(): m.register_forward_pre_hook(lambda m, i: (i[0] * 3 + 1,), prepend=True)
changes = [more, pre]
def f(): return m(X)
""",
    "submodules": """
m = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh())
def turn():
    v = m._modules.pop('0'); m._modules['0'] = v
changes = [turn]
def f(): return m(-X), [n for n, _ in m.named_children()]
""",
    "state dict": """
m = torch.nn.Linear(2, 2)
with torch.no_grad(): m.weight.fill_(1.0); m.bias.fill_(2.0)
def turn():
    v = m._parameters.pop('weight'); m._parameters['weight'] = v
changes = [turn]
def f(): return X, [n for n, _ in m.named_parameters()]
""",
}


BORN = "collections.OrderedDict(b=1, a=2, z=3)"
BELOW = {
    "keys": "list(dict.keys(d))",
    "values and items": "list(dict.values(d)), list(dict.items(d)), [*dict.__iter__(d)]",
    "reversed": "list(dict.__reversed__(d)), dict.__repr__(d)",
    "popitem": "[dict.popitem(c) for c in [d.copy()]], dict.__len__(d)",
    "one more": "d.__setitem__('n', X), d.move_to_end('a'), list(dict.keys(d)), list(d)",
    "taken and put back": "d.pop('a'), d.__setitem__('a', X), d.move_to_end('z', last=False), list(dict.items(d)), list(d)",
    "another value": "d.__setitem__('b', X), list(dict.keys(d))",
    "returned": "d",
    "made of it": "collections.OrderedDict(d), d.copy(), d | {'q': 1}, dict(d), type('T', (), d).__dict__['b']",
}


@pytest.mark.parametrize("name", PLACES)
def test_the_order_of_an_ordered_dict_is_its_own(name):
    check_changes(MOVED + PLACES[name])


@pytest.mark.parametrize("name", OTHERS)
def test_order_is_a_fact(name):
    check_changes(OTHERS[name])


@pytest.mark.parametrize("move", ["d.move_to_end('b')", "d.move_to_end('z', last=False)"])
@pytest.mark.parametrize("name", BELOW)
@pytest.mark.parametrize("place", ["born", "global", "both"])
def test_the_dict_below_keeps_its_order(name, move, place):
    born, existing = {"born": (True, False), "global": (False, True), "both": (False, True)}[place]
    lines = [f"d = {BORN}"] * born + [move] * (place != "global") + [f"return X, ({BELOW[name]})"]
    make = f"d = {BORN}\n{move}\n" if existing else ""
    body = "".join(f"\n    {line}" for line in lines)
    check_changes(make + f"changes = []\ndef f():{body}\n")


OVERRIDES = {
    "__getitem__": "def __getitem__(self, key): return 42",
    "__contains__, never": "def __contains__(self, key): return False",
    "__contains__, always": "def __contains__(self, key): return True",
    "__contains__ and __missing__": "def __contains__(self, key): return True\n    def __missing__(self, key): return 'missing'",
    "__setitem__": "def __setitem__(self, key, value): super().__setitem__(key, (value,))",
    "get": "def get(self, key, default=None): return 'get'",
}


@pytest.mark.parametrize("override", OVERRIDES)
def test_setdefault_calls_the_methods_of_a_subclass(override: str) -> None:
    check_source(f"""
import torch
from collections import OrderedDict
class D(OrderedDict):
    {OVERRIDES[override]}
def args(): return [torch.ones(2), D(a=1)]
def f(x, d):
    out = []
    for one in (d, D(a=1)):
        for key in ("a", "b"):
            try: out.append(one.setdefault(key, 7))
            except KeyError as error: out.append(error.args)
        out.append(list(dict.items(one)))
    return out, x + 1
""")
