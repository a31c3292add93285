"""Globals: read, written, deleted, shadowed; modules and their attributes; imports inside functions."""

import pytest
import torch
from tests.end_to_end.support import check, check_source

PROGRAMS = {
    "written": "n = 1\ndef f(x):\n    global n\n    n += 1\n    return x * n",
    "tensor written": "t = torch.ones(3)\ndef f(x):\n    global t\n    t = t + x\n    return t * 2",
    "list changed": "items = []\ndef f(x):\n    items.append(x)\n    return len(items) * x",
    "dict changed": "table = {}\ndef f(x):\n    table['k'] = table.get('k', 0) + 1\n    return x * table['k']",
    "made": "def f(x):\n    global fresh\n    fresh = x * 2\n    return fresh",
    "deleted": "n = 3\ndef f(x):\n    global n\n    m = n\n    del n\n    n = m + 1\n    return x * m",
    "missing": "def f(x):\n    return x * nothing",
    "missing then builtin": "def f(x):\n    return x * len('abc')",
    "builtin shadowed": "def len(v):\n    return 7\ndef f(x):\n    return x * len('abc')",
    "written in callee": "n = 1\ndef g():\n    global n\n    n = n * 2\n    return n\ndef f(x):\n    g()\n    return x * n * g()",
    "written before an error": "n = 1\ndef f(x):\n    global n\n    n += 1\n    raise ValueError(n)",
    "function replaced": "def g(x): return x + 1\ndef h(x): return x * 5\ndef f(x):\n    global g\n    r = g(x)\n    g = h\n    return r",
    "class replaced": "class A:\n    k = 1\nclass B:\n    k = 2\ndef f(x):\n    global A\n    r = x * A.k\n    A = B\n    return r",
    "import inside": "def f(x):\n    import math\n    from collections import OrderedDict as O\n    import os.path\n    return x * math.floor(2.5), O(a=1), os.path.basename('a/b')",
    "failing import": "def f(x):\n    try:\n        import nothing_of_this_name\n    except ImportError as e:\n        return x, str(e)",
    "globals()": "n = 2\ndef f(x):\n    globals()['n'] = globals()['n'] + 1\n    return x * n",
    "locals()": "def f(x):\n    y = 2\n    return x * locals()['y'], sorted(locals())",
    "exec and eval": "def f(x):\n    return x * eval('1 + 2'), eval('y', {'y': 3})",
    "written across a break": "n = 1\ndef f(x):\n    global n\n    n += 1\n    print(n)\n    n += 1\n    return x * n",
    "aliased global": "items = [1]\ndef f(x):\n    mine = items\n    mine.append(2)\n    return items is mine, sum(items) * x",
    "module attribute": "import types\nm = types.ModuleType('m')\nm.k = 1\ndef f(x):\n    m.k += 1\n    return x * m.k",
    "name": "def f(x):\n    return x, __name__",
    "conditional global": "flag = False\ndef f(x):\n    global flag\n    flag = not flag\n    return x + 1 if flag else x - 1",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_global(name):
    check_source(f"import torch\n{PROGRAMS[name]}\ndef args(): return (torch.arange(3.0),)\n", name)


def test_global_changed_from_outside_is_noticed():
    source = "import torch\nn = 1\ndef bump():\n    global n\n    n += 1\nclass Box: pass\ndef f(x, bump): return x * n\ndef args(): return torch.ones(3), bump\n"
    check_source(source, change=lambda x, bump: bump())


def test_module_global_of_an_imported_module():
    check(lambda x: x * torch.pi + torch.float32.itemsize, torch.ones(2))


def test_a_function_of_the_same_code_over_other_globals_is_another_one():
    check_source(
        """
import torch
code = compile("def g(x): return x * K\\ndef h(x): return (lambda y: y + K)(x)", "m", "exec")
spaces = [{"K": 2.0}, {"K": 3.0}]
for space in spaces:
    exec(code, space)
def f(functions, x): return [g(x) for g in (functions.pop(), functions.pop())]
args = lambda: ([space[name] for name in "ghgh" for space in spaces], torch.ones(2))
""",
        calls=4,
    )
