"""Modules as values: attributes are the module's globals, which its functions share.

The `import` statement is in `tracing.opcodes.imports`.
"""

import builtins
from collections.abc import Hashable
from contextlib import suppress
from types import ModuleType, WrapperDescriptorType
from typing import Final, final

import torch

from framesmith.graph.environment.deferred_package import load
from framesmith.guards import Source
from framesmith.guards.class_lookup import (
    MISSING,
    is_data_descriptor,
    is_heap_type,
    module_dict,
    qualified_name,
    resolution_order,
    static_lookup,
    type_dict,
)
from framesmith.guards.kinds import Identical, TypeIs
from framesmith.guards.sources import Pinned
from framesmith.variables.builtin_types.namespaces import NamespaceTracker, namespace_of
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker
from framesmith.variables.core.builtin_methods import BoundBuiltin
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import find_error_text
from framesmith.variables.core.known_value import KnownValue
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.objects.descriptors import begin_get, set_through
from framesmith.variables.objects.lookup import Found, find
from framesmith.variables.objects.special_methods import begin_method_call

ROWS: Final = Rows()

_GET: Final[object] = type_dict(ModuleType)["__getattribute__"]
_OPERATORS: Final = (torch._ops._Ops, torch._ops._OpNamespace)
_NOTHING_TO_DELETE: Final = find_error_text(delattr, ModuleType("module"), "{}")


@final
class ModuleTracker(KnownValue[ModuleType]):
    """A module. Invariant: guarded by identity."""

    def __init__(self, value: ModuleType, source: Source | None = None) -> None:
        super().__init__(value, source or Pinned(value, name_of(value)))

    def namespace(self, tx: TraceContext) -> NamespaceTracker:
        """The tracker of the module's globals."""
        return namespace_of(tx, module_dict(self.value))

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker | PendingCall:
        """A data descriptor of a subclass, a global of the module, what else the subclass has, what its `__getattr__` gives;
        AttributeError, or a graph break for a module with `__getattr__`."""
        cls = self._guarded_class(tx)
        if name == "__class__":
            return tx.wrap(cls, Pinned(cls, qualified_name(cls)))
        # The globals have a tracker of their own (`NamespaceTracker`), which is no dict.
        if name == "__dict__":
            return self.unsupported("reading its __dict__")
        if static_lookup(cls, "__getattribute__") is not ModuleType.__getattribute__:
            return self.unsupported(f"reading attribute {name!r}")
        if name == "__getattribute__":
            assert isinstance(_GET, WrapperDescriptorType)
            return BoundBuiltin(self, _GET)
        # `torch.backends.cudnn` and its like are of subclasses whose descriptors compute settings.
        computed = _find_computed(tx, cls, name)
        if computed is not None:
            return begin_get(tx, computed, self)
        _bind_operator(tx, self.value, name)
        namespace = self.namespace(tx)
        found = namespace.find(tx, name)
        if found is not None:
            return found.realize()
        of_class = find(tx, cls, name) if static_lookup(cls, name) is not MISSING else None
        # Methods of the module type itself break below.
        if of_class is not None and is_heap_type(of_class.owner):
            return begin_get(tx, of_class, self)
        # PEP 562: a `__getattr__` in the globals of the module would be called.
        if namespace.find(tx, "__getattr__") is not None or of_class is not None:
            return self.unsupported(f"reading attribute {name!r}, which it does not hold,")
        if static_lookup(cls, "__getattr__") is not MISSING:
            fallback = find(tx, cls, "__getattr__")
            assert fallback is not None
            return begin_method_call(tx, self, fallback, (Constant(name),), {})
        return raise_observed(tx, AttributeError, f"module '{name_of(self.value)}' has no attribute '{name}'")

    def set_attribute(self, tx: TraceContext, name: str, value: Tracker) -> None:
        """Store a global of the module."""
        self._change(tx, name, value)

    def delete_attribute(self, tx: TraceContext, name: str) -> None:
        """Delete a global of the module."""
        if self.namespace(tx).find(tx, name) is None:
            if type(self.value) is not ModuleType:
                self.unsupported(f"deleting attribute {name!r}, which it does not hold,")
            raise_observed(tx, AttributeError, _NOTHING_TO_DELETE.replace("{}", name))
        self._change(tx, name, None)

    def _change(self, tx: TraceContext, name: str, value: Tracker | None) -> None:
        cls = self._guarded_class(tx)
        hook = "__setattr__" if value is not None else "__delattr__"
        # `__class__` and `__dict__` are fields in C, and no globals.
        special = name.startswith("__") and name.endswith("__")
        # nothing is traced with other builtins than those that tracing itself uses
        special |= self.value is builtins
        if special or static_lookup(cls, hook) is not static_lookup(ModuleType, hook):
            self.unsupported(f"storing attribute {name!r}")
        computed = _find_computed(tx, cls, name)
        if computed is not None:
            set_through(tx, computed, self, value)
            return
        self.namespace(tx).store(tx, name, value)

    def _guarded_class(self, tx: TraceContext) -> type:
        """The class of the module, guarded: it decides how attributes
        are looked up, and a program may set it (data model, 3.3.2.1)."""
        cls = type(self.value)
        tx.guard(self, TypeIs(cls), "an attribute of a module is looked up")
        return cls

    def hash_key(self, tx: TraceContext) -> Hashable:
        """Modules hash by identity."""
        return ("object", self.value)

    def describe(self) -> str:
        """`module math`, for messages."""
        return f"module {name_of(self.value)}"


def _bind_operator(tx: TraceContext, module: ModuleType, name: str) -> None:
    """Let `torch.ops` bind the namespace, or the operator, of this name, as reading it for the first time does: an answer that torch
    keeps, and nothing else is to be seen of it."""
    if type(module) in _OPERATORS and name not in module_dict(module) and not name.startswith("__"):
        # It calls C++, and what it makes is no value of the trace.
        with tx.graph.pause_recording(), suppress(AttributeError):
            getattr(module, name)


def name_of(module: ModuleType) -> str:
    """The name of a module; no code of its class is run."""
    return str(module_dict(module).get("__name__"))


def _find_computed(tx: TraceContext, cls: type, name: str) -> Found | None:
    """The data descriptor of this name in a subclass of the module type, if there is one; guarded."""
    # The usual module needs no look-up, and no guard.
    if not any(is_heap_type(base) for base in resolution_order(cls)):
        return None
    found = find(tx, cls, name)
    is_computed = found is not None and is_heap_type(found.owner) and is_data_descriptor(found.cls)
    return found if is_computed else None


@ROWS.call(ModuleType.__getattribute__)
def read_attribute(tx: TraceContext, self: Tracker, name: Tracker, /) -> Tracker:
    """`module.__getattribute__(name)`: as `module.name`. Breaks the graph where a `__getattr__` would be asked after it."""
    self, name = self.realize(), name.realize()
    if not isinstance(self, ModuleTracker) or not isinstance(name, Constant) or type(name.value) is not str:
        return self.unsupported("its __getattribute__")
    if self.namespace(tx).find(tx, name.value) is None:
        return self.unsupported("its __getattribute__ for what it does not hold")
    return self.attribute(tx, name.value)


@ROWS.wrap_when(70, lambda _, cls: issubclass(cls, ModuleType))
def wrap_module(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing module, guarded by identity."""
    assert isinstance(value, ModuleType)
    load(value)  # a program that names a package asks for it
    if not isinstance(source, Pinned):
        tx.guard(source, Identical(value))
    return ModuleTracker(value, source)
