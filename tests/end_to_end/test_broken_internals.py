"""Programs that delete or replace what classes keep for themselves: they fail, or work, as in eager, and we report no bug."""

import collections
import dataclasses
import enum
import warnings

import pytest
import torch

from framesmith import frontend

EXPRESSIONS = """E.A; E.A is E.B; E.A == E.A; E.A.value if hasattr(E.A, 'value') else 0; E.A.name if hasattr(E.A, 'name') else 0
x + E.A; [E.A, E.B].index(E.B); {E.A: 1}; E(1); E['A']; list(E); str(E.A); f'{E.A}'; E.A | E.B; E.A.nosuch; E.A in E; hash(E.A)
E.A(1); E.A[0]; setattr(E.A, 'value', 3); torch.sum(x, E.A - 1)""".replace("\n", "; ").split("; ")
DELETIONS = [("_name_",), ("_value_",), ("_name_", "_value_"), ("_sort_order_", "__objclass__", "_name_")]


def members(base):
    class E(base):
        A = 1
        B = 2

    return E


def shown(value):
    try:
        return repr(value)
    except AttributeError as error:
        return str(error)


def outcomes(function, *args):
    found = []
    for _ in range(2):
        try:
            found.append([shown(value) for value in function(*args)])
        except Exception as error:
            found.append([type(error).__name__, str(error)])
    return found


@pytest.mark.parametrize("deleted", DELETIONS)
@pytest.mark.parametrize("base", [enum.Enum, enum.IntEnum, enum.Flag, enum.IntFlag])
def test_members_of_enumerations_without_their_fields(base: type, deleted: tuple[str, ...]) -> None:
    for expression in EXPRESSIONS:
        functions = []
        for _ in range(2):
            kind = members(base)
            for name in deleted:
                vars(kind.A).pop(name, None)
            namespace = {"E": kind, "torch": torch}
            exec(f"def f(x):\n y = x + 1\n return y, {expression}", namespace)
            functions.append(namespace["f"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compiled = frontend.compile(functions[1], backend="eager")
            assert outcomes(compiled, torch.ones(2)) == outcomes(functions[0], torch.ones(2)), expression


@dataclasses.dataclass
class Record:
    a: int = 1


OTHERS = {
    "_fields": lambda x, c: (c(1, 2)[0] + x, c(1, 2)._replace(a=3)[0]),
    "_make": lambda x, c: (c(1, 2)[0] + x, c._make([1, 2])),
    "a": lambda x, c: (c(1, 2)[0] + x, c(1, 2).a),
    "__dataclass_fields__": lambda x, c: (c(1).a + x, dataclasses.is_dataclass(c), dataclasses.fields(c)),
    "__eq__": lambda x, c: (c(1).a + x, c(1) == c(1)),
    "_member_map_": lambda x, c: (x + 1, c(1).value, c["A"].value),
    "_value2member_map_": lambda x, c: (x + 1, c(1).value),
    "_member_names_": lambda x, c: (x + 1, len(c), list(c)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_classes_without_their_internals(name: str) -> None:
    def broken():
        kind = {
            "_m": members,
            "_v": members,
            "__": lambda base: dataclasses.make_dataclass("Record", [("a", int, 1)]),
        }.get(name[:2], lambda base: collections.namedtuple("Pair", "a b"))(enum.Enum)
        if name == "_make":
            kind = collections.namedtuple("Pair", "a b")
        type.__delattr__(kind, name)
        return kind

    function = OTHERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = frontend.compile(function, backend="eager")
        assert outcomes(compiled, torch.ones(2), broken()) == outcomes(function, torch.ones(2), broken())


log: list = []


class Watched(dict):
    """Every method that the dictionary protocol knows is written down."""


def watch(name):
    original = getattr(dict, name)

    def method(self, *args):
        log.append((name, *args[:1]))
        return original(self, *args)

    return method


for _name in (
    "__getitem__",
    "__setitem__",
    "__delitem__",
    "__contains__",
    "__iter__",
    "__len__",
    "__eq__",
    "get",
):
    setattr(Watched, _name, watch(_name))
for _name in ("keys", "items", "values", "pop", "setdefault", "update", "copy"):
    setattr(Watched, _name, watch(_name))


class Plain:
    z = 3

    @property
    def twice(self):
        return self.a * 2


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.layer = 2, torch.nn.ReLU()

    def forward(self, x):
        return self.layer(x) * self.a


def store(x, o):
    o.b = 5
    return x + o.b, o.b


def delete(x, o):
    del o.a
    return (x,)


READINGS = {
    "attribute": lambda x, o: (x + o.a,),
    "absent": lambda x, o: (hasattr(o, "a"), hasattr(o, "b"), getattr(o, "c", 1), x + 1),
    "class attribute": lambda x, o: (x + getattr(o, "z", 1),),
    "property": lambda x, o: (x + getattr(o, "twice", 1),),
    "dictionary": lambda x, o: (x + o.__dict__["a"], len(o.__dict__), "a" in vars(o)),
    "call": lambda x, o: (o(x) if callable(o) else x,),
    "store": store,
    "delete": delete,
}


def written(function, o, change):
    lines = []
    for number in range(4):
        if number == change:
            o.__dict__ = Watched(o.__dict__)
        log.clear()
        lines.append((outcomes(function, torch.ones(2), o), list(log)))
    return lines


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("kind", "change"), [(Plain, 0), (Plain, 2), (Model, 0)])
def test_a_dictionary_of_the_users_own_kind_runs_its_code_as_often_as_in_eager(kind, change, reading) -> None:
    def instance():
        o = kind()
        o.a = 2
        return o

    function = READINGS[reading]
    compiled = frontend.compile(function, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert written(compiled, instance(), change) == written(function, instance(), change)
