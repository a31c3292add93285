"""Classes made by a call (`namedtuple`, `type`, `Enum` ...) belong to the module whose function calls."""

import sys
import types

import pytest
import torch

from framesmith import frontend

SOURCE = """
import collections, dataclasses, enum, types, typing
class Meta(type):
    pass
def made_by_namedtuple(): return collections.namedtuple("P", "x y")
def made_by_type(): return type("X", (), {})
def made_by_metaclass(): return Meta("X", (), {})
def made_by_enum(): return enum.Enum("E", "a b")
def made_by_dataclass(): return dataclasses.make_dataclass("D", ["x"])
def made_by_new_class(): return types.new_class("N")
def made_by_typed_dict(): return typing.TypedDict("D", {"x": int})
def made_by_new_type(): return typing.NewType("T", int)
def made_by_type_variable(): return typing.TypeVar("T")
def made_by_given(cls=type): return cls("X", (), {})
def only_mentioned(): return [type, type | None, isinstance(type, type), Meta]
"""
MAKERS = [
    line.split("(")[0].removeprefix("def ") for line in SOURCE.splitlines() if line.startswith("def made")
]


@pytest.fixture
def spaces(monkeypatch):
    """Two modules of the same source."""
    found = []
    for name in ("first_of_two", "second_of_two"):
        module = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(SOURCE, module.__dict__)
        found.append(module)
    return found


@pytest.mark.parametrize("maker", MAKERS)
def test_the_module_is_that_of_eager(maker, spaces):
    """Called itself, inlined from another module, and after a break."""
    first, second = (getattr(space, maker) for space in spaces)

    def function(x):
        made = [first(), second()]
        print(end="")
        return [one.__module__ for one in (*made, second(), first())], x + 1

    called = frontend.compile(function, backend="eager")
    direct = frontend.compile(first, backend="eager")
    for _ in range(3):
        assert called(torch.ones(2))[0] == function(torch.ones(2))[0]
        assert direct().__module__ == first().__module__


def test_a_class_that_is_no_callee_is_itself(spaces):
    """An operand that is a metaclass is handed on as it is."""

    def function(x):
        print(end="")
        return spaces[0].only_mentioned(), x + 1

    called = frontend.compile(function, backend="eager")
    assert called(torch.ones(2))[0] == function(torch.ones(2))[0]
