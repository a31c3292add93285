"""Lists, tuples, dicts, sets, deques, ranges, slices and the collections module: operations, identity, mutation."""

import collections
import copy
import types

import pytest
import torch
from tests.end_to_end.support import check, check_source

from framesmith import frontend

X = torch.tensor([-1.5, 0.25, 2.0])


def list_methods(x, items):
    items.append(x * 2)
    items.extend([1, 2])
    items.insert(0, "a")
    popped = items.pop(), items.pop(0)
    items.reverse()
    items += (7,)
    items *= 2
    return items.count(7), items.index(7), popped, len(items), items


def list_slices(x, items):
    items[1:2] = [x, x + 1]
    del items[0]
    items[::2] = [5] * len(items[::2])
    return items[-1], items[::-1], items[1:], items


def list_sort(x, items):
    items.sort(reverse=True)
    other = sorted(items, key=lambda n: -n % 3)
    return items, other, x * items[0]


def dict_methods(x, table):
    table["new"] = x * 2
    table.update(b=3, c=x)
    table.setdefault("d", []).append(1)
    removed = table.pop("a"), table.pop("zz", None)
    table |= {"e": 5}
    last = table.popitem()
    return (
        list(table),
        list(table.values()),
        dict(table.items()),
        removed,
        last,
        table.get("b"),
        "c" in table,
        {**table, "f": 1},
    )


def dict_deletion_and_order(x, table):
    value = table["a"]
    del table["a"]
    table["a"] = value
    return list(table), next(iter(table)), list(reversed(table)), table | {1: 2}, x


def dict_views(x, table):
    keys = table.keys()
    table["later"] = x
    return (
        list(keys),
        len(keys),
        keys & {"a", "zz"},
        sorted(keys | {"q"}),
        "later" in keys,
        [k + str(type(v)) for k, v in table.items()],
    )


def dict_of_dicts(x, table):
    table["in"] = {"t": x}
    table["in"]["t"] = table["in"]["t"] + 1
    table["in"]["u"] = table["in"]
    return table


def set_methods(x, items):
    items.add(5)
    items.discard(9)
    items |= {7, 8}
    items.remove(5)
    return len(items), 7 in items, items & {7}, items - {7}, items ^ {1}, {7} <= items, frozenset(items), x


def tuples(x, pair):
    a, *rest = (*pair, x, 3)
    first, (second, third) = 1, (x, 2)
    return (
        a,
        rest,
        first + third,
        (1, 2) < (1, 3),
        (1,) + (2,),
        (x,) * 2,
        pair.index(1),
        pair.count(1),
        pair[::-1],
    )


def deques(x, queue):
    queue.append(x)
    queue.appendleft(1)
    queue.rotate(1)
    other = collections.deque([1, 2, 3], maxlen=2)
    other.append(x * 2)
    return queue.popleft(), len(queue), other, list(queue), other.maxlen, queue[0]


def default_dicts(x, table):
    table["a"].append(x)
    other = collections.defaultdict(lambda: 3)
    other["k"] += 1
    return table["zz"], table, other["k"] + other["m"], len(other)


def counters(x):
    c = collections.Counter("abca")
    c.update("ab")
    return c["a"], c["zz"], c.most_common(1), x + c["b"], sum(c.values())


def ordered_dicts(x, table):
    table.move_to_end("a")
    table["z"] = x
    other = collections.OrderedDict(b=1, a=2)
    return list(table), other == {"a": 2, "b": 1}, other.popitem(last=False), table


def chain_maps(x, a):
    m = collections.ChainMap({}, a)
    m["new"] = x
    return m["a"], m["new"], sorted(m), len(a)


def namespaces(x, space):
    space.t = x * 2
    other = types.SimpleNamespace(a=1, b=x)
    other.a += 1
    return space.n + other.a, other


def slices_and_ranges(x):
    r = range(2, 20, 3)
    s = slice(1, None, 2)
    return (
        r[1],
        r[1:3],
        len(r),
        5 in r,
        list(reversed(r)),
        r.index(8),
        s.start,
        [1, 2, 3, 4][s],
        x[s],
        r == range(2, 20, 3),
        s.indices(5),
    )


def unpacking(x):
    a, b, c = x
    (d, e), *f = [(a, b), c, 4]
    [g, *h, i] = range(5)
    first, *middle, last = "hello"
    return a + b, d * e, f, g, h, i, first, middle, last


def bytes_and_arrays(x):
    return x, b"abc"[1], b"abc" + b"d", bytearray(b"xy")[0], len(memoryview(b"abc")), b"a,b".split(b",")


def builtins_on_containers(x, items):
    return (
        len(items), sum(items), min(items), max(items, default=0), any(items), all(items), sorted(items), list(reversed(items)),
        list(enumerate(items, 1)), list(zip(items, "abc")), list(map(lambda n: n + 1, items)), list(filter(None, items)),
        tuple(items), set(items), dict(zip("ab", items)), max(items, key=lambda n: -n), x * sum(items, 10), min(3, 1, 2),
    )  # fmt: skip


def copies(x, items):
    shallow, deep, sliced = copy.copy(items), copy.deepcopy(items), items[:]
    shallow.append(x)
    return shallow, deep, sliced, items.copy() is items, items[1] is shallow[1], items[1] is deep[1]


def comparison(x, items):
    return (
        items == [1, 2],
        items != [1, [2]],
        [1, 2] < [1, 3],
        {"a": 1} == {"a": 1.0},
        (1, x)[0] == 1,
        {1, 2} == {2, 1},
    )


PROGRAMS = {
    "list methods": (list_methods, [3, X]),
    "list slices": (list_slices, [1, 2, 3]),
    "list sort": (list_sort, [3, 1, 2, 7]),
    "dict methods": (dict_methods, {"a": 1}),
    "dict deletion and order": (dict_deletion_and_order, {"a": 1, "b": 2}),
    "dict views": (dict_views, {"a": 1}),
    "dict of dicts": (dict_of_dicts, {}),
    "set methods": (set_methods, {1, 2}),
    "tuples": (tuples, (1, 2)),
    "deques": (deques, collections.deque([5, 6])),
    "default dicts": (default_dicts, collections.defaultdict(list)),
    "counters": (counters,),
    "ordered dicts": (ordered_dicts, collections.OrderedDict(a=1, b=2)),
    "chain maps": (chain_maps, {"a": 1}),
    "namespaces": (namespaces, types.SimpleNamespace(n=1)),
    "slices and ranges": (slices_and_ranges,),
    "unpacking": (unpacking,),
    "bytes and arrays": (bytes_and_arrays,),
    "builtins on containers": (builtins_on_containers, [3, 1, 2]),
    "copies": (copies, [1, [2, X]]),
    "comparison": (comparison, [1, [2]]),
}
ERRORS = {
    "index": lambda x: [1][5],
    "pop from empty": lambda x: [].pop(),
    "missing key": lambda x: {"a": 1}["b"],
    "missing key tuple": lambda x: {}[1, 2],
    "unhashable": lambda x: {[]: 1},
    "remove": lambda x: [1].remove(2),
    "set remove": lambda x: {1}.remove(2),
    "list index": lambda x: [1].index(3),
    "tuple assignment": lambda x: (1, 2).__setitem__(0, 1),
    "too many to unpack": lambda x: (lambda: [a for a, b in [(1, 2, 3)]])(),
    "not enough to unpack": lambda x: [a for a, b in [(1,)]],
    "star not enough": lambda x: [a for a, b, *c in [(1,)]],
    "unpack a number": lambda x: [a for a, b in [3]],
    "empty max": lambda x: max([]),
    "not iterable": lambda x: list(3),
    "attribute": lambda x: [].nothing,
    "range step": lambda x: range(1, 2, 0),
    "list plus": lambda x: [1] + 3,
    "extended slice": lambda x: [1, 2, 3].__setitem__(slice(None, None, 2), [1]),
    "zip strict": lambda x: list(zip([1], [1, 2], strict=True)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_on(name):
    function, *args = PROGRAMS[name]
    check(function, X, *args)


@pytest.mark.parametrize("name", ERRORS)
def test_error_is_like_eager(name):
    check(ERRORS[name], X)


def test_list_argument_length_is_guarded():
    check(lambda x, items: x * len(items), X, [1], calls=4, change=lambda x, items: items.append(1))


def test_list_argument_items_are_guarded():
    check(
        lambda x, items: x * items[0],
        X,
        [1.5],
        calls=4,
        change=lambda x, items: items.__setitem__(0, items[0] + 1),
    )


def test_dict_keys_are_guarded():
    check(
        lambda x, t: [x * v for v in t.values()],
        X,
        {"a": 1},
        calls=4,
        change=lambda x, t: t.update({len(t): 2}),
    )


def test_presence_of_a_key_is_guarded():
    check(lambda x, t: x + 1 if "k" in t else x - 1, X, {}, change=lambda x, t: t.update(k=1))


def test_order_of_keys_is_guarded():
    check(lambda x, t: list(t), X, {"a": 1, "b": 2}, change=lambda x, t: t.update(a=t.pop("a")))


def test_types_of_items_are_guarded():
    check(lambda x, items: x + items[0], X, [1], change=lambda x, items: items.__setitem__(0, 1.0))
    check(lambda x, items: x + items[0], X, [1], change=lambda x, items: items.__setitem__(0, True))


def test_set_members_are_guarded():
    check(lambda x, s: x + 1 if 3 in s else x - 1, X, {1}, change=lambda x, s: s.add(3))


def test_same_list_twice_is_one_list():
    def f(x, a, b):
        a.append(x)
        b.append(x + 1)
        return len(a), len(b), a is b

    shared = [1]
    check(f, X, shared, shared)
    check(f, X, [1], [1])


def test_aliasing_that_changes_between_calls_is_noticed():
    def f(x, box):
        box[0].append(x)
        return len(box[1]), box[0] is box[1]

    check(f, X, [[1], [1]], calls=4, change=lambda x, box: box.__setitem__(1, box[0]))


def test_nested_containers_keep_their_sharing():
    def f(x):
        inner = [x]
        return {"a": inner, "b": inner, "c": [inner, (inner,)]}

    check(f, X)


def test_a_list_that_holds_itself():
    def f(x):
        a = [x]
        a.append(a)
        d = {"a": a}
        d["d"] = d
        return a, d

    check(f, X)


def test_returned_argument_is_the_argument():
    check(lambda x, items, table: (items, table, x, (x, items)), X, [1], {"a": [X]})


def test_tensor_moved_between_containers():
    def f(x, a, b):
        b.append(a.pop(0))
        return a, b

    check(f, X, [X, X + 1, X * 2, X * 3], [])


def test_subclasses_of_containers():
    class L(list):
        def total(self):
            return sum(self)

        def append(self, v):
            super().append(v * 2)

    class D(dict):
        def __missing__(self, key):
            return key * 2

        def __setitem__(self, key, value):
            super().__setitem__(key, value + 1)

    def f(x, items, table):
        items.append(3)
        table["a"] = 1
        items.tag = x
        return items.total(), table["zz"], table["a"], L([x]), D(a=x), items, table

    check(f, X, L([1]), D())


def test_user_dict_and_list():
    check(
        lambda x, d, l: (d["a"] * x, l[0], len(d), d.data),
        X,
        collections.UserDict(a=1),
        collections.UserList([1]),
    )


def test_mapping_proxy():
    check(lambda x, p: (p["a"] * x, list(p), len(p), "b" in p), X, 3) if False else None
    check(lambda x: (types.MappingProxyType({"a": 1})["a"] * x, len(int.__dict__) > 3), X)


def test_loop_that_changes_its_dict_raises_like_eager():
    def f(x, t):
        for k in t:
            t[k + "x"] = x

    check(f, X, {"a": 1}, calls=1)


def test_loop_over_a_growing_list():
    def f(x, items):
        for n in items:
            if len(items) < 5:
                items.append(n + 1)
        return items

    check(f, X, [1])


def graphs_of(function, *args):
    """How many graphs two calls make together."""
    made = []

    def backend(module, inputs):
        made.append(module)
        return module.forward

    compiled = frontend.compile(function, backend=backend)
    compiled(*args)
    compiled(*args)
    return len(made)


def collects(x, count):
    found, seen, names = [], [], []
    for i in range(count):
        x = x.sin()
        print("round", i)
        found.append(x)
        seen += [i, i + 1]
        names.extend([str(count)])
    return found, seen, names


def collects_and_looks(x, items):
    alias = items
    items.append(x)
    print("break")
    alias.append(x + 1)
    items.append(len(items))
    alias.append(items[0] is alias[0])
    return items, items is alias, items[-2]


def makes_modules(x, count):
    torch.manual_seed(0)
    for layer in [torch.nn.Linear(3, 3) for _ in range(count)]:
        x = layer(x)
        print("layer")
    return x


def greets(x, names):
    for name in names:
        x = x + 1
        print("hello", name)
    return x


@pytest.mark.parametrize("function", [collects, makes_modules])
def test_a_loop_that_collects_compiles_a_fixed_number_of_times(function):
    check(function, X, 4)
    assert graphs_of(function, X, 6) == graphs_of(function, X, 30)


def test_what_is_only_printed_is_not_guarded():
    check(greets, X, ["a", "b", "c"])
    names = [f"name {number}" for number in range(30)]
    assert graphs_of(greets, X, names) == graphs_of(greets, X, names[:5])


@pytest.mark.parametrize("items", [[], [1], [X, 2]])
def test_a_list_that_is_appended_to_and_then_read(items):
    check(collects_and_looks, X, items)


COPIES_AND_MARKERS = """
import copy, os, heapq, torch
SHARED = {"a": {1, 2}, "b": frozenset([3])}
def f(x):
    marker = object()
    other = object()
    copied = copy.deepcopy(SHARED)
    copied["a"].add(5)
    shallow = copy.copy(SHARED["a"])
    y = x.clone()
    y.__setitem__(0, 5.0)
    text = "abc".translate(str.maketrans("a", "b")), os.path.join("a", "b"), os.path.basename("/a/b.txt"), os.fspath("q")
    seen = {marker: 1}
    return x.__getitem__(1), x.__getitem__([0, 2]), y, copied, shallow, text, marker is other, seen.get(other), {"m": marker}.get("m", None) is marker, heapq.nlargest(2, [1, 5, 3]), marker == other
def args(): return (torch.ones(3),)
"""


def test_copies_markers_paths_and_items_by_name():
    check_source(COPIES_AND_MARKERS, graphs=1, breaks=0)


ATTRIBUTES_OF_ORDERED_DICTS = """
import collections, torch
def make():
    od = collections.OrderedDict(a=1); od.note = "hi"; return od
def f(x, od):
    return x * 2, getattr(od, "note", None), hasattr(od, "other"), od["a"]
def args(): return (torch.ones(3), make())
"""

STATE_DICTS = """
import collections, torch
def f(x, m):
    sd = m.state_dict()
    with torch.no_grad():
        for k, v in sd.items(): v.add_(1)
    od = collections.OrderedDict(a=1); od.note = x + 1; c = od.copy()
    od.change = None
    setattr(od, "class", 1)
    return m(x), list(sd), getattr(sd, "_metadata", None), od, od.note, hasattr(c, "note"), hasattr(od, "gone")
def args():
    torch.manual_seed(0)
    return (torch.ones(4,3), torch.nn.Sequential(torch.nn.Linear(3,3), torch.nn.BatchNorm1d(3)))
"""


@pytest.mark.parametrize("source", [ATTRIBUTES_OF_ORDERED_DICTS, STATE_DICTS])
def test_attributes_of_ordered_dicts(source):
    check_source(source, breaks=0)
