"""Functions that `torch.jit.script` compiled: a call is traced as one of the Python function that it was made from.

TorchScript and Python agree on what a function does where its arguments have the declared types and it does not ask
whether it is scripted. Anything else runs natively, as does a function without its original (one that was loaded or
traced). `torch.jit.isinstance` is Python code.
"""

import dis
import math
import typing
from collections.abc import Iterator
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Final, final

import torch
import torch._jit_internal

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.guards import Source
from framesmith.guards.kinds import WeaklyIdentical
from framesmith.guards.sources import Pinned
from framesmith.variables.callables.functions import FunctionTracker
from framesmith.variables.callables.polyfill_rows import register_polyfill
from framesmith.variables.core import Arguments, Keywords, PendingCall, TraceContext, Tracker
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()

_ORIGINAL: Final = "_torchdynamo_inline"  # where `torch.jit.script` keeps the Python function
_SCALARS: Final = {"IntType": int, "FloatType": float, "BoolType": bool, "StringType": str}
# Names that mean something else in TorchScript than in Python.
_ASKS: Final = frozenset({"is_scripting", "is_tracing", "print", "fork", "wait"})
_ASKING: Final = (
    torch._jit_internal.is_scripting, torch.jit._trace.is_tracing, print, torch.jit.fork, torch.jit.wait,
)  # fmt: skip
"""The same, whatever the program calls them."""
_LINKED: Final = (ModuleType, FunctionType, BuiltinFunctionType, type, torch.jit.ScriptFunction, torch.dtype)
_UNSEARCHED: Final = (torch.__name__, math.__name__)
_LARGEST_SEARCH: Final = 100

register_polyfill(torch.jit.isinstance, torch._jit_internal._isinstance, ROWS)


@final
class ScriptFunctionTracker(Tracker):
    """A scripted function. Invariant: guarded by identity."""

    def __init__(self, value: object, source: Source) -> None:
        self.value = value
        self.source = source

    @property
    def python_type(self) -> type:
        """`torch.jit.ScriptFunction`."""
        return type(self.value)

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """A frame of the original function; a graph break where Python could do something else."""
        original = vars(self.value).get(_ORIGINAL)
        args = [argument.realize() for argument in args]
        if type(original) is not FunctionType or not self._fits(args, kwargs) or not _is_plain(original):
            raise GraphBreak(NATIVE_CALL, f"{self.describe()} runs as TorchScript")
        return FunctionTracker(original, Pinned(original, original.__qualname__)).bind(tx, args, kwargs)

    def _fits(self, args: Arguments, kwargs: Keywords) -> bool:
        """Whether all arguments have the types that the function declares: TorchScript refuses or converts others."""
        schema = getattr(self.value, "schema").arguments  # noqa: B009  # not in torch's stubs
        declared = {argument.name: argument.type for argument in schema}
        # A wrong call raises the error of TorchScript, natively.
        if len(args) > len(schema) or not declared.keys() >= kwargs.keys():
            return False
        # Defaults are not looked at: they had their types when the function was compiled.
        given = [(one.type, value) for one, value in zip(schema, args, strict=False)]
        given += [(declared[name], value.realize()) for name, value in kwargs.items()]
        return all(_has_type(kind, value) for kind, value in given)

    def truth(self, tx: TraceContext) -> bool:
        """A function is true."""
        return True

    def describe(self) -> str:
        """`scripted function f`."""
        return f"scripted function {getattr(self.value, 'name', '')}"


def _has_type(declared: object, value: Tracker) -> bool:
    """Whether a value has a type of TorchScript; False where that is not known."""
    kind = getattr(declared, "kind")()  # noqa: B009  # not in torch's stubs
    if kind == "TensorType":
        return issubclass(value.python_type, torch.Tensor)
    if kind in _SCALARS:
        return value.python_type is _SCALARS[kind]
    if kind == "OptionalType":
        inner = getattr(declared, "getElementType")()  # noqa: B009
        return value.python_type is type(None) or _has_type(inner, value)
    if kind == "ListType" and value.python_type is list:
        inner = getattr(declared, "getElementType")()  # noqa: B009
        return all(_has_type(inner, one.realize()) for one in value.children())
    # Dicts, tuples, classes and the rest: what TorchScript converts there is not modelled.
    return False


def _is_plain(function: FunctionType) -> bool:
    """Whether neither the function nor one of those that it names asks for TorchScript, or is known to differ in it."""
    todo, seen = [function], {function.__code__}
    while todo:
        one = todo.pop()
        names = _names(one.__code__)
        if not _ASKS.isdisjoint(names):
            return False
        for found in _named_values(one, names, _global_names(one.__code__)):
            # A function that is scripted itself has its code in the original.
            found = getattr(found, _ORIGINAL, found)
            if any(found is asking for asking in _ASKING):
                return False
            # TorchScript has the value of an item of a module from when it compiled the function.
            if not isinstance(found, _LINKED) and type(found).__module__ != typing.__name__:
                return False
            if type(found) is FunctionType and found.__code__ not in seen:
                seen.add(found.__code__)
                todo.append(found)
        if len(seen) > _LARGEST_SEARCH:
            return False
    return True


def _names(code: CodeType) -> frozenset[str]:
    """The names that code and the code in it (comprehensions until 3.11) look up."""
    inner = [_names(one) for one in code.co_consts if isinstance(one, CodeType)]
    return frozenset(code.co_names).union(*inner)


def _global_names(code: CodeType) -> frozenset[str]:
    """Those of them that are read as variables, not as attributes."""
    read = {one.argval for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inner = [_global_names(one) for one in code.co_consts if isinstance(one, CodeType)]
    return frozenset(read).union(*inner)


def _named_values(
    function: FunctionType, names: frozenset[str], variables: frozenset[str]
) -> Iterator[object]:
    """What the function may mean by the names: globals that it reads as variables, its closure, and items of the modules among
    them. Of torch only what asks for TorchScript by its name."""
    values = [function.__globals__[name] for name in variables if name in function.__globals__]
    values += [cell.cell_contents for cell in function.__closure__ or () if not _is_empty(cell)]
    searched = set[str]()
    while values:
        value = values.pop()
        yield value
        if isinstance(value, ModuleType) and value.__name__ not in searched:
            searched.add(value.__name__)
            if value.__name__.partition(".")[0] not in _UNSEARCHED:
                items = vars(value)
                values += [items[name] for name in names if name in items]


def _is_empty(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # read for its error
    except ValueError:
        return True
    return False


@ROWS.wrap(torch.jit.ScriptFunction)
def wrap_script_function(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing scripted function, guarded by identity."""
    # Weakly, so that a function that the user drops can die (ADR 0014).
    tx.guard(source, WeaklyIdentical.capture(value))
    return ScriptFunctionTracker(value, source)
