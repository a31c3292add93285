"""Classes as values: attributes, calls, metaclasses, stores; builtin bases, enumerations, dataclasses, typing."""

import collections
import dataclasses
import enum
import typing
from abc import ABC, abstractmethod
from types import SimpleNamespace

import pytest
from support_objects import Trace, check

from framesmith.graph import GraphBreak


class Meta(type):
    registry = []

    @property
    def label(cls):
        return "label " + cls.__name__

    def __call__(cls, *args, **kwargs):
        instance = super().__call__(*args, **kwargs)
        instance.from_meta = True
        return instance

    def __len__(cls):
        return 3

    def __getitem__(cls, key):
        return (cls, key)


class NewObject(metaclass=Meta):
    def __init__(self, a):
        self.a = a


class Base:
    counter = 0
    shared = [1]

    def __new__(cls, *args, **kwargs):
        instance = super().__new__(cls)
        instance.made = cls.__name__
        return instance

    def __init__(self, a, b=1):
        self.a, self.b = a, b

    @classmethod
    def create(cls, a):
        cls.counter += 1
        return cls(a)

    @staticmethod
    def helper(x):
        return x * 2

    def method(self):
        return self.a


class Derived(Base):
    extra = "e"

    @classmethod
    def create(cls, a):
        made = super().create(a)
        made.derived = True
        return made


class Replaced:
    def __new__(cls):
        return 5


class MyList(list):
    def __init__(self, items=()):
        super().__init__(items)
        self.note = "n"

    def append(self, item):
        super().append(item * 2)

    def last(self):
        return self[-1]


class Loud(list):
    def __getitem__(self, index):
        return ("loud", list.__getitem__(self, index))

    def __len__(self):
        return 100


class MyDict(dict):
    def __missing__(self, key):
        return "missing " + key

    def __setitem__(self, key, value):
        super().__setitem__(key, ("set", value))


class MyTuple(tuple):
    def second(self):
        return self[1]


class MyStr(str):
    def shout(self):
        return self.upper() + "!"


class MyInt(int):
    def half(self):
        return self // 2


class MyOrdered(collections.OrderedDict):
    pass


Pair = collections.namedtuple("Pair", "x y")


class Triple(typing.NamedTuple):
    a: int
    b: int
    c: int = 7

    def total(self):
        return self.a + self.b + self.c


class Color(enum.Enum):
    RED = 1
    GREEN = 2

    @property
    def pretty(self):
        return self.name.lower()

    def mixed(self, other):
        return self.value + other.value


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Data:
    a: int
    b: int = 2
    c: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int
    b: str = "b"

    def __post_init__(self):
        object.__setattr__(self, "b", self.b + "!")


@dataclasses.dataclass(slots=True, order=True)
class Ordered:
    a: int
    b: int


class Shape(ABC):
    @abstractmethod
    def area(self): ...


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side**2


T = typing.TypeVar("T")


class Box(typing.Generic[T]):
    def __init__(self, item):
        self.item = item


def class_attributes():
    return (
        Base.counter,
        Derived.extra,
        Base.helper(3),
        Derived.__name__,
        Base.shared is Derived.shared,
        Base.method,
    )


def class_missing():
    return Base.nothing


def calls():
    made = Derived.create(4)
    return made, Base(1, b=3), type(made) is Derived, Base.method(made), Replaced()


def metaclass():
    made = NewObject(3)
    return made, NewObject.label, NewObject.registry is Meta.registry, len(NewObject), NewObject["k"][1]


def counter():
    Base.counter += 1
    Base.fresh = "f"
    answer = Derived.counter, Base(1).counter, Base.fresh, Derived.fresh
    del Base.fresh
    Base.counter = 0
    return answer, hasattr(Base, "fresh")


def lists():
    made = MyList([1, 2])
    made.append(5)
    made[0] = 9
    made.extend([7])
    return (
        made,
        made.last(),
        len(made),
        7 in made,
        [1] + made,
        made + [1],
        made == [9, 2, 10, 7],
        list(made),
        made.note,
    )


def existing_list(items):
    items.append(4)
    items.more = len(items)
    items[0] = 50
    items += [6]
    return items[0], items.last(), [x for x in items]


def loud(items):
    return items[0], len(items), list(items), items.__class__ is Loud


def dicts(d):
    d["new"] = 1
    made = MyDict(a=1)
    made["b"] = 2
    return d["none"], d.get("none"), d["new"], made, list(made), made == {"a": 1, "b": ("set", 2)}, len(d)


def immutables(t, s, n):
    return (
        t.second(),
        t[0],
        t + (1,),
        len(t),
        s.shout(),
        s + "x",
        n.half(),
        n + 1,
        MyTuple([1, 2]).second(),
        MyStr("ab").shout(),
        MyInt(8).half(),
        MyTuple([3, 4]),
        MyStr("z"),
        MyInt(9),
        t == (1, 2),
        s == "hey",
        {s: 1}["hey"],
    )


def ordered(d):
    d["z"] = 1
    made = MyOrdered()
    made["q"] = 2
    return list(d), made


def named():
    p = Pair(1, y=2)
    t = Triple(1, 2)
    return p, p.x, p._replace(x=5), t.total(), t, tuple(p), p == (1, 2), Pair._fields


def enums():
    members = [c.name for c in Color]
    return (
        Color(1),
        Color["GREEN"],
        members,
        Color.RED.value,
        Color.RED.pretty,
        Color.RED.mixed(Color.GREEN),
        len(Color),
        Color.RED is Color(1),
        Color.RED == Color.GREEN,
        isinstance(Color.RED, Color),
        Level.LOW < Level.HIGH,
        Level.HIGH + 1,
        {Color.RED: 3}[Color.RED],
        Color.RED in Color,
    )


def enum_missing():
    return Color(9)


def data(d):
    d.a += 1
    made = Data(1, c=[4])
    again = dataclasses.replace(made, a=9)
    return made, d, made == Data(1, c=[4]), again, [f.name for f in dataclasses.fields(d)], made != d


def frozen():
    f = Frozen(1)
    return f, f == Frozen(1), {Frozen(2): "k"}[Frozen(2)]


def frozen_store():
    f = Frozen(1)
    f.a = 2


def order():
    return (
        Ordered(1, 2) < Ordered(1, 3),
        Ordered(1, 2),
        sorted([Ordered(2, 1), Ordered(1, 5)], key=lambda o: o.a)[0].b,
    )


def abstract():
    s = Square(3)
    return (
        s.area(),
        isinstance(s, Shape),
        issubclass(Square, Shape),
        isinstance(3, Shape),
        isinstance([], collections.abc.Sequence),
    )


def generic():
    b = Box[int](3)
    return b.item, b, isinstance(b, Box), typing.List[int], list[int] == list[int], int | None


def questions(x):
    return (
        isinstance(x, Base),
        isinstance(x, (int, Base)),
        isinstance(x, int | Base),
        type(x) is Base,
        callable(x),
        callable(Base),
        issubclass(Derived, Base),
        issubclass(Derived, (int, str)),
        x.__class__ is type(x),
        isinstance(x, object),
        isinstance(Base, type),
    )


def namespaces():
    n = SimpleNamespace(a=1, b=[2])
    n.c = n.a + 1
    return n, n == SimpleNamespace(a=1, b=[2], c=2), n.b


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (class_attributes, tuple), (class_missing, tuple), (calls, tuple), (metaclass, tuple), (counter, tuple), (lists, tuple),
        (existing_list, lambda: (MyList([1, 2]),)), (loud, lambda: (Loud([1, 2]),)), (dicts, lambda: (MyDict(x=1),)),
        (immutables, lambda: (MyTuple((1, 2)), MyStr("hey"), MyInt(7))), (ordered, lambda: (MyOrdered(a=1),)), (named, tuple),
        (enums, tuple), (enum_missing, tuple), (data, lambda: (Data(5),)), (frozen, tuple), (frozen_store, tuple), (order, tuple),
        (abstract, tuple), (generic, tuple), (questions, lambda: (Base(1),)), (questions, lambda: (Derived(1),)), (namespaces, tuple),
    ],
)  # fmt: skip
def test_classes_behave_as_in_eager(function, make):
    Base.counter = 0
    check(function, make)


def test_class_attributes_that_change_are_noticed():
    class Parent:
        counter = 0

    class Sub(Parent):
        pass

    trace = Trace()
    trace.start(lambda cls: cls.counter + 1, {"cls": Sub})
    assert trace.failing_guards() == []
    Parent.counter = 5
    assert trace.failing_guards() != []
    Parent.counter = 0
    assert trace.failing_guards() == []
    Sub.counter = 0
    assert trace.failing_guards() != []


def test_making_a_class_breaks_the_graph():
    with pytest.raises(GraphBreak):
        Trace().start(lambda: type("New", (), {}), {})


def test_abstract_classes_are_left_to_eager():
    with pytest.raises(GraphBreak):
        Trace().start(lambda: Shape(), {})


def test_a_later_registration_with_an_abstract_class_is_noticed():
    class Later:
        pass

    class Kind(ABC):
        pass

    trace = Trace()
    outcome = trace.start(lambda o: (isinstance(o, Kind), callable(o)), {"o": Later()})
    assert trace.finish(outcome) == (False, False) and trace.failing_guards() == []
    Kind.register(Later)
    assert trace.failing_guards() != []
