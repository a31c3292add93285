"""Operators with an operand that has `__torch_function__`: which method torch asks, in which order, and what CPython does where
all operands decline."""

import operator

import pytest
import torch

from framesmith import frontend

ASKED: list[object] = []


class Asked:
    """Notes the name of what torch asks, and the types of the operands."""

    @classmethod
    def note(cls, func, args):
        ASKED.append((func.__name__, [type(arg).__name__ for arg in args]))


class Tagged(torch.Tensor):
    """Inherits the default override."""


class Noted(torch.Tensor, Asked):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.note(func, args)
        return super().__torch_function__(func, types, args, kwargs)


class Declining(torch.Tensor, Asked):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.note(func, args)
        return NotImplemented


class DecliningInPlace(torch.Tensor, Asked):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.note(func, args)
        if func.__name__.endswith("_") or func.__name__.startswith("__i"):
            return NotImplemented
        return super().__torch_function__(func, types, args, kwargs)


class Failing(torch.Tensor, Asked):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.note(func, args)
        raise TypeError("from the override")


class Reflected(torch.Tensor):
    """Its `__radd__` comes first for `+`, and not for `+=`."""

    def __radd__(self, other):
        return "radd"


class Silent(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


class Scalar(Asked):
    """No tensor; declines, and has some operators of its own."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.note(func, args)
        return NotImplemented

    def __radd__(self, other):
        return "radd"

    def __gt__(self, other):
        return "gt"


CLASSES = (Tagged, Noted, Declining, DecliningInPlace, Failing, Reflected, Silent, Scalar)
IN_PLACE = (
    "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "imatmul", "ipow",
    "ilshift", "irshift", "iand", "ixor", "ior",
)  # fmt: skip
BITS = IN_PLACE[-5:]
OTHERS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "matmul", "pow", "lshift", "and_", "eq", "ne", "lt", "ge",
)  # fmt: skip
METHODS = ("__add__", "__iadd__", "__radd__", "__rsub__", "__eq__", "__and__", "__lshift__")


def make(cls, dtype):
    return torch.full((3,), 2, dtype=dtype).as_subclass(cls) if issubclass(cls, torch.Tensor) else cls()


def show(value):
    if isinstance(value, torch.Tensor):
        with torch._C.DisableTorchFunctionSubclass():
            return type(value).__name__, value.tolist()
    return [show(item) for item in value] if isinstance(value, list | tuple) else value


def compare(function, cls, dtype=torch.float):
    """What a call returns, what became of the operands, and what was asked, eagerly and compiled."""
    compiled = frontend.compile(function, backend="eager")
    for _ in range(2):
        seen = []
        for runs in (function, compiled):
            ASKED.clear()
            x, s = torch.arange(1, 4, dtype=dtype), make(cls, dtype)
            try:
                result = runs(x, s)
            except TypeError as error:
                result = str(error)
            kept = isinstance(result, torch.Tensor) and (result is x, result is s)
            seen.append((show(result), kept, show(x), show(s) if cls is not Scalar else 0, list(ASKED)))
        assert seen[0] == seen[1]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("name", IN_PLACE)
def test_an_operator_in_place_changes_the_left_operand(name, cls):
    operate = getattr(operator, name)
    dtype = torch.int64 if name in BITS else torch.float
    compare(lambda x, s: operate(x, s), cls, dtype)
    compare(lambda x, s: operate(s, x), cls, dtype)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("name", OTHERS)
def test_who_is_asked_by_an_operator_and_in_which_order(name, cls):
    operate = getattr(operator, name)
    dtype = torch.int64 if name in ("lshift", "and_") else torch.float
    for program in (
        lambda x, s: operate(x, s),
        lambda x, s: operate(s, x),
        lambda x, s: operate(s, s),
        lambda x, s: operate(3, s),
    ):
        compare(program, cls, dtype)


@pytest.mark.parametrize("name", METHODS)
def test_the_method_of_an_operator_returns_not_implemented_where_all_decline(name):
    method = getattr(torch.Tensor, name)
    for cls in (Declining, DecliningInPlace, Failing, Noted):
        compare(lambda x, s: method(s, x), cls, torch.int64)


def test_the_object_stays_the_same_over_an_operator_in_place():
    def run(x, s):
        before = x
        x -= s
        with torch._C.DisableTorchFunctionSubclass():
            x *= s
        return before

    for cls in (Tagged, Noted, Silent, Reflected):
        compare(run, cls)


def test_operators_on_tensors_of_unrelated_classes():
    def run(x, s):
        other = x.as_subclass(Tagged)
        try:
            return other + s
        except TypeError as error:
            return str(error)

    for cls in (Noted, Declining, DecliningInPlace, Silent):
        compare(run, cls)
