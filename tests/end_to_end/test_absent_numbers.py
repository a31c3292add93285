"""A number that counts calls, looked up in containers that mostly lack it: the absence is a fact, the number is not."""

import pytest
from tests.end_to_end.support import check_source

COUNTS = """
import collections, torch
D, S = {3: 1.0, 5: 2.0}, {3, 'a', 5}
C, M = collections.Counter([3, 5, 3]), collections.defaultdict(float, {4: 1.0})
n = 0
def body(x, n):
    {body}
def f(x):
    global n
    n += 1
    return body(x, n)
def args(): return (torch.ones(2),)
"""
FEW = {
    "in a dict": "return x * D[n] if n in D else x + n",
    "a dict's get": "return x * D.get(n, 7.0)",
    "in a set": "return x * 2 if n in S else x + n",
    "in a display": "return x * 2 if n in {3, 5} else x + n",
    "in a new set": "s = set(); s.add(4); s.add('a'); s.add(None); return x * 2 if n in s else x + n",
    "in a new dict": "return x * 2 if n in {4: 1, 'a': 2, None: 3, True: 7, 2.5: 1} else x + n",
    "in a counter": "return x * C[n] if n not in C else x + C[n]",
    "in the keys": "return x * 2 if n in D.keys() else x + n",
    "a formula": "return x * 2 if n * 2 + 1 in D else x + n",
    "a float": "return x * 2 if n / 2 in D else x + n",
    "removed": "D.pop(3, None); y = x * 2 if n in D else x + n; D[3] = 1.0; return y",
    "added": "D[6] = x; y = x * 2 if n in D else x + n; del D[6]; return y",
    "floor": "import math; return x * math.floor(n) + math.ceil(n)",
}
SOME = {
    "a missing key": "try: return x * D[n]\n    except KeyError as error: return x - error.args[0], str(error)",
    "a default dict": "return x * M[n], list(M)",
    "that grows": "m = n // 2\n    if m not in D: D[m] = x + m\n    return D[m] * 2",
    "that grows by others": "y = x * 2 if n in D else x + n; D[str(n)] = 1; return y",
    "that changes": "if n == 4: D[7] = 2.0\n    if n == 6: D.pop(5)\n    return x * 2 if n in D else x + n",
    "many numbers": "return x * 2 if n in dict.fromkeys(range(4, 300)) else x + n",
}


@pytest.mark.parametrize("body", FEW)
def test_a_number_that_is_not_there_takes_no_entry_of_its_own(body):
    report = check_source(COUNTS.replace("{body}", FEW[body]), calls=12, breaks=0)
    assert report.graphs <= 6


@pytest.mark.parametrize("body", SOME)
def test_a_number_that_is_not_there_is_looked_up_as_eager_does(body):
    check_source(COUNTS.replace("{body}", SOME[body]), calls=8)


def test_a_search_method_of_the_program_is_called():
    source = "class D(dict):\n    def __contains__(self, key):\n        print('asked')\n        return super().__contains__(key)\n"
    body = "return x * 2 if n in E else x + n, D.get(E, n)"
    source = COUNTS.replace("D, S =", f"{source}E = D({{3: 1.0}})\nT, S =").replace("{body}", body)
    check_source(source, calls=8)


def test_an_equality_of_the_program_is_asked():
    keys = "class K:\n    def __hash__(self): return 4\n    def __eq__(self, other): return other == 4\n"
    source = COUNTS.replace("D, S =", f"{keys}E = {{K(): 1.0}}\nD, S =")
    check_source(source.replace("{body}", "return x * 2 if n in E else x + n"), calls=8)
