"""`threading.get_ident()` as a key: beside numbers that the program stored before, and in other threads."""

import threading
from threading import get_ident

import torch
from tests.end_to_end.support import check

from framesmith import frontend

BY_THREAD = {get_ident(): 5}


def test_a_number_finds_what_the_program_stored_under_it() -> None:
    check(lambda x: x + BY_THREAD.get(get_ident(), 0), torch.ones(2))
    check(lambda x, found: x + found[get_ident()], torch.ones(2), {get_ident(): 5})
    check(lambda x, found: found.get(get_ident()), torch.ones(2), {float(get_ident()): 5})


def test_a_number_is_a_member_of_an_existing_set() -> None:
    check(lambda found: (get_ident() in found, (get_ident(), 1) in found), {get_ident(), (get_ident(), 1)})
    check(lambda found: (found.discard(get_ident()), found), {get_ident(), 5})


def test_a_number_stored_in_the_trace_is_found_in_the_next_call() -> None:
    def f(seen):
        known = get_ident() in seen
        seen[get_ident()] = known
        return known

    check(f, {})


def test_another_thread_has_another_number() -> None:
    compiled = frontend.compile(lambda found: get_ident() in found, backend="eager")
    found, seen = {get_ident()}, list[bool]()
    assert compiled(found)
    thread = threading.Thread(target=lambda: seen.extend([compiled(found), compiled({get_ident()})]))
    thread.start()
    thread.join()
    assert seen == [False, True] and compiled(found)


class Node:
    """A class with two names in a program."""


def test_the_number_of_a_class_is_one_key_by_whatever_name() -> None:
    check(lambda node: len({id(type(node)), id(Node)}), Node())
