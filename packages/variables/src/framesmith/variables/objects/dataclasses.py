"""`dataclasses`: what is modelled without tracing. The generated methods and the rest of the module are Python code."""

import dataclasses
from collections.abc import Hashable
from functools import lru_cache
from types import CodeType, FunctionType

from framesmith.guards.class_lookup import static_lookup
from framesmith.variables.core.base import TraceContext, Tracker


def dataclass_key(tx: TraceContext, instance: Tracker) -> Hashable | None:
    """The hash key of an instance with the `__eq__` and `__hash__` that `dataclass` generates; None for other instances."""
    cls = instance.python_type
    # Both, since equality of keys in containers of the trace is equality of hash keys.
    methods = (static_lookup(cls, "__eq__"), static_lookup(cls, "__hash__"))
    if not dataclasses.is_dataclass(cls) or not all(isinstance(one, FunctionType) for one in methods):
        return None
    compared = tuple(field.name for field in dataclasses.fields(cls) if field.compare)
    # Inherited ones may know other fields; and with a field that is not in both the hash key would have to know two sets.
    if not all(map(_does_the_same, methods, _generated_methods(compared))):
        return None
    keys = [instance.attribute(tx, name).realize().hash_key(tx) for name in compared]
    return ("dataclass", cls, tuple(keys))


@lru_cache(maxsize=256)
def _generated_methods(names: tuple[str, ...]) -> tuple[FunctionType, FunctionType]:
    """`__eq__` and `__hash__` that `dataclass` generates for these fields."""
    sample = dataclasses.make_dataclass("Sample", names, unsafe_hash=True)
    equal, hashed = static_lookup(sample, "__eq__"), static_lookup(sample, "__hash__")
    assert isinstance(equal, FunctionType) and isinstance(hashed, FunctionType)
    return equal, hashed


def _does_the_same(method: object, generated: FunctionType) -> bool:
    """Whether the code is that of the generated method, whose globals are the module of the class."""
    return (
        isinstance(method, FunctionType)
        and _meaning(method.__code__) == _meaning(generated.__code__)
        and "hash" not in method.__globals__
    )


def _meaning(code: CodeType) -> tuple[object, ...]:
    return code.co_code, code.co_names, code.co_consts, code.co_varnames, code.co_freevars, code.co_flags
