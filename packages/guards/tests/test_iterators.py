"""Looking ahead gives what advancing a copy would give, and leaves the iterator where it was."""

import collections

import pytest

from framesmith.guards.iterators import (
    UnknownIterator,
    can_clone,
    clone,
    has_at_least,
    is_long_to_look_into,
    parts,
    peek,
)

MAKERS = {
    "list": lambda: iter([1, 2, 3, 4]),
    "tuple": lambda: iter((1, 2, 3, 4)),
    "range": lambda: iter(range(3, 11, 2)),
    "long range": lambda: iter(range(1 << 70, (1 << 70) + 4)),
    "str": lambda: iter("abcd"),
    "wide str": lambda: iter("\u0100bcd"),
    "bytes": lambda: iter(b"abcd"),
    "bytearray": lambda: iter(bytearray(b"abcd")),
    "dict": lambda: iter(dict.fromkeys("abcd")),
    "dict values": lambda: iter({1: 2, 3: 4, 5: 6}.values()),
    "dict items": lambda: iter({1: 2, 3: 4, 5: 6}.items()),
    "reversed dict": lambda: reversed({1: 2, 3: 4, 5: 6}),
    "reversed items": lambda: reversed({1: 2, 3: 4, 5: 6}.items()),
    "ordered dict": lambda: iter(collections.OrderedDict(a=1, b=2, c=3)),
    "ordered items": lambda: iter(collections.OrderedDict(a=1, b=2, c=3).items()),
    "set": lambda: iter({1, 2, 3}),
    "deque": lambda: iter(collections.deque([1, 2, 3])),
    "reversed deque": lambda: reversed(collections.deque([1, 2, 3])),
    "reversed list": lambda: reversed([1, 2, 3]),
    "reversed tuple": lambda: reversed((1, 2, 3)),
    "reversed range": lambda: reversed(range(4)),
    "enumerate": lambda: enumerate(iter([7, 8, 9]), 5),
    "zip": lambda: zip([1, 2, 3], iter("abcd"), strict=False),
    "nested": lambda: enumerate(zip(reversed([1, 2, 3]), {1: 1, 2: 2, 3: 3}.items(), strict=True)),
}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("advanced", range(5))
def test_a_clone_goes_on_where_the_iterator_stands(maker, advanced):
    iterator = maker()
    for _ in range(advanced):
        next(iterator, None)
    ahead = list(clone(iterator))
    assert [peek(iterator, index) for index in range(len(ahead))] == ahead
    assert has_at_least(iterator, len(ahead)) and not has_at_least(iterator, len(ahead) + 1)
    with pytest.raises(IndexError):
        peek(iterator, len(ahead))
    assert list(iterator) == ahead


def test_a_clone_of_a_list_iterator_sees_later_items():
    items = [1]
    iterator = iter(items)
    copy = clone(iterator)
    items.append(2)
    assert list(copy) == [1, 2]


def test_a_list_that_became_shorter_than_the_index_of_reversed():
    items = [1, 2, 3, 4]
    iterator = reversed(items)
    next(iterator)
    del items[1:]
    assert not has_at_least(iterator, 1) and list(clone(iterator)) == []
    with pytest.raises(IndexError):
        peek(iterator)


class Sequence:
    def __getitem__(self, index):
        raise AssertionError("user code ran")

    def __len__(self):
        return 3


class LoudList(list):
    def __iter__(self):
        raise AssertionError("user code ran")


class QuietList(list):
    pass


@pytest.mark.parametrize(
    "iterator",
    [
        (item for item in [1]),
        map(str, [1]),
        filter(None, [1]),
        iter(Sequence()),
        reversed(Sequence()),
        iter(int, 1),
        zip([1], (item for item in [1]), strict=False),
        enumerate(map(str, [1])),
        list.__iter__(LoudList([1])),
        [1, 2],
        5,
    ],
)
def test_what_would_run_user_code_is_refused(iterator):
    assert not can_clone(iterator)
    with pytest.raises(UnknownIterator):
        clone(iterator)


def test_a_list_subclass_that_iterates_like_a_list_is_fine():
    assert peek(iter(QuietList([1, 2])), 1) == 2


def test_a_dictionary_that_changed_under_its_iterator_is_refused():
    mapping = {1: 1, 2: 2}
    iterator = iter(mapping)
    next(iterator)
    mapping[3] = 3
    assert not can_clone(iterator)


def test_parts_are_what_an_iterator_runs_over():
    items = [1, 2]
    inner = iter(items)
    assert parts(inner)[0] is items
    assert parts(zip(inner, inner, strict=False)) == (inner, inner)
    assert parts(map(len, inner)) == (len, inner)
    assert parts(enumerate(inner, 4)) == (inner, 4)


def test_a_look_that_copies_what_is_left_is_told():
    long = dict.fromkeys(range(100))
    for iterator in (
        iter(long),
        reversed(long.items()),
        iter(set(long)),
        enumerate(iter(collections.deque(long))),
    ):
        assert is_long_to_look_into(iterator)
    for iterator in (iter({1: 2}), iter([*long]), enumerate(range(100)), zip([*long], (*long,), strict=True)):
        assert not is_long_to_look_into(iterator)
