"""Loops with a graph break in each round: name -> body of `f(n, x)`. How often they are compiled is pinned."""

import enum
from textwrap import indent
from typing import Final

Members = enum.Enum("Members", [f"m{i}" for i in range(100)])  # type: ignore[misc]  # the names are computed
MEMBERS: Final = tuple(Members)

HEAD: Final = """
import torch
from collections import Counter, OrderedDict, defaultdict, deque
from tests.quality.loops import MEMBERS, Members
def args():
    return {rounds}, torch.linspace(-1, 1, 4)
def f(n, x):
"""

STORES: Final = {
    "dict by number": "d = {}\nfor i in range(n): x = x.sin(); print(i); d[i] = x\nreturn d",
    "dict by text": "d = {}\nfor i in range(n): x = x.sin(); print(i); d[f'k{i}'] = x\nreturn d",
    "dict by variable": "d = {}\nfor i in range(n): x = x.sin(); k = str(i); print(k); d[k] = x\nreturn d",
    "dict by tuple": "d = {}\nfor i in range(n): x = x.sin(); print(i); d[i, i + 1] = x\nreturn d",
    "dict by member": "d = {}\nfor m in MEMBERS[:n]: x = x.sin(); print(m); d[m] = x\nreturn d",
    "ordered dict": "d = OrderedDict()\nfor i in range(n): x = x.sin(); print(i); d[i] = x\nreturn d",
    "dict read after": "d = {}\nfor i in range(n): x = x.sin(); print(i); d[i] = x; x = x + d[0]\nreturn d",
    "counts": "d = {}\nfor i in range(n): x = x.sin(); print(i); d[i] = d.get(i, 0) + 1\nreturn d, x",
    "counter": "d = Counter()\nfor i in range(n): x = x.sin(); print(i); d['a'] += 1\nreturn d, x",
    "groups": "d = defaultdict(list)\nfor i in range(n): x = x.sin(); print(i); d[i].append(x)\nreturn d",
    "default": "d = {}\nfor i in range(n): x = x.sin(); print(i); d.setdefault(i, []).append(x)\nreturn d",
    "removal": "d = {i: x for i in range(n)}\nfor i in range(n): x = x.sin(); print(i); del d[i]\nreturn d, x",
    "look-up": "d = {i: x + i for i in range(n)}\nfor i in range(n): print(i); x = x + d[i]\nreturn x",
    "items": "d = {f'{i}': x + i for i in range(n)}; o = {}\nfor k, v in d.items(): print(k); o[k] = v.sin()\nreturn o",
    "copies": "d = {}\nfor i in range(n): x = x.sin(); print(i); d = {**d, i: x}\nreturn d",
    "set": "s = set()\nfor i in range(n): x = x.sin(); print(i); s.add(i)\nreturn s, x",
    "set of texts": "s = set()\nfor i in range(n): x = x.sin(); print(i); s.add(str(i))\nreturn s, x",
    "seen": "s = {3}\nfor i in range(n):\n    x = x.sin(); print(i)\n    if i in s: x = x + 1\n    s.add(i + 1)\nreturn s, x",
}

SEQUENCES: Final = {
    "stores": "l = [None] * n\nfor i in range(n): x = x.sin(); print(i); l[i] = x\nreturn l",
    "loads": "l = [x + i for i in range(n)]\nfor i in range(n): print(i); x = x + l[i]\nreturn x",
    "from the end": "l = [x + i for i in range(n)]\nfor i in range(n): print(i); x = x + l[-1 - i]\nreturn x",
    "in place": "l = [x + i for i in range(n)]\nfor i in range(n): print(i); l[i] += x\nreturn l",
    "insertion": "l = []\nfor i in range(n): x = x.sin(); print(i); l.insert(i, x)\nreturn l",
    "last": "l = [x]\nfor i in range(n): print(i); l.append(l[-1].sin())\nreturn l",
    "length": "l = [x]\nfor i in range(n): print(len(l)); l.append(x.sin())\nreturn l",
    "slice": "l = [x + i for i in range(n + 2)]\nfor i in range(n): print(i); a, b = l[i:i + 2]; x = x + a * b\nreturn x",
    "stack": "l = [x + i for i in range(n)]\nwhile l: y = l.pop(); print(1); x = x + y\nreturn x",
    "queue": "l = [(0, x)]; o = []\nwhile l:\n    i, y = l.pop(0); print(i); o.append(y.sin())\n"
    "    if i < n: l.append((i + 1, y + 1))\nreturn o",
    "deque": "l = deque()\nfor i in range(n): x = x.sin(); print(i); l.append(x)\nreturn l",
    "deque from the left": "l = deque([x + i for i in range(n)])\nwhile l: print(1); x = x + l.popleft()\nreturn x",
    "bounded deque": "l = deque(maxlen=3)\nfor i in range(n): x = x.sin(); print(i); l.append(x)\nreturn l",
    "sum of lists": "l = []\nfor i in range(n): x = x.sin(); print(i); l = l + [x]\nreturn l",
    "display": "l = []\nfor i in range(n): x = x.sin(); print(i); l = [*l, x]\nreturn l",
    "sum of tuples": "l = ()\nfor i in range(n): x = x.sin(); print(i); l = l + (x,)\nreturn l",
    "pairs": "l = []\nfor i in range(n): x = x.sin(); print(i); l.append((i, x))\nreturn l",
    "rows": "y = torch.arange(400.).reshape(100, 4)\nfor i in range(n): print(i); x = x + y[i] + y[i, 0]\nreturn x",
    "earlier": "l = [x, x]\nfor i in range(2, n): print(i); l.append(l[i - 1] + l[i - 2].sin())\nreturn l",
}

VALUES: Final = {
    "text": "s = ''\nfor i in range(n): x = x.sin(); print(i); s += str(i)\nreturn s, x",
    "total": "t = 0\nfor i in range(n): x = x.sin(); print(i); t += i\nreturn t, x",
    "best": "t = 0\nfor i in range(n): x = x.sin(); print(i); t = max(t, i)\nreturn t, x",
    "mean": "l = []\nfor i in range(n): x = x.sin(); l.append(x.sum().item()); print(sum(l) / len(l))\nreturn l",
    "parity": "for i in range(n):\n    x = x.sin(); print(i)\n    if i % 2: x = x + 1\nreturn x",
    "members": "for m in MEMBERS[:n]:\n    x = x.sin(); print(m)\n    if m is Members.m3: x = x + 1\nreturn x",
    "names": "for k in [f'k{i}' for i in range(n)]:\n    print(k); x = x.sin()\n    if k == 'k3': x = x + 1\nreturn x",
    "prefix": "for k in [f'k{i}' for i in range(n)]:\n    print(k); x = x.sin()\n    if k.startswith('k1'): x = x + 1\nreturn x",
    "attributes": "class O: pass\no = O()\nfor i in range(n): print(i); x = x.sin(); setattr(o, f'a{i}', x)\nreturn o.__dict__",
}

LOOPS: Final = {**STORES, **SEQUENCES, **VALUES}


def source(name: str, rounds: int) -> str:
    """The program that runs a loop this many times."""
    return HEAD.replace("{rounds}", str(rounds)) + indent(LOOPS[name], "    ")
