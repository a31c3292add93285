"""User classes: attributes, methods, descriptors, inheritance, special methods, data classes, enums."""

import collections
import dataclasses
import enum
import functools
import typing

import torch
from tests.end_to_end.support import check, check_source

from framesmith import frontend

X = torch.tensor([-1.5, 0.25, 2.0])


class Base:
    kind = "base"
    shared = 2

    def __init__(self, n):
        self.n = n

    def scale(self, x):
        return x * self.n

    @property
    def twice(self):
        return self.n * 2

    @twice.setter
    def twice(self, value):
        self.n = value // 2

    @classmethod
    def make(cls, n):
        return cls(n + 1)

    @staticmethod
    def plus(x, y):
        return x + y

    def __repr__(self):
        return f"{type(self).__name__}({self.n})"


class Child(Base):
    kind = "child"

    def __init__(self, n, m=3):
        super().__init__(n)
        self.m = m

    def scale(self, x):
        return super().scale(x) + self.m


class Vector:
    def __init__(self, *items):
        self.items = list(items)

    def __add__(self, other):
        return Vector(*[a + b for a, b in zip(self.items, other.items)])

    def __radd__(self, other):
        return Vector(*[other + a for a in self.items])

    def __iadd__(self, other):
        self.items = [a + other for a in self.items]
        return self

    def __mul__(self, other):
        return NotImplemented if isinstance(other, str) else Vector(*[a * other for a in self.items])

    def __neg__(self):
        return Vector(*[-a for a in self.items])

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]

    def __setitem__(self, index, value):
        self.items[index] = value

    def __delitem__(self, index):
        del self.items[index]

    def __contains__(self, value):
        return any(value is item for item in self.items)

    def __iter__(self):
        return iter(self.items)

    def __bool__(self):
        return bool(self.items)

    def __eq__(self, other):
        return isinstance(other, Vector) and len(self) == len(other)

    def __lt__(self, other):
        return len(self) < len(other)

    def __hash__(self):
        return 7

    def __call__(self, x):
        return sum(self.items) * x


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class Logged:
    def __init__(self):
        object.__setattr__(self, "log", [])

    def __setattr__(self, name, value):
        self.log.append(name)
        object.__setattr__(self, name, value)

    def __getattr__(self, name):
        if name.startswith("auto_"):
            return len(name)
        raise AttributeError(name)


class Typed:
    """A data descriptor."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.name) * 2

    def __set__(self, instance, value):
        setattr(instance, self.name, value + 1)


class Described:
    field = Typed()


class Meta(type):
    @property
    def label(cls):
        return cls.__name__.lower()

    def __len__(cls):
        return 3

    def __call__(cls, *args):
        made = super().__call__(*args)
        made.via = "meta"
        return made


class NewObject(metaclass=Meta):
    def __init__(self, n):
        self.n = n


class Singleton:
    def __new__(cls, n):
        self = super().__new__(cls)
        self.fresh = True
        return self

    def __init__(self, n):
        self.n = n


@dataclasses.dataclass
class Pair:
    a: torch.Tensor
    b: int = 3
    c: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.c.append(self.b)


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Frozen:
    a: int
    b: int = 2


class Color(enum.Enum):
    RED = 1
    BLUE = 2

    def weight(self):
        return self.value * 10


class Flags(enum.Flag):
    A = 1
    B = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


Point = collections.namedtuple("Point", "x y", defaults=[5])


class Typing(typing.NamedTuple):
    x: torch.Tensor
    n: int = 2

    def total(self):
        return self.x * self.n


def test_instance_made_inside():
    check(lambda x: (Base(2).scale(x), Child(3).scale(x)), X, graphs=1, breaks=0)


def test_instance_is_returned():
    check(lambda x: (Base(x + 1), Child(3)), X, breaks=0)


def test_argument_instance_is_changed():
    def f(x, obj):
        obj.n += 1
        obj.new = x * obj.n
        return obj.scale(x), obj

    check(f, X, Base(2), calls=4)


def test_argument_instance_is_guarded():
    check(lambda x, obj: x * obj.n, X, Base(2), change=lambda x, obj: setattr(obj, "n", obj.n + 1.5))


def test_attribute_of_instance_shadows_class_attribute():
    check(
        lambda x, obj: (x * obj.shared, obj.kind),
        X,
        Base(2),
        change=lambda x, obj: setattr(obj, "shared", 9),
        breaks=0,
    )


def test_attribute_is_deleted():
    def f(x, obj):
        del obj.n
        r = hasattr(obj, "n"), getattr(obj, "n", 5), x + 1
        obj.n = 4
        return r

    check(f, X, Base(2), breaks=0)


def test_missing_attribute_raises_like_eager():
    check(lambda x, obj: x + obj.nothing, X, Base(2))
    check(lambda x: Base.nothing, X)


def test_property_read_and_written():
    def f(x, obj):
        obj.twice = 10
        return x * obj.twice, obj.n

    check(f, X, Base(2), breaks=0)


def test_property_without_setter_raises_like_eager():
    class A:
        @property
        def p(self):
            return 1

    def f(x, a):
        a.p = 3

    check(f, X, A())


def test_class_and_static_methods():
    check(
        lambda x, c: (Base.make(2).n * x, c.make(3).n, Child.plus(x, 1), c.plus(x, 2)), X, Child(1), breaks=0
    )


def test_bound_method_as_a_value():
    def f(x, obj):
        m = obj.scale
        return m(x), m.__self__ is obj, m.__func__ is Base.scale, m.__name__

    check(f, X, Base(2), breaks=0)


def test_bound_method_is_returned():
    check(lambda x, obj: (obj.scale, x + 1), X, Base(2))


def test_super_in_class_and_static_contexts():
    class A:
        @classmethod
        def make(cls, n):
            return n

        def __getattr__(self, name):
            return 4

    class B(A):
        @classmethod
        def make(cls, n):
            return super().make(n) + 1

        def explicit(self, n):
            return super(B, self).make(n) + super(B, B).make(n)

    check(lambda x: x * B.make(2) + B().explicit(3), X, breaks=0)


def test_diamond_inheritance():
    class A:
        def go(self, x):
            return x + 1

    class B(A):
        def go(self, x):
            return super().go(x) * 2

    class C(A):
        def go(self, x):
            return super().go(x) - 5

    class D(B, C):
        def go(self, x):
            return super().go(x) * 3

    check(lambda x: (D().go(x), [k.__name__ for k in D.__mro__]), X, breaks=0)


def test_operator_methods():
    check(lambda x: (Vector(x, 1) + Vector(x, 2)).items, X, breaks=0)
    check(lambda x: (3 + Vector(x, 1)).items + (Vector(x) * 2).items + (-Vector(x)).items, X, breaks=0)


def test_not_implemented_raises_like_eager():
    check(lambda x: Vector(x) * "a", X)
    check(lambda x: Vector(x) - 1, X)


def test_in_place_operator_method_keeps_identity():
    def f(x, v):
        w = v
        w += 1
        return w is v, w

    check(f, X, Vector(X, 2.0), breaks=0)


def test_container_methods():
    def f(x, v):
        v[0] = x * 2
        del v[1]
        return len(v), x in v, v[0], [i for i in v], bool(v), list(v), v(x)

    check(f, X, Vector(X, 2.0, 3.0))


def test_comparison_methods():
    check(
        lambda x, v: (v == Vector(1, 2), v != Vector(), v < Vector(1, 2, 3), v > Vector(), hash(v), x),
        X,
        Vector(1, 2),
    )


def test_user_hash_in_a_dict():
    def f(x):
        d = {Vector(1): x}
        d[Vector(5)] = x * 2
        return len(d), d[Vector(9)]

    check(f, X)


def test_truth_falls_back_to_length():
    class Sized:
        def __init__(self, n):
            self.n = n

        def __len__(self):
            return self.n

    check(lambda x: (x + 1 if Sized(0) else x + 2, not Sized(3)), X, breaks=0)


def test_slots():
    def f(x, s):
        s.b = s.a * 2
        t = Slotted(x)
        return t.a + 1, s.b, hasattr(t, "b"), t

    check(f, X, Slotted(X))


def test_slot_unset_raises_like_eager():
    check(lambda x: Slotted(x).b, X)


def test_setattr_override_and_getattr_fallback():
    def f(x, obj):
        obj.a = x
        obj.b = obj.auto_xyz
        return obj.a * obj.b, obj.log

    check(f, X, Logged())


def test_getattr_override_that_raises():
    check(lambda x, obj: (hasattr(obj, "zz"), getattr(obj, "zz", 3), x + obj.auto_), X, Logged())
    check(lambda x, obj: obj.zz, X, Logged())


def test_getattribute_override():
    class Odd:
        def __init__(self):
            self.real = 3

        def __getattribute__(self, name):
            if name == "fake":
                return 7
            return object.__getattribute__(self, name)

    check(lambda x, o: (x * o.fake, x * o.real), X, Odd())


def test_data_descriptor():
    def f(x, d):
        d.field = 4
        return x * d.field, d._field

    check(f, X, Described())


def test_non_data_descriptor_is_shadowed():
    class Get:
        def __get__(self, instance, owner):
            return 5

    class A:
        g = Get()

    def f(x, a):
        before = a.g
        a.__dict__["g"] = 8
        return x * a.g, before, A.g

    check(f, X, A())


def test_metaclass():
    check(
        lambda x: (
            NewObject.label,
            len(NewObject),
            NewObject(3).via,
            type(NewObject) is Meta,
            x + NewObject(2).n,
        ),
        X,
    )


def test_new_and_init():
    check(lambda x: (Singleton(3).fresh, Singleton(3).n * x, Singleton(x)), X)


def test_cached_property():
    class A:
        count = 0

        @functools.cached_property
        def value(self):
            self.count += 1
            return self.count * 2

    check(lambda x, a: (x * a.value, a.value, a.count, "value" in a.__dict__), X, A())


def test_class_made_inside():
    def f(x):
        class Local(Base):
            extra: int = 4

            def scale(self, y):
                return super().scale(y) * self.extra

        return Local(2).scale(x), Local.__name__, Local.__mro__[1] is Base

    check(f, X)


def test_class_attribute_changed_between_calls_is_noticed():
    check_source("""
import torch
class A:
    k = 2
    def go(self, x): return x * self.k
def f(x, a):
    r = a.go(x)
    A.k += 1
    return r, A.k
def args(): return torch.ones(3), A()
""")


def test_method_replaced_between_calls_is_noticed():
    check_source(
        """
import torch
class A:
    def go(self, x): return x * 2
def other(self, x): return x - 7
def f(x, a): return a.go(x)
def swap(x, a):
    type(a).go = lambda self, x: x - 7
def args(): return torch.ones(3), A()
""",
        change=lambda x, a: setattr(type(a), "go", lambda self, y: y - 7),
    )


def test_class_of_an_instance_changed_between_calls_is_noticed():
    check(
        lambda x, a: a.scale(x),
        X,
        Base(2),
        change=lambda x, a: (setattr(a, "m", 5), setattr(a, "__class__", Child)),
    )


def test_dataclass():
    def f(x, p):
        q = Pair(x, 4)
        p.c.append(1)
        r = dataclasses.replace(q, b=7)
        return q.a * q.b, r, p, [field.name for field in dataclasses.fields(p)], dataclasses.is_dataclass(q)

    check(f, X, Pair(X))


def test_dataclass_equality_and_order():
    check(
        lambda x: (
            Frozen(1) == Frozen(1),
            Frozen(1) < Frozen(2),
            hash(Frozen(1)) == hash(Frozen(1)),
            x + Frozen(3).b,
        ),
        X,
    )


def test_frozen_dataclass_raises_like_eager():
    def f(x, p):
        p.a = 3

    check(f, X, Frozen(1))


def test_dataclass_as_dict():
    check(lambda x, p: (dataclasses.asdict(p), dataclasses.astuple(p), x + p.a), X, Frozen(1))


def test_dataclass_repr():
    check(lambda x, p: (repr(p), str(p), x), X, Frozen(4))


def test_enum_members():
    def f(x, c):
        return (
            x * c.value + c.weight(),
            c is Color.RED,
            c.name,
            Color(2) is Color.BLUE,
            Color["RED"],
            len(Color),
            list(Color),
        )

    check(f, X, Color.RED)


def test_enum_argument_is_guarded():
    check(
        lambda x, box: x + 1 if box[0] is Color.RED else x - 1,
        X,
        [Color.RED],
        change=lambda x, b: b.__setitem__(0, Color.BLUE),
    )


def test_flags_and_int_enums():
    check(
        lambda x, f: (
            f | Flags.B,
            Flags.A in f,
            x * Level.HIGH,
            Level.LOW < Level.HIGH,
            Level.HIGH + 1,
            bool(f & Flags.B),
        ),
        X,
        Flags.A,
    )


def test_unknown_enum_member_raises_like_eager():
    check(lambda x: Color(9), X)


def test_namedtuple():
    def f(x, p):
        a, b = p
        q = p._replace(y=x)
        return Point(x), p.x * 2 + b, q, p._fields, p._asdict(), q[1], len(p), Point._make([x, 1])

    check(f, X, Point(X, 2.0))


def test_typed_namedtuple():
    check(lambda x, t: (t.total(), Typing(x).total(), Typing(x, 5), t), X, Typing(X))


def test_isinstance_and_issubclass():
    check(
        lambda x, c: (
            isinstance(c, Base),
            isinstance(c, (int, Child)),
            isinstance(c, int | Base),
            issubclass(Child, Base),
            type(c) is Child,
            isinstance(x, torch.Tensor),
            isinstance(3, float),
            x,
        ),
        X,
        Child(1),
        breaks=0,
    )


def test_instance_check_override():
    class Always(type):
        def __instancecheck__(cls, value):
            return value == 3

    class A(metaclass=Always): ...

    check(lambda x: (isinstance(3, A), isinstance(4, A), x), X)


def test_abstract_class_raises_like_eager():
    import abc

    class A(abc.ABC):
        @abc.abstractmethod
        def go(self): ...

    check(lambda x: A(), X)


def test_vars_dir_and_setattr():
    def f(x, obj):
        setattr(obj, "k", x)
        delattr(obj, "n")
        return vars(obj), getattr(obj, "k") * 2, "scale" in dir(obj)

    check(f, X, Base(2), calls=1)


def test_str_and_repr_of_user_objects():
    check(lambda x, b: (repr(b), str(b), f"{b} {b!r}", "%s" % b, x), X, Child(2))


def test_context_of_partial_methods():
    class A:
        def power(self, x, n):
            return x**n

        square = functools.partialmethod(power, n=2)

    check(lambda x, a: a.square(x), X, A())


def test_total_ordering():
    @functools.total_ordering
    class V:
        def __init__(self, n):
            self.n = n

        def __eq__(self, o):
            return self.n == o.n

        def __lt__(self, o):
            return self.n < o.n

    check(lambda x: (V(1) <= V(2), V(3) >= V(4), V(1) > V(0), max(V(1), V(4)).n * x), X)


def test_generic_class():
    T = typing.TypeVar("T")

    class Box(typing.Generic[T]):
        def __init__(self, v: T):
            self.v = v

    check(lambda x: (Box(x).v * 2, Box[int](3).v), X)


def test_object_identity_of_attributes():
    def f(x, a, b):
        a.child = b
        b.parent = a
        return a.child is b, a.child.parent is a, a

    check(f, X, Base(1), Base(2))


NATIVE_ATTRIBUTE_HOOKS = """
import torch

class Config(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__

class Lenient(dict):
    __getattr__ = dict.get

config = Config(a=1, b=Config(c=2))

def f(x):
    config.a = config.a + 1
    new = Config()
    new.scale = x
    new.gone = 3
    del new.gone
    try:
        new.gone
    except KeyError as error:
        text = str(error)
    return x * config.b.c + config.a, dict(new), Lenient(k=1).k, Lenient().absent, text

def args():
    return (torch.ones(3),)
"""


def test_attributes_that_are_items():
    check_source(NATIVE_ATTRIBUTE_HOOKS, breaks=0)


FUNCTIONS_BOUND_BY_HAND = """
import functools, torch

class Kind:
    def multiply(self, a, b=1):
        return a * b

    double = functools.partialmethod(multiply, b=2)

    @functools.singledispatchmethod
    def ask(self, value):
        return "other"

    @ask.register
    def _(self, value: int):
        return value + 1

kind = Kind()

def f(x):
    return kind.double(x), Kind().double(3), kind.ask(1), kind.ask("a"), Kind.multiply.__get__(kind)(x, 4)

def args():
    return (torch.ones(3),)
"""


def test_functions_bound_by_hand():
    check_source(FUNCTIONS_BOUND_BY_HAND)


def test_attribute_errors_are_shown():
    @dataclasses.dataclass(frozen=True)
    class Frozen:
        x: int

    def f(x):
        texts = []
        try:
            Frozen(1).x = 2
        except dataclasses.FrozenInstanceError as error:
            texts.append(str(error))
        try:
            x.absent
        except AttributeError as error:
            texts.append(f"{error}")
        return x * 2, texts

    check(f, torch.ones(3), breaks=0)


SLOTS_EMPTIED = """
import torch

class Slots:
    __slots__ = ("a", "b")

old = Slots()

def f(x):
    new = Slots()
    new.a, new.b = x, 1
    del new.b
    old.a, old.b = x * 2, 2
    del old.b
    return new, hasattr(old, "b"), old.a

def args():
    return (torch.ones(3),)
"""


def test_a_slot_that_is_filled_and_emptied_again():
    check_source(SLOTS_EMPTIED, breaks=0)


def test_operators_of_the_user_that_decline_or_break():
    class Left:
        def __init__(self, x):
            self.x = x

        def __add__(self, other):
            print("add")
            return NotImplemented

        def __iadd__(self, other):
            self.x = self.x + other
            print("iadd")
            return self

        def __mul__(self, other):
            print("mul")
            return NotImplemented

    class Right:
        def __radd__(self, other):
            print("radd")
            return other.x * 2

    class Closer(Left):
        def __radd__(self, other):
            return other.x * 5

    def f(x):
        left = Left(x)
        found = [left + Right(), left + Closer(x)]
        left += 3
        for other in (1, "s", [1], x, left, None):
            for symbol in "+*":
                try:
                    found.append(left + other if symbol == "+" else left * other)
                except TypeError as error:
                    found.append(str(error))
        return found, left.x

    check(f, X)


def test_key_functions_of_the_user_that_break():
    def f(x, log):
        def key(n):
            nonlocal x
            x = x + n
            print("key", n)
            return -n

        log.append(sorted([1, 3, 2], key=key))
        log.append(
            [min([1, 3], key=key), max((1, 3), key=key), min(2, 1, key=key), max([], key=key, default=x)]
        )
        try:
            min([], key=key)
        except ValueError as error:
            log.append(str(error))
        return x, max(iter([x, x + 1]), key=lambda t: float(t.sum()))

    check(f, X, [])


NAMED_TUPLES_WITH_ATTRIBUTES = """
import collections, typing, torch
class Step(collections.namedtuple("Step", "state action reward")):
    def total(self): return self.state.sum() + self.reward
    @property
    def double(self): return self.reward * 2
class Sub(Step):
    def __new__(cls, state, reward=1): return super().__new__(cls, state, None, reward)
old = Step(torch.ones(3), 1, 2)
def f(x):
    s = Step(x, 1, 2.0); t = s._replace(action=5); u = Sub(x)
    s.note = "n"
    a, b, c = t
    return s.total(), s.double, t.action, s.state, u.reward, u, s, old.reward * x, old.total(), t[1:], s._asdict(), s == Step(x, 1, 2.0), a * c, s.note, Step._fields, Step._make([x, 1, 2]), old[0], len(old), isinstance(u, tuple), hasattr(s, "zz")
def args(): return (torch.ones(3),)
"""


def test_named_tuples_with_attributes_of_their_own():
    check_source(NAMED_TUPLES_WITH_ATTRIBUTES, graphs=1, breaks=0)


class Closes:
    def m(self, x):
        return x * 2

    def close(self):
        return "closed"


class AsksClosing(Closes):
    def m(self, x):
        def me():
            return self

        print(sorted(locals().keys()))
        parent = super()
        return super().m(x), parent.m(x + 1), me() is self

    def fails(self, x, log):
        try:
            raise ValueError(x.shape[0])
        finally:
            log.append(super().close())


def test_super_in_a_frame_that_goes_on_natively():
    check(lambda x: AsksClosing().m(x), X)
    check(lambda x, log: AsksClosing().fails(x, log), X, [])


def test_the_class_of_classes_is_subscripted_without_a_method():
    def aliases():
        found = []
        for kind in (type, list, int):
            try:
                found.append(repr(kind[int]))
            except TypeError as error:
                found.append(str(error))
        return found

    check(aliases)


def test_a_class_of_members_that_becomes_a_descriptor():
    """fx writes a member as `Class.NAME`, which gives something else then."""

    class Level(enum.IntEnum):
        LOW = 1
        HIGH = 3

    def function(level, x):
        return x * level, level > Level.LOW

    compiled, x = frontend.compile(function, backend="eager"), torch.ones(2)
    for _ in range(2):
        for _ in range(2):
            expected, found = function(list(Level)[1], x), compiled(list(Level)[1], x)
            assert torch.equal(found[0], expected[0]) and found[1] is expected[1]
        Level.__get__ = lambda self, instance, owner=None: 12
