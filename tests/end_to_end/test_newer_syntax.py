"""What newer Pythons bring: each program runs on the versions that have it, and is as eager there."""

import sys

import pytest
from tests.end_to_end.children import in_child
from tests.end_to_end.support import check_source

HEAD = "import torch\nlog = []\ndef args(): return [torch.arange(3.0), 2]\n"
PROGRAMS: dict[str, tuple[tuple[int, int], str]] = {
    "a template string": (
        (3, 14),
        "def f(x, n):\n    t = t'{n} of {x!r:>4}'\n    return x * n, t.strings, t.values[0], t.interpolations[1].expression",
    ),
    "a template string in a loop": (
        (3, 14),
        "def f(x, n):\n    for i in range(n):\n        x = x + len(t'{i}'.values)\n    return x",
    ),
    "a template string handed on": (
        (3, 14),
        "def show(t): return ''.join(str(p) if isinstance(p, str) else str(p.value) for p in t)\ndef f(x, n): return x + len(show(t'a{n}b'))",
    ),
    "annotations that are not evaluated": (
        (3, 14),
        "def f(x, n):\n    def g(a: missing) -> also_missing: return a * n\n    return g(x)",
    ),
    "annotations that are asked for": (
        (3, 14),
        "import annotationlib\ndef f(x, n):\n    def g(a: int) -> missing: return a * n\n    return g(x), annotationlib.get_annotations(g, format=annotationlib.Format.STRING)",
    ),
    "annotations of a class": (
        (3, 14),
        "def f(x, n):\n    class A:\n        a: int = 3\n        b: missing = 4\n    return x * A.a + A().b",
    ),
    "a dataclass made inside": (
        (3, 14),
        "import dataclasses\ndef f(x, n):\n    @dataclasses.dataclass\n    class A:\n        a: int = 3\n    return x * A(n).a",
    ),
    "an annotation that raises": (
        (3, 14),
        "def f(x, n):\n    def g(a: missing): return a\n    try:\n        return g.__annotations__\n    except NameError as error:\n        return x + 1, str(error)",
    ),
    "except without brackets": (
        (3, 14),
        "def f(x, n):\n    try:\n        return x[{}[n]]\n    except KeyError, IndexError:\n        return x + 1",
    ),
    "except* without brackets": (
        (3, 14),
        "def f(x, n):\n    try:\n        raise ExceptionGroup('g', [KeyError(1), ValueError(2)])\n    except* KeyError, ValueError:\n        x = x + 1\n    return x",
    ),
    "a finally that continues": (
        (3, 11),
        "def f(x, n):\n    for i in range(3):\n        try:\n            x = x + 1\n            if i == 1: raise ValueError(i)\n        except ValueError:\n            x = x * 2\n        finally:\n            log.append(i)\n    return x, log",
    ),
    "copy.replace": (
        (3, 13),
        "import copy, collections, dataclasses\nP = collections.namedtuple('P', 'a b')\n@dataclasses.dataclass\nclass D:\n    a: int\n    b: int\ndef f(x, n):\n    return x * copy.replace(P(1, 2), b=n).b + copy.replace(D(1, 2), a=n).a",
    ),
    "a type parameter": (
        (3, 12),
        "def f(x, n):\n    def g[T](a: T) -> T: return a * n\n    type Alias = list[int]\n    return g(x), Alias.__name__",
    ),
    "a default of a type parameter": (
        (3, 13),
        "def f(x, n):\n    class Box[T = int]:\n        def __init__(self, v): self.v = v\n    return Box(x).v * n",
    ),
    "a strict map": (
        (3, 14),
        "def f(x, n):\n    try:\n        return list(map(torch.add, [x], [x, x], strict=True))\n    except ValueError as error:\n        return x, str(error)",
    ),
    "float from a number": ((3, 14), "def f(x, n): return x * float.from_number(n)"),
    "a subinterpreter": (
        (3, 14),
        "from concurrent import interpreters\ndef f(x, n):\n    y = x + 1\n    inner = interpreters.create()\n    inner.exec('k = 1')\n    inner.close()\n    return y * n",
    ),
    "a frozen dictionary": (
        (3, 15),
        "def f(x, n):\n    d = frozendict(a=n, b=3)\n    try:\n        d['c'] = 1\n    except TypeError as error:\n        log.append(str(error))\n    return x * d['a'] + len(d), d | {'c': 1}, sorted(d), hash(d) == hash(frozendict(b=3, a=n)), log",
    ),
    "a frozen dictionary from outside": (
        (3, 15),
        "D = frozendict(a=1.5, b=frozendict(c=2))\ndef f(x, n): return x * D['a'] + D['b'].get('c'), [*D.items()], 'z' in D",
    ),
    "a sentinel": (
        (3, 15),
        "MISSING = sentinel('MISSING')\ndef g(x, k=MISSING): return x if k is MISSING else x * k\ndef f(x, n): return g(x), g(x, n), repr(MISSING), MISSING == MISSING",
    ),
    "unpacking in a comprehension": (
        (3, 15),
        "def f(x, n):\n    parts = [[1, 2], [n]]\n    return x + sum([*p for p in parts]), {**d for d in [{'a': 1}, {'b': n}]}, {*p for p in parts}",
    ),
    "a lazy import": (
        (3, 15),
        "lazy import colorsys\ndef f(x, n): return x * n, colorsys.rgb_to_hsv(1.0, 0.5, 0.25)",
    ),
    "a lazy import by name": (
        (3, 15),
        "lazy from colorsys import rgb_to_hsv\ndef f(x, n): return x * rgb_to_hsv(1.0, 0.5, 0.25)[2]",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_is_as_eager(name: str) -> None:
    version, program = PROGRAMS[name]
    if sys.version_info < version:
        pytest.skip(f"Python {version[0]}.{version[1]} and newer have it")
    if "subinterpreter" in name:
        # Once a process has had one, torch takes every backward pass for a call that holds the GIL.
        in_child(lambda: check_source(f"{HEAD}{program}\n"))
    else:
        check_source(f"{HEAD}{program}\n")
