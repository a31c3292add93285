"""`match` statements."""

import dataclasses

import pytest
import torch
from tests.end_to_end.support import check, check_source

X = torch.tensor([-1.5, 0.25, 2.0])


@dataclasses.dataclass
class Point:
    a: object
    b: object = 0


class Slotted:
    __match_args__ = ("u",)

    def __init__(self, u):
        self.u = u


def classify(x, value):
    match value:
        case None | True:
            return x, "singleton"
        case 0 | 1:
            return x, "small"
        case int(n) if n > 100:
            return x * n, "big"
        case int():
            return x, "int"
        case "a" | "b" as letter:
            return x, letter
        case []:
            return x, "empty"
        case [one]:
            return x, ("one", one)
        case [first, *middle, Point(a=last)]:
            return x, (first, middle, last)
        case (1, [y, z]):
            return x + y, z
        case {"k": v, "m": {"n": w}, **rest}:
            return x * v, w, rest
        case {"k": v}:
            return x * v, "k"
        case Point(a, b=0):
            return x, ("point", a)
        case Point(a=Point(a=deep)):
            return x, ("deep", deep)
        case Slotted(u):
            return x, u
        case float(f) | str(f):
            return x, f
        case torch.Tensor():
            return x + value
        case _:
            return x, "other"


VALUES = [None, True, 0, 1, 500, 7, "a", "zz", [], [3], (1, 2, Point(9)), (1, [2, 3]), {"k": 2, "m": {"n": 5}, "q": 1}, {"k": 3},
          {}, Point(4), Point(Point(6), 1), Point(1, 2), Slotted(8), 2.5, X, {1, 2}, range(1), object]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda v: str(v)[:20].partition(" object")[0])
def test_match(value):
    check(classify, X, value)


def test_match_falls_through():
    def f(x, v):
        match v:
            case 5:
                x = x + 1
        return x

    check(f, X, 4, breaks=0)


def test_match_in_a_loop_with_capture():
    def f(x, items):
        for item in items:
            match item:
                case ("add", n):
                    x = x + n
                case ("mul", n):
                    x = x * n
                case _:
                    break
        return x

    check(f, X, [("add", 1), ("mul", 3), "stop", ("add", 9)])


def test_too_many_positional_patterns_raise_like_eager():
    def f(x, v):
        match v:
            case Point(1, 2, 3):
                return x

    check(f, X, Point(1))


CLASSES_WITH_A_METACLASS = """
import abc, collections.abc, enum, torch

class Shape(abc.ABC):
    pass

@Shape.register
class Square:
    __match_args__ = ("side",)

    def __init__(self, side):
        self.side = side

class Color(enum.Enum):
    RED = 1

def ask(value):
    match value:
        case torch.nn.Parameter():
            return "parameter"
        case torch.Tensor(shape=(n, *_)):
            return value * n
        case Color(value=n):
            return n
        case Square(side) if isinstance(value, Shape):
            return ("square", side)
        case Shape():
            return "shape"
        case collections.abc.Mapping():
            return "mapping"
    return "other"

def f(x):
    return ask(x), ask(Color.RED), ask(Square(x)), ask({}), ask(3), ask(torch.nn.Parameter)

def args():
    return (torch.ones(3),)
"""


def test_class_patterns_with_a_metaclass():
    check_source(CLASSES_WITH_A_METACLASS, breaks=0)


NAMES_OF_A_CLASS = """
import torch

class Text(str):
    pass

class C({base}):
    __match_args__ = {names}

c = C()

def f(x):
    match c:
        case C(v):
            return x + 1, v
    return x

def args():
    return (torch.ones(3),)
"""


@pytest.mark.parametrize("base", ["int", "object"])
@pytest.mark.parametrize("names", ["None", "False", "[]", "()", "(3,)", "(Text('real'),)"])
def test_positional_names_that_are_no_tuple_of_names_are_an_error(names, base):
    check_source(NAMES_OF_A_CLASS.format(base=base, names=names))


def test_positional_names_may_be_none_by_the_metaclass():
    program = NAMES_OF_A_CLASS.replace("__match_args__ = {names}", "pass").format(base="int, metaclass=Meta")
    meta = (
        "class Meta(type):\n    def __getattr__(cls, name):\n        return {'__match_args__': None}[name]\n"
    )
    check_source(meta + program)


REGISTERED = """
import collections.abc, torch

class Subject:
    kind = collections.abc.{kind}

    def __len__(self):
        return 2

    def __getitem__(self, place):
        return range(2)[place] if isinstance(place, int) else 5

    def get(self, key, default):
        return 7

class Derived(Subject):
    pass

def f(x, subject):
    match subject:
        case [a, b]:
            return x + a + b, "sequence"
        case {{"k": v}}:
            return x * v, "mapping"
    return x, "neither"

def args():
    return torch.ones(2), {cls}()
"""


def register(x, subject):
    subject.kind.register(type(subject).__mro__[-2])


@pytest.mark.parametrize("cls", ["Subject", "Derived"])
@pytest.mark.parametrize("kind", ["Sequence", "Mapping"])
def test_a_class_that_is_registered_between_calls(kind, cls):
    check_source(REGISTERED.format(kind=kind, cls=cls), change=register)
