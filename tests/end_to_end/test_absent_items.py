"""Keys, members and items that a program looked up and did not use: presence and absence are facts."""

import pytest
from tests.end_to_end.perturbed import check_changes

PROGRAMS = {
    "dict key": """
d = {'z': 1}
def put(): d['z'] = 2
def drop(): del d['z']
changes = [drop, put, drop]
def f(): return X + 1 if 'z' in d else X - 1
""",
    "dict get": """
d = {'z': 1}
def put(): d['z'] = 2
def drop(): del d['z']
changes = [drop, put, drop]
def f():
    v = d.get('z', X)
    return X + 1 if v is X else X
""",
    "dict key error": """
d = {'z': 1}
def put(): d['z'] = 2
def drop(): del d['z']
changes = [drop, put, drop]
def f():
    try: d['z']
    except KeyError: return X + 1
    return X
""",
    "dict int key": """
d = {1: 1, 2: 3}
def put(): d[1] = 2
def drop(): del d[1]
changes = [drop, put, drop]
def f():
    try: d[1]
    except KeyError: return X + 1
    return X
""",
    "dict key of an instance": """
class K: pass
k = K()
d = {k: 1, 'b': 2}
def put(): d[k] = 2
def drop(): del d[k]
changes = [drop, put, drop]
def f(): return X + 1 if k in d else X
""",
    "dict key kind": """
d = {1: 1}
def put(): d.clear(); d[True] = 1
def drop(): d.clear(); d[1] = 1
changes = [put, drop]
def f(): return X + 1, list(d)
""",
    "set member": """
d = {1, 2}
def put(): d.add(1)
def drop(): d.discard(1)
changes = [drop, put, drop]
def f(): return X + 1 if 1 in d else X
""",
    "list index": """
l = [1, 2]
def drop(): l.pop()
def put(): l.append(4)
changes = [drop, put, drop, drop]
def f():
    try: l[1]
    except IndexError: return X - 1
    return X + 1
""",
    "list negative index": """
l = [1, 2]
def drop(): l.pop()
def put(): l.append(4)
changes = [drop, put, drop, drop]
def f():
    try: l[-2]
    except IndexError: return X - 1
    return X + 1
""",
    "tuple index": """
t = [(1, 2)]
def drop(): t[0] = (1,)
def put(): t[0] = (1, 3)
changes = [drop, put, drop]
def f():
    try: t[0][1]
    except IndexError: return X - 1
    return X + 1
""",
    "list truth": """
l = [1]
def drop(): l.clear()
def put(): l.append(4)
changes = [drop, put]
def f(): return X + 1 if l else X
""",
    "deque": """
l = collections.deque([1])
def drop(): l.clear()
def put(): l.append(4)
changes = [drop, put]
def f():
    try: l[0]
    except IndexError: return X - 1
    return X + 1
""",
    "mapping proxy": """
class A: z = 1
def put(): A.z = 2
def drop(): del A.z
changes = [drop, put]
def f(): return X + 1 if 'z' in A.__dict__ else X
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_presence_of_an_item_is_a_fact(name):
    check_changes(PROGRAMS[name])
