"""Mutations of what has behaviour: instances, classes, functions, modules of torch and their hooks."""

import copy
import enum
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
from tests.perturbation.locations import Attribute, Location, Mutation, Undo, addition, deletion, replacement
from tests.perturbation.walk import MINE, is_mine


def mine(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function look as if the program had defined it."""
    function.__module__ = MINE
    return function


SPECIAL: dict[str, Callable[..., Any]] = {
    "__len__": lambda self: 0,
    "__bool__": lambda self: False,
    "__getattr__": lambda self, name: _no_dunder(name),
    "__eq__": lambda self, other: True,
    "__ne__": lambda self, other: True,
    "__call__": lambda self, *args, **kwargs: 5,
    "__iter__": lambda self: iter((1, 2)),
    "__contains__": lambda self, item: True,
    "__getitem__": lambda self, key: 6 if key in (0, "a") else _stop(),
    "__repr__": lambda self: "<repr of mine>",
    "__str__": lambda self: "<str of mine>",
    "__format__": lambda self, text: "<format of mine>",
    "__hash__": lambda self: 3,
    "__add__": lambda self, other: 8,
    "__radd__": lambda self, other: 9,
    "__mul__": lambda self, other: 10,
    "__rmul__": lambda self, other: 10,
    "__lt__": lambda self, other: True,
    "__index__": lambda self: 1,
    "__float__": lambda self: 1.5,
    "__enter__": lambda self: self,
    "__exit__": lambda self, *rest: True,
    "__set__": lambda self, instance, value: None,
    "__get__": lambda self, instance, owner=None: 12,
    "__setattr__": lambda self, name, value: object.__setattr__(self, name, value),
    "__getattribute__": lambda self, name: object.__getattribute__(self, name),
    "__delattr__": lambda self, name: object.__delattr__(self, name),
}
"""Special methods that can be added to a class after a trace found them absent."""


def _no_dunder(name: str) -> int:
    if name.startswith("__"):
        raise AttributeError(name)
    return 5


def _stop() -> Any:
    raise IndexError("no more")


def for_class(kind: type, names: list[str]) -> Iterator[Mutation]:
    """Special methods added, names added, another base, a property over an attribute."""
    for name, function in SPECIAL.items():
        if name not in vars(kind) and not (name == "__setattr__" and issubclass(kind, torch.nn.Module)):
            yield addition(f"add {name}", Attribute(kind, name), lambda f=function: _fresh(f))
    for name in names:
        if not name.startswith("__") and not hasattr(kind, name):
            yield addition(f"add {name}", Attribute(kind, name), lambda: 4)
            yield addition(f"add property {name}", Attribute(kind, name), lambda: property(lambda self: 3))
    yield Mutation("another base", lambda: _rebase(kind, {}))
    yield Mutation("another base with names", lambda: _rebase(kind, {name: 11 for name in vars(kind)}))


def _fresh(function: Callable[..., Any]) -> Callable[..., Any]:
    return mine(
        types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    )


def _rebase(kind: type, members: dict[str, Any]) -> Undo:
    before = kind.__bases__
    own = {name: value for name, value in members.items() if not name.startswith("__")}
    middle = type("Middle", before, {"__module__": MINE, **own})
    kind.__bases__ = (middle,)

    def undo() -> None:
        kind.__bases__ = before

    return undo


def for_instance(location: Location, value: Any, names: list[str]) -> Iterator[Mutation]:
    """Attributes shadowed, added; the object copied; its class replaced by a subclass."""
    kind = type(value)
    if isinstance(value, enum.Enum) and not is_mine(kind):
        return  # a member of the library's: both worlds have the same
    if is_mine(kind):
        for name in [one for base in kind.__mro__ if is_mine(base) for one in vars(base)]:
            if name not in getattr(value, "__dict__", {}) and (name in names or name.startswith("__")):
                if name not in ("__module__", "__doc__", "__dict__", "__weakref__"):
                    yield addition(
                        f"shadow {name}", Attribute(value, name), lambda name=name: _shadow(kind, name)
                    )
        yield Mutation("class to a subclass", lambda: _reclass(value, {}))
        yield Mutation("class to an empty one", lambda: _reclass(value, {"__len__": SPECIAL["__len__"]}))
    for name in names:
        if not name.startswith("__") and not hasattr(value, name):
            yield addition(f"add {name}", Attribute(value, name), lambda: 4)
    yield addition("add extra attribute", Attribute(value, "extra_attribute"), lambda: 4)
    yield replacement("copy", location, copy.copy)
    if isinstance(value, torch.nn.Module):
        yield from for_module(location, value)


def _shadow(kind: type, name: str) -> Any:
    found = getattr(kind, name)
    if callable(found) and not isinstance(found, type):
        return mine(lambda *args, **kwargs: 13)
    return 13


def _reclass(value: Any, members: dict[str, Any]) -> Undo:
    before = type(value)
    value.__class__ = type("Sub", (before,), {"__module__": MINE, **members})

    def undo() -> None:
        value.__class__ = before

    return undo


def announced(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that says that it is another one, then does the same."""

    def another(*args: Any, **kwargs: Any) -> Any:
        print("another function")
        return function(*args, **kwargs)

    return mine(another)


def for_function(location: Location, value: Any) -> Iterator[Mutation]:
    """A function, a method of a class, a lambda in a container: replaced."""
    if isinstance(value, types.FunctionType):
        yield replacement("another function", location, announced)
        yield replacement("constant function", location, lambda _: mine(lambda *args, **kwargs: 14))
        if is_mine(value):  # a function of a library is one for both worlds
            yield Mutation("function attribute", lambda: _function_attribute(value))
            yield Mutation("one default more", lambda: _defaults(value))
    elif isinstance(value, property):
        yield replacement("another property", location, lambda old: property(announced(old.fget)))
        yield replacement("property to a number", location, lambda _: 15)
    elif isinstance(value, (classmethod, staticmethod)):
        yield replacement("another method", location, lambda old: type(old)(announced(old.__func__)))


def _function_attribute(function: types.FunctionType) -> Undo:
    function.extra_attribute = 4  # type: ignore[attr-defined]
    return lambda: function.__dict__.pop("extra_attribute", None)  # a library's function is in both worlds


def _defaults(function: types.FunctionType) -> Undo:
    before = function.__defaults__
    if len(before or ()) >= function.__code__.co_argcount:
        raise TypeError("every parameter has a default")
    function.__defaults__ = (1, *(before or ()))

    def undo() -> None:
        function.__defaults__ = before

    return undo


def _plus(module: Any, *rest: Any) -> Any:
    last = rest[-1]
    return last + 1 if isinstance(last, torch.Tensor) else None


def _pre(module: Any, args: Any) -> Any:
    return tuple(
        one * 2 if isinstance(one, torch.Tensor) and one.is_floating_point() else one for one in args
    )


def _pre_kwargs(module: Any, args: Any, kwargs: Any) -> Any:
    return _pre(module, args), kwargs


def _loud(module: Any, *rest: Any) -> None:
    print("hook", type(module).__name__, len(rest))


def _double_gradients(module: Any, grads: Any, *rest: Any) -> Any:
    return tuple(None if one is None else one * 2 for one in grads)


HOOKS: dict[str, Callable[[torch.nn.Module], Any]] = {
    "forward hook": lambda it: it.register_forward_hook(_plus),
    "forward hook, first": lambda it: it.register_forward_hook(_loud, prepend=True),
    "forward hook with kwargs": lambda it: it.register_forward_hook(_loud, with_kwargs=True),
    "forward hook, always": lambda it: it.register_forward_hook(_loud, always_call=True),
    "forward pre-hook": lambda it: it.register_forward_pre_hook(_pre),
    "forward pre-hook, first": lambda it: it.register_forward_pre_hook(_loud, prepend=True),
    "forward pre-hook with kwargs": lambda it: it.register_forward_pre_hook(_pre_kwargs, with_kwargs=True),
    "backward hook": lambda it: it.register_full_backward_hook(_double_gradients),
    "backward pre-hook": lambda it: it.register_full_backward_pre_hook(_double_gradients),
}


def for_module(location: Location, value: torch.nn.Module) -> Iterator[Mutation]:
    """Hooks, mode, submodules, parameters and the forward of a module of torch."""
    for name, register in HOOKS.items():
        yield Mutation(name, lambda register=register: register(value).remove)
    yield Mutation("mode", lambda: _mode(value))
    yield Mutation("frozen", lambda: _frozen(value))
    yield Mutation("to float64", lambda: _to(value, torch.float64))
    yield addition(
        "own forward", Attribute(value, "forward"), lambda: announced(type(value).forward.__get__(value))
    )
    yield addition("new submodule", Attribute(value, "extra_module"), torch.nn.Identity)
    yield replacement("Identity", location, lambda _: torch.nn.Identity())
    for name in list(value._parameters):
        yield Mutation(f"parameter {name} to None", lambda name=name: _registered(value, "_parameters", name))
    for name in list(value._modules):
        yield deletion(Attribute(value, name))
    for name in list(value._buffers):
        yield Mutation(f"buffer {name} to None", lambda name=name: _registered(value, "_buffers", name))


def _mode(module: torch.nn.Module) -> Undo:
    before = module.training
    module.train(not before)
    return lambda: module.train(before) and None


def _frozen(module: torch.nn.Module) -> Undo:
    flags = [(one, one.requires_grad) for one in module.parameters()]
    module.requires_grad_(False)

    def undo() -> None:
        for parameter, flag in flags:
            parameter.requires_grad_(flag)

    return undo


def _to(module: torch.nn.Module, dtype: torch.dtype) -> Undo:
    module.to(dtype)
    return lambda: module.to(torch.float32) and None


def _registered(module: torch.nn.Module, group: str, name: str) -> Undo:
    table = vars(module)[group]
    before = table[name]
    table[name] = None

    def undo() -> None:
        table[name] = before

    return undo
