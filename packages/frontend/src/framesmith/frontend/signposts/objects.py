"""Signposts for real objects that no table names: `torch.optim.Adam.step`, `nn.Module`, a class, a function written in Python."""

import inspect
import pkgutil
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import FunctionType, GetSetDescriptorType
from typing import Final

import torch

from framesmith.frontend.registry import REGISTRY
from framesmith.frontend.signposts.definitions import definitions, layers, path_in_package
from framesmith.frontend.signposts.tables import Signpost, file_and_line, signpost_at
from framesmith.guards.class_lookup import resolution_order
from framesmith.variables.core.pure import is_pure
from framesmith.variables.core.table import Row, row_of
from framesmith.variables.core.wrap_rules import EXACT

_FAMILIES = (
    (torch.nn.Module, "nn.Module"),
    (torch.optim.Optimizer, "optimizer step"),
    (torch.autograd.grad_mode.no_grad.__base__, "grad mode"),
    (torch.autocast, "autocast"),
    (AbstractContextManager, "context manager"),
)
"""The question for a class and its methods: that of the first family to which it belongs."""

_LISTS: Final = re.compile(r"\bROWS\.pure(?:_types)?\(")


def real_object(name: str) -> object:
    """What a dotted name means: of builtins, of torch, or of a module that can be imported; None for nothing."""
    for prefix in ("", "builtins.", "torch."):
        try:
            found: object = pkgutil.resolve_name(prefix + name)
        except (ImportError, AttributeError, ValueError):
            continue
        return found
    return None


def topic_of(value: object) -> str | None:
    """The question that the owner of an object belongs to: modules, optimizers, attributes of tensors have one."""
    if isinstance(value, GetSetDescriptorType | property):
        return "attributes of a tensor" if value in vars(torch._C.TensorBase).values() else None
    owner = value if isinstance(value, type) else _owner_of(value)
    if owner is None:
        return None
    return next(
        (topic for family, topic in _FAMILIES if family is not None and issubclass(owner, family)), None
    )


def _owner_of(value: object) -> type | None:
    """The class in whose body a function stands."""
    function = inspect.unwrap(value) if callable(value) else value
    if not isinstance(function, FunctionType):
        return None
    owner = real_object(f"{function.__module__}.{function.__qualname__.rpartition('.')[0]}")
    return owner if isinstance(owner, type) else None


def find_row(value: object) -> Row | None:
    """The row of a callable; of the function inside for one that torch's compiler has wrapped since it was loaded."""
    registry = REGISTRY.current()
    row = row_of(registry, value)
    if row is None and isinstance(value, FunctionType):
        row = row_of(registry, value.__dict__.get("__wrapped__"))
    return row


def posts_of(name: str, value: object) -> Iterator[Signpost]:
    """How a call of the object, or a value of this type, is traced."""
    row = find_row(value)
    if row is not None:
        yield signpost_at(name, "call", row.function)
    if row is None and isinstance(value, type) and type(value).__call__ is type.__call__:
        yield Signpost(
            name, "has no row: a call of the class makes an instance", *definitions()["begin_construct"][0]
        )
    if isinstance(value, type):
        for base in resolution_order(value):
            rule = REGISTRY.current()[EXACT].get(base)
            if rule is not None:
                yield signpost_at(name, f"wrapping of existing values, as {base.__name__}", rule)
                break
    if row is None and is_pure(REGISTRY.current(), value):
        yield Signpost(name, "runs while tracing when its operands are known", *definitions()["fold"][0])
        yield from _lists_of_pure(name)
        yield Signpost(name, "the table of all that are listed as pure", *definitions()["PURE"][0])
    function = inspect.unwrap(value) if callable(value) else value
    if row is None and isinstance(function, FunctionType):
        yield Signpost(name, "has no row: its Python code is inlined", *file_and_line(function))
        yield Signpost(name, "the tracker of a function", *definitions()["FunctionTracker"][0])


def _lists_of_pure(name: str) -> Iterator[Signpost]:
    """The line that lists an object as pure, or its module, in the first family that does."""
    words = [name, *(parts[0] for parts in [name.rpartition(".")] if parts[0])]
    for layer in layers():
        for path in sorted(layer.rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            _, found, listed = text.partition("ROWS: Final = Rows()")
            if not found or not _LISTS.search(listed):
                continue
            first = text[: -len(listed)].count("\n") + 1
            for number, line in enumerate(listed.splitlines(), first):
                if any(re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", line) for word in words):
                    yield Signpost(name, "is listed as pure", path_in_package(str(path)), number)
                    return
