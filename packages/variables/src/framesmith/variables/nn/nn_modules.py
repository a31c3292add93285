"""`nn.Module` instances: attribute look-up, calls and stores as `nn.Module` defines them, without tracing its code.

What these fast paths do not cover (hooks, parameters that are replaced, overridden special methods) is left to the
instance tracker, which inlines the Python code of `nn.Module` itself.
"""

from collections.abc import Callable, Mapping
from typing import Final, final

import torch
from torch.nn.modules import module as module_code
from torch.nn.modules.lazy import LazyModuleMixin

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNINITIALIZED, UNSUPPORTED_VALUE
from framesmith.guards import Source
from framesmith.guards.class_lookup import comes_first, static_lookup
from framesmith.guards.kinds import NoModuleHooks, Truthy, WeaklyIdentical
from framesmith.guards.sources import InstanceItem, Pinned
from framesmith.guards.words import a_type
from framesmith.variables.builtin_types.dicts import DictTracker
from framesmith.variables.callables.compiled import is_compiled_in_place
from framesmith.variables.core import Constant, SkippedFrame, TraceContext, Tracker
from framesmith.variables.core.attribute_errors import missing_attribute
from framesmith.variables.core.base import Arguments, Keywords, PendingCall
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.skipped_frames import skip_frames
from framesmith.variables.objects.construction import INSTANCE_MAKERS
from framesmith.variables.objects.descriptors import begin_get
from framesmith.variables.objects.instances import InstanceTracker
from framesmith.variables.objects.lookup import find
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()

_TABLES: Final = ("_parameters", "_buffers", "_modules")
_COMPILED: Final = "_compiled_call_impl"
_HOOKS: Final = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_GLOBAL_HOOKS: Final[Mapping[str, object]] = {
    name: getattr(module_code, name)
    for name in (
        "_global_backward_pre_hooks",
        "_global_backward_hooks",
        "_global_forward_hooks",
        "_global_forward_pre_hooks",
    )
}
# The methods of `nn.Module` when this module was imported: the fast paths replace these and no others.
_CODE: Final[Mapping[str, object]] = {
    name: torch.nn.Module.__dict__[name]
    for name in (
        "__call__",
        "_wrapped_call_impl",
        "_call_impl",
        "__getattr__",
        "__setattr__",
        "register_buffer",
    )
}


# The frames of eager between the call of a module and its `forward`.
_TO_FORWARD: Final = (
    SkippedFrame(torch.nn.Module._wrapped_call_impl, "_call_impl"),
    SkippedFrame(torch.nn.Module._call_impl, "forward_call"),
)

# Reads the instance dictionary even if a subclass overrides `__dict__`.
module_namespace: Final[Callable[[object], dict[str, object]]] = vars(torch.nn.Module)["__dict__"].__get__


@final
class ModuleShortcuts:
    """What `nn.Module` does for its attributes and calls (the protocol `Shortcuts` of `objects.instances`)."""

    guards_dict: Final = False  # models have hundreds of modules, each guard would be paid for in each call

    def begin_attribute(
        self, tx: TraceContext, module: InstanceTracker, name: str
    ) -> Tracker | PendingCall | None:
        """`module.name`: data descriptors of the class, the instance,
        the class, then parameters, buffers and children."""
        if (
            not _reads_plainly(module)
            or module.own.namespace is not None
            or static_lookup(module.cls, "__getattr__") is not _CODE["__getattr__"]
        ):
            return None
        found = find(tx, module.cls, name)
        # A property of the class is left to the code of the instance tracker, which calls it.
        if found is not None and comes_first(found.cls):
            return None
        own = module.own.load(tx, module, name)
        if own is not None:
            return own
        if found is not None:
            return begin_get(tx, found, module)
        # for its guard: the tables below are read in place of its code
        find(tx, module.cls, "__getattr__")
        for table in _TABLES:
            held = _registered(tx, module, table, name)
            if held is not None:
                return held
        return missing_attribute(tx, module, name)

    def begin_call(
        self, tx: TraceContext, module: InstanceTracker, args: Arguments, kwargs: Keywords
    ) -> Tracker | PendingCall | None:
        """A call of `forward`, when no hook is registered on the module or globally. A module that was compiled in
        place (ADR 0013) is called as its original."""
        if not _reads_plainly(module):
            return None
        # None where calls of modules are not noted for repetition (ADR 0023).
        if tx.call_module is None:
            return self._begin_traced(tx, module, args, kwargs)
        return tx.call_module(tx, module, args, kwargs, lambda: self._begin_traced(tx, module, args, kwargs))

    def _begin_traced(
        self, tx: TraceContext, module: InstanceTracker, args: Arguments, kwargs: Keywords
    ) -> Tracker | PendingCall | None:
        in_place = _is_compiled_in_place(tx, module)
        if _is_direct(tx, module, in_place):
            return skip_frames(module.attribute(tx, "forward").begin_call(tx, args, kwargs), *_TO_FORWARD)
        if not in_place:
            return None
        return skip_frames(module.attribute(tx, "_call_impl").begin_call(tx, args, kwargs), _TO_FORWARD[0])

    def set_attribute(self, tx: TraceContext, module: InstanceTracker, name: str, value: Tracker) -> bool:
        """Store plain values, and new values of buffers; all other stores inline the code of `nn.Module`."""
        value = value.realize()
        if (
            module.own.namespace is not None
            or not _has_own_code(tx, module, "__setattr__")
            # Parameters, buffers and modules are registered in the tables, and taken from where they were.
            or _is_special(value)
        ):
            return False
        held = [table for table in _TABLES if _registered(tx, module, table, name) is not None]
        if not held:
            module.change_generic(tx, name, value)
            return True
        # A name in another table is refused or removed there by `nn.Module.__setattr__`, with messages of its own.
        if held != ["_buffers"] or not isinstance(value, TensorTracker) or not _registers_plainly(tx, module):
            return False
        buffers = table_of(tx, module, "_buffers")
        assert buffers is not None
        buffers.store(tx, Constant(name), value)
        return True


SHORTCUTS: Final = ModuleShortcuts()


def _has_own_code(tx: TraceContext, module: InstanceTracker, *names: str) -> bool:
    """Whether the class inherits these methods from `nn.Module`, in their original form; guarded."""
    # `find` is called for its guard.
    return all(
        static_lookup(module.cls, name) is _CODE[name] and find(tx, module.cls, name) for name in names
    )


def _own_attributes(module: InstanceTracker) -> dict[str, object]:
    """The real instance dictionary of the existing module, read without user code."""
    real = module_namespace(module.value)
    if type(real) is not dict:
        module.unsupported(f"reading its attributes (its __dict__ is {a_type(type(real))})")
    return real


def _reads_plainly(module: InstanceTracker) -> bool:
    """Whether attribute access starts without user code; guarded where an attribute is read."""
    return static_lookup(module.cls, "__getattribute__") is object.__getattribute__


def _registered(tx: TraceContext, module: InstanceTracker, table: str, name: str) -> Tracker | None:
    """The value in a table under a name; None when it has none, which is guarded."""
    held = table_of(tx, module, table)
    if held is None:
        return None
    key = Constant(name)
    if held.value is not None and not held.value:
        held.size(tx)  # one guard for all names that an empty table does not hold
        # The trace itself may have stored something in it.
        item = held.known_items.get(key.hash_key(tx))
        return None if item is None else item.value
    return held.get_item(tx, key)


def table_of(tx: TraceContext, module: InstanceTracker, table: str) -> DictTracker | None:
    """One of the tables of parameters, buffers and children; None if the module has none."""
    held = module.own.load(tx, module, table)
    held = None if held is None else held.realize()
    return held if isinstance(held, DictTracker) else None


def _is_compiled_in_place(tx: TraceContext, module: InstanceTracker) -> bool:
    """Whether `compile(module)` replaced the module's call, and nothing else did; guarded if so."""
    if module.source is None or module.own.namespace is not None or module.value is None:
        return False
    # Read without a guard: only if it is one of ours is it guarded.
    own = _own_attributes(module).get(_COMPILED)
    if not is_compiled_in_place(own) or _COMPILED in module.own.pending:
        return False
    if not _has_own_code(tx, module, "__call__", "_wrapped_call_impl"):
        return False
    # Weakly: the compiled form refers to the module, and entries must not keep it alive (ADR 0014).
    tx.guard(InstanceItem(module.source, _COMPILED), WeaklyIdentical.capture(own), "the module is called")
    return True


def _is_direct(tx: TraceContext, module: InstanceTracker, in_place: bool) -> bool:
    """Whether `module(...)` only calls `module.forward(...)`; guarded if so."""
    # Hooks that the trace has read are trackers, which it may have changed.
    held = [module.own.known(name) for name in _HOOKS]
    if module.source is None or module.own.namespace is not None or any(held) or module.value is None:
        return False
    real = _own_attributes(module)
    if (
        # A module without the attribute raises AttributeError when it is called.
        any(real.get(name, "deleted") for name in _HOOKS)
        or any(_GLOBAL_HOOKS.values())
        or _registers_globally(tx)
    ):
        return False
    if not in_place and (real.get(_COMPILED) is not None or _COMPILED in module.own.pending):
        return False
    if not _has_own_code(tx, module, "__call__", "_wrapped_call_impl", "_call_impl"):
        return False
    own = None if in_place else module.own.load(tx, module, _COMPILED)
    if own is not None and not (isinstance(own.realize(), Constant) and own.as_python_constant() is None):
        return False
    tx.guard(module, NoModuleHooks(), "the module is called")
    for name, hooks in _GLOBAL_HOOKS.items():
        # The dictionaries are global to the process, and are never replaced by torch.
        tx.guard(Pinned(hooks, name), Truthy(False), "a module is called")
    return True


def _registers_plainly(tx: TraceContext, module: InstanceTracker) -> bool:
    """Whether a new value of a buffer is only stored, without hooks."""
    return _has_own_code(tx, module, "register_buffer") and not _has_buffer_hooks(tx)


def _registers_globally(tx: TraceContext) -> bool:
    """Whether the trace itself changed the hooks that all modules share."""
    # Guards and the real dictionaries are about the state before the trace.
    changed = {id(getattr(tracker, "value", None)) for tracker in tx.changes.changed_trackers()}
    return any(id(hooks) in changed for hooks in _GLOBAL_HOOKS.values())


def _has_buffer_hooks(tx: TraceContext) -> bool:
    hooks = module_code._global_buffer_registration_hooks
    tx.guard(Pinned(hooks, "_global_buffer_registration_hooks"), Truthy(bool(hooks)), "a buffer is replaced")
    return bool(hooks)


def _is_special(value: Tracker) -> bool:
    """Whether `nn.Module.__setattr__` would register the value: a parameter, buffer or module."""
    if isinstance(value, TensorTracker):
        marks = ("_is_param", "_is_buffer")
        held = {} if value.value is None else vars(value.value)
        return value.cls is not torch.Tensor or any(mark in value.own or mark in held for mark in marks)
    return issubclass(value.python_type, torch.nn.Module | torch.Tensor)


@ROWS.wrap_when(50, lambda _, cls: issubclass(cls, torch.nn.Module))
def wrap_module(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing module: its class is guarded, and its attributes
    when they are read. TorchScript and uninitialized modules break."""
    if issubclass(type(value), torch.jit.ScriptModule):
        raise GraphBreak(UNSUPPORTED_VALUE, f"{source.text()} is a TorchScript module")
    if issubclass(type(value), LazyModuleMixin) and value.has_uninitialized_params():  # type: ignore[attr-defined]  # seen
        raise GraphBreak(UNINITIALIZED, f"{source.text()} is a lazy module that was not called yet")
    tx.guard(source, tx.guards.type_claim(type(value)))
    # One object of shortcuts for all modules: it has no state.
    return InstanceTracker(type(value), value, source, shortcuts=SHORTCUTS)


@ROWS.entry(INSTANCE_MAKERS, torch.nn.Module)
def make_module(tx: TraceContext, cls: type) -> InstanceTracker:
    """A module created in the trace; its `__init__` is inlined."""
    return InstanceTracker(cls, shortcuts=SHORTCUTS)
