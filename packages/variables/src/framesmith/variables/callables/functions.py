"""Existing Python functions: in which way a call of one is traced, and its attributes.

Those created in the trace are in `nested_functions`, the binding of arguments in `argument_binding`.
"""

from collections.abc import Callable, Hashable
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Final, final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import DISABLED, NATIVE_CALL
from framesmith.guards import Source
from framesmith.guards.imported import is_imported
from framesmith.guards.kinds import CodeIs, HasInstanceAttribute, Identical, TypeIs
from framesmith.guards.sources import (
    Attribute,
    FunctionClosure,
    FunctionDefault,
    FunctionKeywordDefault,
    Global,
    InstanceItem,
    Own,
    Pinned,
)
from framesmith.guards.sources.steps import InstanceDict
from framesmith.variables.builtin_types.cells import CellTracker, wrap_cell
from framesmith.variables.builtin_types.namespaces import namespace_of
from framesmith.variables.callables.argument_binding import bind_arguments
from framesmith.variables.callables.compiled import ORIGINAL, STRICT, is_compiled
from framesmith.variables.callables.early_calls import read_annotations
from framesmith.variables.core.base import (
    Arguments,
    Keywords,
    PendingCall,
    PendingFrame,
    TraceContext,
    Tracker,
    guard_distinct,
)
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.registry import Table
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import row_of
from framesmith.variables.core.wrap_rules import lazy, wrap_found

ROWS: Final = Rows()

Directive = Callable[..., Tracker | PendingCall]
DIRECTIVES: Final = Table[tuple[str, str], Directive]("directives")
"""Functions known by module and qualified name, so that their modules need not be imported to recognize them."""

MarkedCall = Callable[[TraceContext, "FunctionTracker", Arguments, Keywords], Tracker | PendingCall | None]
MARKED_CALLS: Final = Table[str, MarkedCall]("marked functions")
"""Called before the frame of a function is entered, each under its name:
returns what the function's marks make of the call, or None."""

NATIVE_MODULES = (
    "_frozen_importlib_external",
    "torch._dynamo",
    "torch._functorch",
    "torch._higher_order_ops.triton_kernel_wrap",
    "torch._inductor",
    "torch._subclasses",
    "torch.autograd.function",
    "torch.autograd.gradcheck",
    "torch.autograd.graph",
    "torch.distributed.fsdp._flat_param",
    "torch.distributed.fsdp._runtime_utils",
    "torch.distributed.fsdp._unshard_param_utils",
    "torch.distributed.nn.functional",
    "torch.export",
    "torch.fx",
    "torch.jit",
    "torch.onnx",
    "torch.testing._comparison",
    "torch.utils.checkpoint",
    "torch.utils.data",
    "triton.compiler",
    "triton.runtime",
)
"""Modules whose Python code works on torch's dispatcher, autograd's state, the memory of tensors or other compilers, or refuses
to be compiled: calls into them run natively."""

_LOADING: Final = (
    "_BlockingOn",
    "_DeadlockError",
    "_ModuleLock",
    "_find_",
    "_get_module_lock",
    "_load_",
    "_lock_unlock",
)
"""What the import system calls to load a module: locks that other threads wait for, and that are gone a moment later."""

INLINED_MODULES = (
    "torch._functorch.apis",
    "torch._functorch.eager_transforms",
    "torch._functorch.functional_call",
    "torch._functorch.vmap",
    "torch.autograd.functional",
    "torch.fx._pytree",
)
"""Modules in those whose functions are traced all the same: the transforms of `torch.func` and of autograd, trees of containers."""

_TRACED_NAMES: Final = (
    ("torch._dynamo._trace_wrapped_higher_order_op", "TransformGetItemToIndex.__torch_function__"),
    ("torch.autograd.graph", "disable_saved_tensors_hooks"),
    ("torch.fx.graph_module", "GraphModule.recompile.<locals>.call_wrapped"),
    ("torch.fx.graph_module", "_WrappedCall.__call__"),
    ("torch.utils.checkpoint", "_checkpoint_impl"),
    ("torch.utils.checkpoint", "checkpoint_sequential"),
    ("torch.utils.checkpoint", "checkpoint_sequential.<locals>.run_function"),
    ("torch.utils.checkpoint", "checkpoint_sequential.<locals>.run_function.<locals>.forward"),
    ("triton.runtime.jit", "ConstexprFunction.__call__"),
)
"""Functions in native modules that only hand on: to the operation of which a mode is asked, to a function of numbers, to the forward of a module that fx
generated, or to `checkpoint`."""

_NATIVE_NAMES: Final = (("torch.autograd.functional", "_jacfwd"), ("torch.utils", "swap_tensors"))
"""Functions in inlined modules that run natively all the same: one calls the vmap in C that `torch.vmap` has replaced, one refuses tensors
to which anybody else refers, as a trace of it would."""

DISABLED_MARK = "__framesmith_disabled__"
DISABLED_CODES: Final = Table[CodeType, None]("disabled code")
"""Code of wrappers that run a function natively: torch's own decorator `disable` makes plain closures."""

TRACED_ORIGINALS: Final = Table[FunctionType, None]("disabled functions that are traced")
"""Functions of torch that its own compiler disables, but that are traced here."""

_DISABLED_MARKS = (DISABLED_MARK, "_torchdynamo_disable")


@final
class FunctionTracker(Tracker):
    """An existing Python function. Invariant: guarded by identity or, when reached from an argument, by its code."""

    def __init__(self, value: FunctionType, source: Source, anchor: Source | None = None) -> None:
        self.value = value
        self.source = source
        # from here code, defaults and cells are read: the object itself, or where an argument gives it
        self.anchor = anchor or Pinned(value, value.__qualname__)
        self._cells: tuple[CellTracker, ...] | None = None
        self.compiled_as: FunctionType | None = None  # the compiled function through which it is called

    @property
    def python_type(self) -> type:
        """`types.FunctionType`."""
        return FunctionType

    def bind(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> PendingFrame:
        """The new frame of `self(*args, **kwargs)`; guards the code of the function."""
        code = self.value.__code__
        # a function of another source had its code guarded when it was wrapped
        if isinstance(self.anchor, Pinned):
            tx.guard(self.anchor, CodeIs(code))
        elif _reads_globals(code):  # another function of the same code may have other ones
            tx.guard(Attribute(self.anchor, "__globals__"), Identical(self.value.__globals__))
        defaults = self._defaults(tx, code, len(args), kwargs)
        return PendingFrame(
            code,
            namespace_of(tx, self.value.__globals__),
            bind_arguments(code, args, kwargs, defaults),
            self.cells(tx),
            self,
        )

    def _defaults(self, tx: TraceContext, code: CodeType, given: int, kwargs: Keywords) -> dict[str, Tracker]:
        """The default values that this call needs, by parameter name, read lazily."""
        found: dict[str, Tracker] = {}
        values = self.value.__defaults__ or ()
        first = code.co_argcount - len(values)
        for index, value in enumerate(values):
            name = code.co_varnames[first + index]
            # defaults that the call does not use are not looked at, so they may change
            if first + index >= given and name not in kwargs:
                # from the end, which is right for another function of this code that has more or fewer of them
                found[name] = wrap_found(tx, value, FunctionDefault(self.anchor, index - len(values)))
        for name, value in (self.value.__kwdefaults__ or {}).items():
            if name not in kwargs:
                found[name] = wrap_found(tx, value, FunctionKeywordDefault(self.anchor, name))
        return found

    def cells(self, tx: TraceContext) -> tuple[CellTracker, ...]:
        """The cells of the closure, in the order of `co_freevars`."""
        if self._cells is None:
            closure = self.value.__closure__ or ()
            self._cells = tuple(
                wrap_cell(tx, cell, FunctionClosure(self.anchor, index)) for index, cell in enumerate(closure)
            )
        return self._cells

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """In this order: its row, a directive of its name, a break if it is disabled, the original of a compiled
        function, a break in a native module, its marks; else its frame."""
        value = self.value
        # of the function that was called, before any wrapper is looked through
        row = row_of(tx.registry, value)
        if row is None and "__wrapped__" in value.__dict__:
            # torch's compiler wraps some when it is loaded, or when it runs first
            original = value.__dict__["__wrapped__"]
            is_marked = "_torchdynamo_disable" in value.__dict__ and type(original) is FunctionType
            if value.__code__ in tx.registry[DISABLED_CODES] or (
                is_marked and original in tx.registry[TRACED_ORIGINALS]
            ):
                row = row_of(tx.registry, original)
        if row is not None:
            return row.begin(tx, args, kwargs)
        directive = tx.registry[DIRECTIVES].get((value.__module__, value.__qualname__))
        if directive is not None:
            return directive(tx, *[argument.realize() for argument in args], **kwargs)
        if value.__code__ in tx.registry[DISABLED_CODES] or any(
            value.__dict__.get(mark) for mark in _DISABLED_MARKS
        ):
            raise GraphBreak(DISABLED, f"{value.__module__}.{value.__qualname__}{_disabled_note(value)}")
        if is_compiled(value):
            # a call of a compiled function is a call of its original, traced in this graph
            return self.original(tx).begin_call(tx, args, kwargs)
        if _is_native(str(value.__module__), value.__qualname__):
            raise GraphBreak(
                NATIVE_CALL, f"{value.__module__}.{value.__qualname__}, which always runs natively"
            )
        for marked in tx.registry[MARKED_CALLS].values():
            result = marked(tx, self, args, kwargs)
            if result is not None:
                return result
        return self.bind(tx, args, kwargs)

    def original(self, tx: TraceContext) -> Tracker:
        """The function that a compiled one was made from; guarded.
        It remembers the compiled form for the frame of the call."""
        found = self.attribute(tx, ORIGINAL).realize()
        if not isinstance(self.anchor, Pinned) and STRICT in self.value.__dict__:
            self.attribute(
                tx, STRICT
            ).realize()  # another function of this code may have been compiled otherwise
        if isinstance(found, FunctionTracker):
            # a break below is an error if it was compiled with `fullgraph=True`
            found.compiled_as = self.value
        return found

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Attributes of the function object: the fields of its type, then its `__dict__`."""
        held = self.value.__dict__
        # as CPython: data descriptors of the type first, then the dictionary
        if name in held and name not in _FIELDS:
            return wrap_found(tx, held[name], InstanceItem(self.anchor, name))
        if name not in held:
            if tx.guards.facts is not None:
                tx.note("is not there", InstanceDict(self.anchor), name)
            tx.guard(self.anchor, HasInstanceAttribute(name, False))
        # PEP 649: reading them runs code of the user, which the program's changes so far would have to reach
        if name == "__annotations__" and not read_annotations(tx, self.value):
            return self.unsupported(f"reading attribute {name!r}")
        if not hasattr(self.value, name):
            raise_observed(tx, AttributeError, f"'function' object has no attribute '{name}'")
        return lazy(tx, getattr(self.value, name), Attribute(self.anchor, name))

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """`self is other`: whether they are the same function object."""
        guard_distinct(tx, self, other)
        return isinstance(other, FunctionTracker) and other.value is self.value

    def hash_key(self, tx: TraceContext) -> Hashable:
        """Functions hash by identity."""
        # a key by identity: the code alone does not tell functions apart
        tx.guard(self, Identical(self.value))
        return ("object", self.value)

    def truth(self, tx: TraceContext) -> bool:
        """A function is true."""
        return True

    def describe(self) -> str:
        """`function f`."""
        return f"function {self.value.__qualname__}"


_FIELDS: Final = frozenset(
    name
    for cls in (FunctionType, object)
    for name, value in vars(cls).items()
    if isinstance(value, GetSetDescriptorType | MemberDescriptorType)
)
"""`__name__`, `__code__` and the other data descriptors of functions, which hide an entry of `__dict__`."""


def _is_native(module: str, qualname: str) -> bool:
    # a module that is there is found by what else is in it
    if module == "_frozen_importlib":
        return qualname.startswith(_LOADING) and qualname != "_find_and_load"
    if (module, qualname) in _NATIVE_NAMES:
        return True
    if not module.startswith(NATIVE_MODULES) or module.startswith(INLINED_MODULES):
        return False
    return (module, qualname) not in _TRACED_NAMES


def _reads_globals(code: CodeType) -> bool:
    """Whether the code, or that of a function which it makes, names anything that may be a global variable."""
    # `co_names` holds attribute names too, so this may ask for a guard too many, never for one too few
    return bool(code.co_names) or any(isinstance(value, CodeType) for value in code.co_consts)


def _disabled_note(function: FunctionType) -> str:
    """How a function was disabled, and the user's reason for it, as a suffix for the message."""
    said = [function.__dict__.get(mark) for mark in (DISABLED_MARK, "_torchdynamo_disable_msg")]
    reason = next((f": {text}" for text in said if isinstance(text, str) and text), "")
    if str(function.__module__).startswith("framesmith."):
        return reason
    return f" is marked with {'torch.compiler' if said[0] is None else 'frontend'}.disable{reason}"


def _is_stable(value: FunctionType, source: Source) -> bool:
    """Whether a function is expected to stay the same: the source starts at a module or global name, or the closure of
    what was compiled holds a function of a module."""
    root = source
    while root.base is not None:
        root = root.base
    # what is reached from an argument is often a new closure in each call: by identity each would need an entry
    return isinstance(root, Pinned | Global) or (isinstance(root, Own) and is_imported(value))


@ROWS.wrap(FunctionType)
def wrap_function(tx: TraceContext, value: object, source: Source) -> Tracker:
    """A function reached from module level is guarded by identity;
    any other by its code, and its closure is read on each call."""
    assert isinstance(value, FunctionType)
    if _is_stable(value, source):
        if not isinstance(source, Pinned):
            tx.guard(source, Identical(value))
        return FunctionTracker(value, source)
    tx.guard(source, TypeIs(FunctionType))
    tx.guard(source, CodeIs(value.__code__))
    return FunctionTracker(value, source, source)
