"""The Python forms of C functions give what the C functions give."""

import bisect
import collections
import heapq
import random

import pytest

from framesmith.variables.polyfills import bisect as bisect_forms
from framesmith.variables.polyfills import collections as collections_forms
from framesmith.variables.polyfills import heapq as heapq_forms


def outcome(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", ["heappush", "heappop", "heapreplace", "heappushpop", "heapify"])
def test_heap_functions_leave_the_same_heap(name):
    for seed in range(200):
        rng = random.Random(seed)
        heap = [rng.randrange(9) for _ in range(rng.randrange(12))]
        if name != "heapify":
            heapq.heapify(heap)
        args = () if name in ("heappop", "heapify") else (rng.randrange(9),)
        mine, theirs = list(heap), list(heap)
        assert outcome(getattr(heapq_forms, name), mine, *args) == outcome(
            getattr(heapq, name), theirs, *args
        )
        assert mine == theirs


@pytest.mark.parametrize("name", ["bisect_left", "bisect_right", "insort_left", "insort_right"])
def test_bisection_finds_the_same_place(name):
    for seed in range(200):
        rng = random.Random(seed)
        items = sorted(rng.randrange(9) for _ in range(rng.randrange(12)))
        kwargs = rng.choice([{}, {"lo": 1}, {"hi": 2}, {"lo": -1}, {"key": lambda value: value}])
        mine, theirs = list(items), list(items)
        value = rng.randrange(9)
        form, original = getattr(bisect_forms, name), getattr(bisect, name)
        assert outcome(form, mine, value, **kwargs) == outcome(original, theirs, value, **kwargs)
        assert mine == theirs


def test_elements_are_counted_in_the_same_order():
    found = {"b": 1}
    collections_forms.count_elements(found, "abca")
    assert list(found.items()) == list((collections.Counter({"b": 1}) + collections.Counter("abca")).items())
