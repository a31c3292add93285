"""Operands with a `__torch_function__` that declines, changes what it is given, or is found in an unusual way, and classes whose
look-ups run code of the user."""

import warnings

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend
from framesmith.frontend.errors import TracingBugWarning

SEEN: list[object] = []


class Declining:
    """Declines after a graph break."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print(end="")
        return NotImplemented


class DecliningTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print(end="")
        return NotImplemented


class Clearing:
    """Changes the keywords before it declines."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if kwargs:
            kwargs.clear()
            kwargs["unknown"] = args
        return NotImplemented


class Counting:
    """Is told apart whether there are keywords at all."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), *rest):
        return len(rest), rest and sorted(rest[0])


class Watching(type):
    def __getattribute__(cls, name):
        SEEN.append(name)
        return super().__getattribute__(name)

    def __instancecheck__(cls, instance):
        SEEN.append("instance")
        return super().__instancecheck__(instance)

    def __subclasscheck__(cls, kind):
        SEEN.append("subclass")
        return super().__subclasscheck__(kind)


class Watched(Declining, metaclass=Watching):
    """Its metaclass notes what is looked up."""


class WatchedTensor(torch.Tensor):
    def __getattribute__(self, name):
        SEEN.append(name)
        return super().__getattribute__(name)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "answer"


class Posing(Declining):
    @property
    def __class__(self):
        SEEN.append("class")
        return list


class ByProperty:
    @property
    def __torch_function__(self):
        SEEN.append("property")
        return lambda func, types, args=(), kwargs=None: "answer"


class ByInstance:
    def __init__(self):
        self.__torch_function__ = lambda *args: "answer"


class ByGetattr:
    def __getattr__(self, name):
        SEEN.append(name)
        if name == "__torch_function__":
            return lambda *args: "answer"
        raise AttributeError(name)


CLASSES = (
    Declining, DecliningTensor, Clearing, Counting, Watched, WatchedTensor, Posing, ByProperty, ByInstance, ByGetattr,
)  # fmt: skip


class Listed(list):
    def __iter__(self):
        SEEN.append("iter")
        return super().__iter__()


PROGRAMS = [
    lambda x, s: torch.add(x, s),
    lambda x, s: torch.add(x, other=s),
    lambda x, s: torch.add(s, other=x, alpha=2),
    lambda x, s: torch.add(x, s, alpha=Counting()),
    lambda x, s: torch.sum(s, dim=[0]),
    lambda x, s: torch.stack([x, s], dim=0),
    lambda x, s: torch.stack(Listed([x, s])),
    lambda x, s: torch.where(s, x, x),
    lambda x, s: torch.mul(s, {}),
    lambda x, s: x & s,
    lambda x, s: x == s,
    lambda x, s: torch.nn.functional.relu(s),
    lambda x, s: torch.nn.functional.dropout(x, s),
]


def make(cls):
    return torch.ones(3).as_subclass(cls) if issubclass(cls, torch.Tensor) else cls()


def call(function, cls):
    operands = torch.ones(3), make(cls)
    SEEN.clear()
    try:
        result = function(*operands)
    except (TypeError, ValueError) as error:
        result = str(error)
    return str(result), list(SEEN)


@pytest.mark.parametrize("cls", CLASSES, ids=[cls.__name__ for cls in CLASSES])
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_answered_and_what_is_looked_up(program, cls):
    compiled = frontend.compile(program, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("error", TracingBugWarning)
        for number in range(3):
            expected, got = call(program, cls), call(compiled, cls)
            assert got[0] == expected[0]
            if number or cls is not Watched:  # while tracing, the trace looks at the metaclass
                assert got[1] == expected[1]


@pytest.mark.parametrize("cls", [Watched, Posing, WatchedTensor])
def test_an_override_that_declines_after_a_break(cls):
    def run(x, s):
        print(end="")
        return torch.add(x, other=s)

    compiled = frontend.compile(run, backend="eager")
    for _ in range(2):
        assert call(compiled, cls) == call(run, cls)


def test_a_subclass_check_of_a_tensor_class_runs_as_often_as_in_eager() -> None:
    check_source("""
import torch
class Meta(type(torch.Tensor)):
    def __subclasscheck__(cls, other):
        print("asked")
        return super().__subclasscheck__(other)
class S(torch.Tensor, metaclass=Meta):
    pass
class Holder:
    value = torch.ones(3).as_subclass(S)
def f(x):
    return torch.add(x, Holder.value + 1).sin().tolist()
def args():
    return (torch.ones(3),)
""")


def test_a_module_beside_a_tensor_has_no_override() -> None:
    source = """
import torch
def f(x, module):
    return x + 1, x == module
def args():
    return torch.ones(2), torch.nn.ReLU()
"""
    check_source(source, breaks=0)
