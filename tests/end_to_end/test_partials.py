"""`functools.partial`: what it holds may change, and differs from call to call."""

import functools
from functools import partial

import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend


def base(x, *args, **named):
    return x * sum(args, 1) + len(named) + sum(named.values())


def flattened(p):
    return partial(p).func is not p


def test_keywords_that_were_changed_are_used() -> None:
    def f(x, p):
        p.keywords["a"] = 5
        made = partial(base, a=1)
        made.keywords["b"] = 2
        return p(x), made(x), p.keywords, made.keywords is made.keywords

    check(f, torch.ones(2), partial(base, a=1))


def test_a_keyword_that_is_no_text_is_an_error() -> None:
    def f(x, p):
        p.keywords[5] = 1
        return p(x)

    check(f, torch.ones(2), partial(base))


def test_a_new_partial_keeps_its_dictionary_after_the_graph() -> None:
    def f(x):
        made = partial(base, 1, a=1)
        named, args = made.keywords, made.args
        frontend.graph_break()
        named["b"] = 4
        return made(x), made.keywords is named, made.args is args

    check(f, torch.ones(2), breaks=1)


def test_a_new_partial_may_hold_itself() -> None:
    def f():
        made = partial(base, 1)
        made.keywords["me"] = made
        return made

    made = frontend.compile(f, backend="eager")()
    assert made.keywords["me"] is made


def test_an_attribute_keeps_a_partial_from_being_flattened() -> None:
    plain, marked, emptied = (partial(base, 1) for _ in range(3))
    marked.mark = emptied.mark = 1
    del emptied.mark
    compiled = frontend.compile(flattened, backend="eager")
    assert [compiled(p) for p in (plain, marked, emptied, plain)] == [True, False, False, True]


def test_reading_an_attribute_leaves_a_partial_flattened() -> None:
    compiled = frontend.compile(lambda p: getattr(p, "mark", None), backend="eager")
    p = partial(base, 1)
    assert compiled(p) is None and flattened(p)


def test_a_partial_of_a_derived_partial_is_flattened() -> None:
    class Derived(partial):
        pass

    check(flattened, Derived(base, 1))


@pytest.mark.parametrize("new", [True, False])
def test_numbers_of_arguments_may_differ_in_each_round(new: bool) -> None:
    def f(x, partials):
        for number, p in enumerate(partials):
            one = partial(base, *range(number)) if new else p
            frontend.graph_break()
            x = one(x) + len(one.args)
        return x

    check(f, torch.ones(2), [partial(base, *range(i)) for i in range(8)])


@pytest.mark.skipif(not hasattr(functools, "Placeholder"), reason="since Python 3.14")
def test_a_placeholder_is_filled() -> None:
    place = getattr(functools, "Placeholder", None)
    check(
        lambda x, p: (p(2, x), partial(p, x)(), partial(base, place, 2)(x)),
        torch.ones(2),
        partial(base, place, 3),
    )
