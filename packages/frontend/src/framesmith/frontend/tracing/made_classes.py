"""Calls that make a class: `collections.namedtuple(...)`, `type(name, bases, names)`, the functional form of `Enum`.

    N = namedtuple("N", "a b")      made for real, in the module of the frame that calls, from arguments that are constants
    ->  the trace goes on with that class; the entry makes one of its own where the program keeps it (`core.made_classes`)

Not here: class statements, and what runs code of the user while a class is made (metaclasses, `__init_subclass__`,
`__set_name__`). Those run natively.
"""

import collections
import dataclasses
import enum
import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from framesmith.frontend.tracing.machine import Machine
from framesmith.guards.class_lookup import is_immutable
from framesmith.guards.comparison import is_immutable_constant
from framesmith.variables.callables.functions import FunctionTracker
from framesmith.variables.callables.polyfill_functions import is_polyfill_code
from framesmith.variables.callables.type_functions import class_tracker
from framesmith.variables.core import Constant, Tracker
from framesmith.variables.core.folding import fold
from framesmith.variables.core.made_classes import MadeClass
from framesmith.variables.objects.classes import ClassTracker

Maker = Callable[..., type]


def _make_class(name: object, bases: object, names: object, *, module: str) -> type:
    """`type(name, bases, names)`, called in a module."""
    if isinstance(names, dict):
        # type_new_set_module in Objects/typeobject.c adds it behind the others
        names = {**names, "__module__": names.get("__module__", module)}
    # wrong arguments raise as in the program
    return typing.cast(Maker, type)(name, bases, names)


def _make_typed_tuple(name: object, fields: object, /, *, module: str) -> type:
    """`typing.NamedTuple(name, fields)`, called in a module."""
    made = typing.cast(Maker, typing.NamedTuple)(name, fields)
    made.__module__ = module
    return made


_TAKES_MODULE: Final = "module" in inspect.signature(dataclasses.make_dataclass).parameters
"""From Python 3.12 on; before, it is always `types`."""
_FUNCTIONS: Final[Mapping[object, Maker]] = {
    collections.namedtuple: collections.namedtuple,
    typing.NamedTuple: _make_typed_tuple,
    **({dataclasses.make_dataclass: dataclasses.make_dataclass} if _TAKES_MODULE else {}),
}
_ENUMERATIONS: Final[Mapping[object, Maker]] = {
    # a call with names makes a class
    base: typing.cast(Maker, base)
    for base in (enum.Enum, enum.IntEnum, enum.StrEnum, enum.Flag, enum.IntFlag)
}


def begin_make_class(
    machine: Machine, callee: Tracker, args: Sequence[Tracker], kwargs: Mapping[str, Tracker]
) -> Tracker | None:
    """The class that a call makes; None for another call, and for one that has to run natively."""
    make = _find_maker(callee, len(args), kwargs)
    if make is None or is_polyfill_code(machine.frame.code):
        return None
    given = (*args, *kwargs.values())
    # what is not known has no such value, and a class of the user may have code that runs here
    if not all(one.is_python_constant() and _is_fixed(one.as_python_constant()) for one in given):
        return None
    tx, keywords = machine.tx, {name: value.as_python_constant() for name, value in kwargs.items()}
    if keywords.get("module") is None:
        module = machine.frame.namespace.load(tx, "__name__").realize()
        if not isinstance(module, Constant) or type(module.value) is not str:
            return None
        keywords["module"] = module.value
    positional = [one.as_python_constant() for one in args]
    # the containers are those of the call below, and nobody changes them
    call = functools.partial(make, *positional, **keywords)
    made = fold(tx, call, ()).as_python_constant()
    assert isinstance(made, type)
    tx.changes.note_class(MadeClass(made, call))
    return class_tracker(tx, made)


def _find_maker(callee: Tracker, count: int, kwargs: Mapping[str, Tracker]) -> Maker | None:
    """What makes a class as this call does, given the module of the caller as well."""
    if isinstance(callee, FunctionTracker):
        make = _FUNCTIONS.get(callee.value)
        # a TypedDict-like form with fields as keywords is deprecated, and warns
        return None if make is _make_typed_tuple and (count != 2 or kwargs) else make
    if not isinstance(callee, ClassTracker):
        return None
    if callee.value is type:
        return _make_class if count == 3 and not kwargs else None
    if type(callee.value) is enum.EnumMeta and (count > 1 or "names" in kwargs):
        return _ENUMERATIONS.get(callee.value)
    return None


def _is_fixed(value: object) -> bool:
    """Whether an argument can be given again: a container of what is fixed, which the call unpacks, or such a value itself."""
    if type(value) is list:
        return all(map(_is_kept, value))
    if type(value) is dict:
        return all(type(key) is str and _is_kept(item) for key, item in value.items())
    return _is_kept(value)


def _is_kept(value: object) -> bool:
    """Whether two classes may hold this very value: an immutable constant, a class in C, a tuple of these. Making a class runs no
    code of them."""
    if value is typing.Any or type(value) is enum.FlagBoundary:
        return True
    if isinstance(value, type):
        return type(value) is type and is_immutable(value)
    return all(map(_is_kept, value)) if type(value) is tuple else is_immutable_constant(value)
