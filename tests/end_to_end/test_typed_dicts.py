"""`TypedDict` classes: calling one makes a plain dict, since the metaclass has the class `dict` as its `__call__`."""

from tests.end_to_end.support import check_source

CLASSES = """
import collections, functools
from typing import NotRequired, TypedDict, Unpack
class Message(TypedDict, total=False):
    name: str
    value: object
class Longer(Message):
    more: NotRequired[int]
Functional = TypedDict("Functional", {"a b": int})
"""


def test_a_call_makes_a_plain_dict() -> None:
    check_source(
        CLASSES
        + """
def make(**given: Unpack[Message]):
    return Message(**given)
def f(x):
    message = Message(name="a", value=x + 1)
    message["name"] += "b"
    longer = Longer(message, more=3)
    return message, longer, Functional({"a b": 2}), Message(), Message([("name", "c")]), make(value=x), type(longer) is dict
def args():
    return (torch.ones(2),)
import torch
""",
        breaks=0,
        graphs=1,
    )


def test_the_errors_are_those_of_dict() -> None:
    check_source(
        CLASSES
        + """
def f(x):
    texts = []
    for arguments in ((1,), ({}, {}), ([1],)):
        try: Message(*arguments)
        except (TypeError, ValueError) as error: texts.append((type(error), str(error)))
    try: isinstance({}, Message)
    except TypeError as error: texts.append(str(error))
    return x, texts
def args():
    return (1,)
""",
    )


def test_other_metaclasses_with_a_class_as_call() -> None:
    check_source(
        """
class Kept:
    def __init__(self, *items, **named): self.items, self.named = items, named
class Meta(type):
    __call__ = Kept
class Counted(metaclass=Meta):
    def __init__(self): raise AssertionError
class Described(type):
    def __get__(cls, owner, kind): return lambda *items: ("bound", owner, items)
class Plain(metaclass=Described): pass
class Other(type):
    __call__ = Plain
class Told(metaclass=Other): pass
class Partly(type):
    __call__ = list
class Sequence(metaclass=Partly): pass
def f(x):
    kept = Counted(x, n=2)
    return kept.items, kept.named, type(kept), Told(x), Sequence((x, 1))
def args():
    return (1,)
""",
    )


def test_a_class_with_a_row_gets_no_receiver() -> None:
    check_source(
        CLASSES
        + """
from typing import Generic, TypeVar
T = TypeVar("T")
class Site(TypedDict, Generic[T], total=False):
    value: T
class Named(type):
    __call__ = dict
class Plain(metaclass=Named): pass
class Listed(type):
    __call__ = list
class Row(metaclass=Listed): pass
def f(x, kind):
    return Plain(a=x), Plain([("b", x + 1)], c=2), Plain(), Row((x, 1)), Row(), Site(value=x), Site({"value": 1}), kind([("d", x)])
def args():
    return (torch.ones(2), Message)
import torch
""",
        breaks=0,
        graphs=1,
    )
