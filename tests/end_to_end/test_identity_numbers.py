"""`id(x)` as a key: beside numbers of the same trace, and beside numbers that the program stored before."""

from threading import get_ident

import torch
from tests.end_to_end.support import check

from framesmith import frontend


class Node:
    """An object with a neighbour."""

    def __init__(self) -> None:
        self.next: Node | None = None


def _pair() -> tuple[Node, Node]:
    one, other = Node(), Node()
    one.next = other
    return one, other


def test_numbers_are_found_again_after_a_break() -> None:
    def f(one, other):
        seen, table = {id(one)}, {id(one): "one", (id(other), 1): "other"}
        print("break")
        return (
            id(one) in seen,
            id(other) in seen,
            id(one.next) in seen,
            table.get(id(one)),
            table.get((id(other), 1)),
        )

    check(f, *_pair())


@frontend.disable
def numbers_of(nodes: list[Node]) -> set[int]:
    """The numbers as a program outside of the compiled code stores them."""
    return {id(node) for node in nodes}


def test_numbers_that_were_stored_outside() -> None:
    def f(one, other):
        known = numbers_of([one])
        return id(one) in known, id(other) in known, dict.fromkeys(known, 1).get(id(one))

    check(f, *_pair())


def test_a_number_from_outside_that_changes_is_found() -> None:
    def f(x, node, number):
        return x, len({number, id(node)}), {number: 1}.get(id(node))

    compiled = frontend.compile(f, backend="eager")
    nodes = [Node() for _ in range(4)]
    for node in nodes:
        for number in (id(node), id(nodes[0])):
            assert compiled(1, node, number) == f(1, node, number)


def test_one_entry_does_not_answer_for_another_object() -> None:
    """The first call has an object that is not known, the second one that is."""

    def f(nodes):
        known = numbers_of(nodes[:1])
        return id(nodes[1]) in known

    def change(nodes):
        nodes[1] = Node() if nodes[1] is nodes[0] else nodes[0]

    check(f, [Node(), Node()], calls=4, change=change)


def test_a_cycle_of_objects_is_walked_once() -> None:
    def f(one, other):
        other.next = one
        seen, todo, count = set(), [one], 0
        while todo and count < 9:
            node = todo.pop()
            print("break")
            seen.add(id(node))
            count += 1
            if id(node.next) not in seen:
                todo.append(node.next)
        return count

    check(f, *_pair())


def test_new_lists_need_no_new_entry() -> None:
    """Where nothing was stored before, the numbers are not read."""

    def f(items):
        seen = {id(item) for item in items}
        return len(seen), id(items[0]) in seen

    report = check(f, [[1], [2], [1]], calls=4, change=lambda items: items.__setitem__(0, [1]))
    assert report.recompiles == []


def test_a_number_equals_nothing_that_is_no_number() -> None:
    def f(x, node):
        unset = getattr(x, "support", None)
        answers = unset == id(node), id(node) != unset, id(node) == "a", (1,) != id(node), get_ident() == None  # noqa: E711
        return x + 1, answers

    check(f, torch.ones(2), Node(), breaks=0, graphs=1)
