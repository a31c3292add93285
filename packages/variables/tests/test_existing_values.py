"""Wrapping existing builtin values: what is guarded, what is left free, how changes and positions are replayed."""

import collections
import itertools
import types

import pytest
from expressions import Evaluator
from support import Trace

from framesmith.graph import GraphBreak


def trace(text, **inputs):
    """Trace a program; the value it gives, and a check whether other inputs are accepted."""
    with Trace(**inputs) as traced:
        result = Evaluator(traced, {"itertools": itertools, "collections": collections})(text)
        found = traced.finish(result)
    return found, lambda **others: traced.failure(**others) is None


def test_length_of_a_list_is_guarded_but_unread_items_are_not():
    found, accepts = trace("x[0]", x=[1, "a"])
    assert found == 1
    assert accepts(x=[1, object()])
    assert not accepts(x=[1])
    assert not accepts(x=(1, "a"))
    assert not accepts(x=[2, "a"])


def test_looking_up_one_key_leaves_the_other_keys_free():
    found, accepts = trace("d['a']", d={"a": 1, "b": 2})
    assert found == 1
    assert accepts(d={"z": 9, "a": 1})
    assert not accepts(d={"b": 2})
    assert not accepts(d={"a": 2, "b": 2})


def test_a_missing_key_is_guarded_to_be_missing():
    _, accepts = trace("d.get('q')", d={"a": 1})
    assert accepts(d={})
    assert not accepts(d={"q": 1})


def test_iterating_over_a_dict_guards_keys_and_order():
    _, accepts = trace("list(d)", d={"a": 1, "b": 2})
    assert accepts(d={"a": 5, "b": 6})
    assert not accepts(d={"b": 1, "a": 2})
    assert not accepts(d={"a": 1})


def test_membership_in_a_set_guards_the_answer_only():
    _, accepts = trace("1 in s", s={1, 2})
    assert accepts(s={1, 3})
    assert not accepts(s={3})


def test_length_of_a_dict_leaves_the_keys_free():
    _, accepts = trace("len(d)", d={"a": 1})
    assert accepts(d={"b": 1})
    assert not accepts(d={})


def test_dict_with_class_keys():
    found, accepts = trace("d[int], list(d.values())", d={int: 1, str: 2})
    assert found == (1, [1, 2])
    assert not accepts(d={int: 1, float: 2})


@pytest.mark.parametrize(
    "make",
    [
        lambda: iter([1, 2, 3, 4]),
        lambda: iter((1, 2, 3, 4)),
        lambda: iter(range(4)),
        lambda: iter("abcd"),
        lambda: iter({1: 2, 3: 4, 5: 6, 7: 8}),
        lambda: iter({1: 2, 3: 4, 5: 6, 7: 8}.items()),
        lambda: iter({1, 2, 3, 4}),
        lambda: zip([1, 2, 3, 4], "abcd"),
        lambda: enumerate("abcd"),
        lambda: reversed([1, 2, 3, 4]),
        lambda: iter(collections.deque([1, 2, 3, 4])),
    ],
)
def test_iterator_in_mid_course_is_moved_as_far_as_the_trace_moved_it(make):
    real, given, other = make(), make(), make()
    next(real), next(given), next(other)
    expected = (next(real), next(real))
    found, accepts = trace("next(it), next(it)", it=given)
    assert found == expected
    assert next(given) == next(real)
    assert next(given, None) is None
    assert accepts(it=other)


def test_position_of_an_iterator_is_not_guarded():
    _, accepts = trace("next(it)", it=iter(["a"] * 5))
    later = iter(["a"] * 5)
    next(later), next(later)
    assert accepts(it=later)
    assert accepts(it=iter(["a"] * 9))
    assert not accepts(it=iter([]))


def test_exhaustion_of_an_iterator_is_guarded():
    found, accepts = trace("next(it, 'end')", it=iter([]))
    assert found == "end"
    assert not accepts(it=iter([1]))


def test_list_changed_behind_its_iterator_breaks_the_graph():
    values = [1, 2, 3]
    with pytest.raises(GraphBreak):
        trace("x.append(4), next(it)", x=values, it=iter(values))


def test_iterator_and_changed_list_are_guarded_to_be_apart():
    values = [5, 6]
    found, accepts = trace("x.append(4), next(it)", x=[1], it=iter([5]))
    assert found[1] == 5
    shared = [5]
    assert not accepts(x=shared, it=iter(shared))


def test_two_iterators_that_share_a_position_break_the_graph():
    inner = iter([1, 2, 3])
    with pytest.raises(GraphBreak):
        trace("next(it), next(z)", it=inner, z=zip(inner))


def test_generator_is_not_read_ahead():
    with pytest.raises(GraphBreak):
        trace("next(z)", z=zip(x for x in [1]))


def test_aliases_stay_one_object():
    shared = [1]
    found, accepts = trace("a.append(2), [a, b]", a=shared, b=shared)
    assert found[1][0] is found[1][1] is shared
    assert shared == [1, 2]
    assert not accepts(a=[1, 2], b=[1, 2])


def test_views_and_proxies_see_the_dict():
    d = {"a": 1}
    found, _ = trace("d.update(b=2), list(k), len(p), k", d=d, k=d.keys(), p=types.MappingProxyType(d))
    assert found[1:3] == (["a", "b"], 2)
    assert list(found[3]) == ["a", "b"]


def test_replayed_dict_keeps_its_order():
    d = {"a": 1, "b": 2, "c": 3}
    trace("d.pop('a'), d.update(b=9, a=0, z=1)", d=d)
    assert list(d.items()) == [("b", 9), ("c", 3), ("a", 0), ("z", 1)]


def test_untouched_values_of_a_changed_dict_are_not_written():
    d = {"a": [1], "b": [2]}
    kept = d["b"]
    _, accepts = trace("d.update(a=5)", d=d)
    assert d == {"a": 5, "b": [2]} and d["b"] is kept
    assert accepts(d={"a": object()})


def test_unhashable_and_user_hashed_keys():
    class Odd:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            return True

    with pytest.raises(GraphBreak):
        trace("d[k]", d={"a": 1}, k=Odd())
