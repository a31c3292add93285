"""Builtins that the program replaces for a while: nothing is traced meanwhile, and every `finally` runs."""

import builtins
from unittest.mock import patch

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend
from framesmith.frontend.replaced_builtins import _FREE, _ORIGINALS

X = torch.ones(2)
BREAKS_THE_INTERPRETER = {
    "isinstance",
    "issubclass",
    "getattr",
    "len",
    "type",
    "str",
    "tuple",
    "setattr",
    "super",
    "object",
}
"""The mock itself, or pytest, cannot do without them."""
NAMES = sorted({*_ORIGINALS} - BREAKS_THE_INTERPRETER)


def patched(x, name):
    y = x + 1
    with patch(f"builtins.{name}") as mock:
        mock("7")
        mock.assert_called_once_with("7")
    return y * 2


def outcome(function, name):
    """What came out; the mock itself may need the builtin."""
    try:
        return function(X, name).tolist()
    except (RecursionError, TypeError) as error:
        return error.__class__


@pytest.mark.parametrize("name", [*NAMES, *sorted(_FREE & vars(builtins).keys())])
def test_a_mock_in_place_of_a_builtin(name):
    original, expected = vars(builtins)[name], outcome(patched, name)
    compiled = frontend.compile(patched, backend="eager")
    for _ in range(2):
        result = outcome(compiled, name)
        is_back = vars(builtins)[name] is original
        vars(builtins)[name] = original
        assert result == expected and is_back


PROGRAM = """
import builtins, contextlib, torch

@contextlib.contextmanager
def replaced(name, value):
    before = getattr(builtins, name)
    setattr(builtins, name, value)
    try:
        yield
    finally:
        setattr(builtins, name, before)

def count(x, items):
    return x + len(items), sorted(items), list(range(3))

def inner(x, items):
    with replaced("sorted", lambda items: "sorted"), replaced("range", lambda *n: (7, *n)):
        found = count(x, items)
        print(found[1:])
        {body}
    return found, count(x, items)

def f(x, items):
    total = []
    for n in range(3):
        try:
            total.append(inner(x * n, items))
        except ValueError as error:
            total.append(str(error))
    return total

def args():
    return torch.ones(2), [3, 1, 2]
"""


@pytest.mark.parametrize(
    "body", ["pass", "raise ValueError(sorted(items))", "if x.sum() > 1: x = x * sum(range(4))"]
)
def test_frames_around_see_the_builtin_again(body):
    check_source(PROGRAM.replace("{body}", body))


def test_a_builtin_that_stays_replaced_runs_natively():
    compiled, original = frontend.compile(lambda x: (x + 1, max(3, 4)), backend="eager"), max
    builtins.max = lambda *given: "mine"
    try:
        assert compiled(X)[1] == "mine"
    finally:
        builtins.max = original
    assert compiled(X)[1] == 4


def test_a_builtin_that_is_gone_runs_natively():
    compiled, original = frontend.compile(lambda x: (x + 1, max(3, 4)), backend="eager"), max
    del builtins.max
    try:
        with pytest.raises(NameError, match="name 'max' is not defined"):
            compiled(X)
        assert not hasattr(builtins, "max")
    finally:
        builtins.max = original
    assert compiled(X)[1] == 4


MODULES = """
import builtins, math, torch

def by_name(x, space):
    before = space["sorted"]
    space["sorted"] = lambda items: "mine"
    try:
        return x + 1, sorted([2, 1])
    finally:
        space["sorted"] = before

def stores(x, space):
    space["strange"] = x + 1
    try:
        return strange * 2
    finally:
        del space["strange"]

def updates(x, space):
    space.update(strange=x + 1)
    try:
        return strange * 2
    finally:
        space.pop("strange")

def of_a_module(x, space):
    space = math.__dict__
    space["strange"] = space.get("strange", 2) + 7
    return x * math.strange

def read_behind(x, space):
    math.strange = 3
    return x * math.__dict__["strange"]

def attribute(x, space):
    builtins.strange = x + 1
    try:
        return strange * 2
    finally:
        del builtins.strange

def f(x):
    try:
        return {call}
    finally:
        vars(math).pop("strange", None)

def args():
    return (torch.ones(2),)
"""


@pytest.mark.parametrize("space", ["vars(builtins)", "builtins.__dict__"])
@pytest.mark.parametrize("name", ["by_name", "stores", "updates", "of_a_module", "read_behind", "attribute"])
def test_the_dictionary_of_a_module_in_c(name, space):
    check_source(MODULES.replace("{call}", f"{name}(x, {space})"))


IMPORTS = """
import builtins, types, torch

def inner(x, mode):
    import math
    from math import floor
    return x * floor(math.pi), mode["name"]

def imitate(name, *rest):
    if name == "math":
        return types.SimpleNamespace(pi=7.5, floor=lambda value: int(value) + 100)
    return ORIGINAL(name, *rest)

ORIGINAL = builtins.__import__

def replaced(x, mode):
    builtins.__import__ = imitate
    try:
        return inner(x, mode)
    finally:
        builtins.__import__ = ORIGINAL

def f(x, mode):
    return {body}

def args():
    return torch.ones(2), {{"name": "as ever"}}
"""


@pytest.mark.parametrize("body", ["inner(x, mode)", "replaced(x, mode)", "inner(x, mode), replaced(x, mode)"])
def test_imports_while_their_builtin_is_replaced_inside(body):
    check_source(IMPORTS.format(body=body))


def test_imports_while_their_builtin_is_replaced_between_calls():
    def pi(x):
        import math

        return x * math.pi

    compiled, original = frontend.compile(pi, backend="eager"), builtins.__import__
    assert compiled(X)[0] > 3
    for place in range(3):
        with patch(
            "builtins.__import__", lambda name, *rest: original("cmath" if name == "math" else name, *rest)
        ):
            with patch("cmath.pi", place):
                assert compiled(X).tolist() == [place, place]
        assert compiled(X)[0] > 3


def test_imports_with_builtins_of_their_own():
    asked = []

    def importer(name, *rest):
        asked.append(name)
        return __import__(name, *rest)

    space = {"__builtins__": {"__import__": importer}}
    exec("def f(x):\n    import math\n    return x * math.pi", space)
    compiled = frontend.compile(space["f"], backend="eager")
    assert [round(compiled(X)[0].item(), 2) for _ in range(3)] == [3.14] * 3
    assert asked == ["math"] * 3
