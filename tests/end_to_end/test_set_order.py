"""The order of a set made in a trace: that of hashes and of its history, in the trace and after it."""

import pytest
from tests.end_to_end.support import check_source

HEAD = """
import torch
from framesmith import frontend
class O: pass
objects = [O() for _ in range(20)]
kept = {8, 0, 16, 24}
table = dict.fromkeys([32, 8, 0, 64, 16, 40])
def args(): return [torch.ones(2)]
"""
MADE = {
    "grown and shrunk": "s = set()\nfor i in range(40): s.add(i)\nfor i in range(40):\n    if i not in (8, 0, 16): s.discard(i)\ns.add(3); s.add(64)",
    "combined": "s = {16, 8, 0} | {24, 3}\ns -= {16}",
    "one taken out": "s = {8, 0, 16, 24}\ns.discard(8); s.add(32)",
    "display of many": "s = {64, 32, 16, 8, 0, 128}",
    "of a dict": "s = set(table)",
    "updated with a dict": "s = {3}\ns.update(table)",
    "of keys": "s = set(table.keys())",
    "view and set": "s = table.keys() & {32, 0, 8, 16}",
    "view or set": "s = table.keys() | {96, 48}",
    "set or view": "s = {96, 48} | table.keys()",
    "set without view": "s = ({8, 96, 48, 56} ^ table.keys()) - table.keys()",
    "items": "s = table.items() | {(1, 2)}",
    "of a list": "s = set([64, 32, 16, 8, 0, 128])",
    "copied": "s = set(); [s.add(i) for i in range(30)]; [s.discard(i) for i in range(3, 30)]; s = s.copy()",
    "symmetric": "s = {64, 32, 16} ^ {8, 0, 32}\ns ^= {128}",
    "intersection": "s = set(range(50)).intersection([48, 40, 32, 0, 8])",
    "comprehension": "s = {i * 8 % 72 for i in range(7)}",
    "popped": "s = {64, 32, 16, 8}\ns.pop()\ns.add(128)",
    "cleared": "s = set(range(30))\ns.clear()\ns.add(8); s.add(0)",
    "frozen": "s = frozenset([64, 32, 16, 8, 0, 128]) - {8} | frozenset(table)",
    "texts": "s = {'a', 'b', 'c', 'd', 'e'} - {'c'}",
    "tuples": "s = {(1, 'a'), (2, 'b'), (3, None)} | {(4, 4)}",
    "of an existing set": "s = kept | {32}",
    "of an existing set, changed": "kept.add(x.shape[0])\ns = kept - {8}",
    "classes": "s = {int, str, float, list, dict, torch.nn.Linear}",
    "classes in tuples": "s = {(bool, 1), (int, 2), (str, 3), (dict, 4)}",
    "nested": "s = {frozenset({8, 0}), frozenset({1, 2, 3}), frozenset()}",
}
USES = {
    "returned": "return x + 1, s, list(s) if flag else None",
    "over a break": "x = x + 1\nfrontend.graph_break()\nreturn x, s, list(s), [*(s | {96})], s",
    "a break in the loop": "out = []\nfor k in s:\n    out.append(k)\n    x = x + 1\n    frontend.graph_break()\nreturn x, out, s",
    "next": "it = iter(s)\nfirst = next(it)\nfrontend.graph_break()\nreturn x + 1, first, list(it), s",
}


def indented(text: str) -> str:
    """A block of the function."""
    return "\n".join("    " + line for line in text.splitlines())


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("made", MADE)
def test_order_is_that_of_eager(made: str, use: str) -> None:
    check_source(
        f"{HEAD}flag = 'existing' not in {made!r}\ndef f(x):\n{indented(MADE[made])}\n{indented(USES[use])}\n"
    )


@pytest.mark.parametrize("made", MADE)
def test_a_break_keeps_the_frame(made: str) -> None:
    report = check_source(
        f"{HEAD}def f(x):\n{indented(MADE[made])}\n{indented(USES['a break in the loop'])}\n"
    )
    assert report.graphs >= 2


def test_a_break_in_a_loop_over_an_existing_set_of_objects() -> None:
    body = "out = []\nfor o in kinds:\n    out.append(o.__name__)\n    x = x + 1\n    frontend.graph_break()\nreturn x, out"
    report = check_source(f"{HEAD}kinds = {{int, str, dict, list, float}}\ndef f(x):\n{indented(body)}\n")
    assert report.graphs >= 2


@pytest.mark.parametrize("size", [5, 40])
def test_what_is_made_of_an_existing_set_that_has_seen_more(size: int) -> None:
    kinds = f"import builtins\nkinds = {{v for v in vars(builtins).values() if isinstance(v, type) and len(v.__name__) < {size}}}\n"
    kinds += "for k in [*kinds][5:]: kinds.discard(k)\n"
    made = "[k.__name__ for k in kinds | {int, str}] == frontend.disable(lambda: [k.__name__ for k in kinds | {int, str}])()"
    check_source(f"{HEAD}{kinds}def f(x):\n    return x + 1, {made}\n")


def test_a_nan_is_hashed_by_its_address() -> None:
    nans = "nans = [float('nan') for _ in range(9)]\n"
    made = "[*map(id, {*nans, 1.0, 2.0})] == frontend.disable(lambda: [*map(id, {*nans, 1.0, 2.0})])()"
    check_source(f"{HEAD}{nans}def f(x):\n    return x + 1, {made}\n")


ADDRESSES = {
    "set": "[objects.index(o) for o in set(objects)]",
    "display": "[objects.index(o) for o in {*objects[:6]}]",
    "union": "[objects.index(o) for o in set(objects[:9]) | set(objects[5:])]",
    "tuples": "[objects.index(o) for o, _ in {(o, 1) for o in objects}]",
    "returned": "[objects.index(o) for o in given(set(objects) | set(objects[3:]))]",
    "first": "objects.index(next(iter(set(objects))))",
    "sorted": "sorted(objects.index(o) for o in set(objects))",
    "membership": "objects[3] in set(objects), len(set(objects) & {objects[1], objects[2]})",
}


@pytest.mark.parametrize("use", ADDRESSES)
def test_items_hashed_by_their_address(use: str) -> None:
    worlds = f"{HEAD}given = frontend.disable(lambda s: s)\ndef f(x):\n    "
    same = (
        f"want = frontend.disable(lambda: {ADDRESSES[use]})()\n    return x + 1, ({ADDRESSES[use]}) == want"
    )
    check_source(worlds + same)


POPPED = "s = {0, 1, 2, 3}\ns.pop()\ns.add(0)"
GROWN = "s = set(range(100))\nfor i in range(100):\n    if i not in (1, 64): s.discard(i)"
EXISTING = {
    "popped": (POPPED, "return s.pop(), x + 1"),
    "popped in the trace": (POPPED, "a = s.pop(); s.add(a)\n    return a, s.pop(), x + 1"),
    "grown and shrunk": (GROWN, "return s.pop(), x + 1"),
    "of one item": ("s = {1}", "s.pop(); s.add(1); s.add(5)\n    return native(s), x + 1"),
    "without itself": (
        "s = set(range(100))",
        "s -= s; s.add(8); s.add(0)\n    return [*native_items(s)], x + 1",
    ),
    "with itself, symmetric": (
        "s = set(range(100))",
        "s ^= s; s.add(8); s.add(0)\n    return [*native_items(s)], x + 1",
    ),
    "both": (GROWN, "s &= s; s.add(128)\n    return [*native_items(s)], x + 1"),
}
NATIVE = "native = frontend.disable(lambda s: s.pop())\nnative_items = frontend.disable(list)\n"


@pytest.mark.parametrize("case", EXISTING)
def test_an_existing_set_pops_where_its_last_pop_ended(case: str) -> None:
    made, body = EXISTING[case]
    check_source(
        f"{HEAD}{NATIVE}def make():\n{indented(made)}\n    return s\ndef args(): return [torch.ones(2), make()]\ndef f(x, s):\n    {body}\n"
    )


NEW = {
    "constants": POPPED,
    "classes": "s = {int, str, float}\ns.add(s.pop())",
    "cleared": "s = {0, 1, 2, 3}\ns.pop(); s.pop(); s.clear(); s.update([0, 1, 3])",
    "without itself": "s = set(range(100))\ns -= s; s.add(8); s.add(0)",
    "with itself, symmetric": "s = set(range(100))\ns.symmetric_difference_update(s); s.add(8); s.add(0)",
    "or itself": "s = {8, 0, 16}\ns |= s; s.add(24)",
    "of a subclass": "s = S({0, 1, 2, 3})\ns.pop(); s.add(0)",
    "of a subclass, grown and shrunk": "s = S(range(40))\nfor i in range(40):\n    if i not in (8, 0, 16): s.discard(i)\ns.add(64)",
}


@pytest.mark.parametrize("made", NEW)
def test_a_new_set_pops_after_the_graph_where_its_last_pop_ended(made: str) -> None:
    check_source(
        f"{HEAD}{NATIVE}class S(set): pass\ndef f(x):\n{indented(NEW[made])}\n    return native_items(s), native(s), x + 1\n"
    )


TEXTS = {
    "format": "'{}'.format({int}), '{} {}'.format({int, 1}, 2)",
    "percent": "'%s' % {int}, '%r %s' % ({int}, 1)",
    "tuples": "'{}'.format({(bool, 1), (int, 2)}), str({(bool, 1)})",
    "built-in text": "repr({int}), str([{int}]), '{}'.format([{int}])",
    "frozen": "'{}'.format(frozenset({int}))",
    "existing": "'{}'.format(kinds), '{}'.format({'a': kinds})",
    "f-string": "f'{ {int} } { kinds }'",
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_shows_the_items_of_a_set(text: str) -> None:
    check_source(f"{HEAD}kinds = {{int, str, float, list}}\ndef f(x):\n    return {TEXTS[text]}, x + 1\n")


HISTORIES = """
import random
def f(held):
    CALL
    return list(made), made
def args():
    chance = random.Random(SEED)
    held = set()
    for _ in range(chance.randint(0, 60)):
        if chance.random() < 0.6:
            held.add(chance.randrange(0, 200) * chance.choice([1, 8, 32]))
        elif held:
            held.discard(chance.choice(sorted(held)))
    return (held,)
"""


@pytest.mark.parametrize("seed", range(0, 60, 5))
@pytest.mark.parametrize(
    "call",
    [
        "made = held.copy(); held.add(16)",
        "made = set(held); held.add(16); made.add(24)",
        "made = {1} | held; held.add(3)",
        "made = held - {8}; held.clear()",
        "made = frozenset(held); held.discard(0)",
    ],
)
def test_a_copy_of_a_set_that_changes_later_has_its_order(call: str, seed: int) -> None:
    check_source(HISTORIES.replace("CALL", call).replace("SEED", str(seed)))
