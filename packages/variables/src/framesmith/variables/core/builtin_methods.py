"""Functions and methods written in C: their trackers, and what a call of one does.

A call uses the row of the real callable; without a row it runs while tracing if it is pure and its operands are known;
else the graph breaks. What single functions do is in the rows. How a function, property ... found on a
*Python* class is bound is a row of `BINDER`, since this module knows no such tracker.
"""

import inspect
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Final, final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL, OPERATION_RAISES
from framesmith.guards import Source
from framesmith.guards.class_lookup import (
    class_name,
    defines,
    dict_offset,
    owner_of,
    resolution_order,
    type_dict,
)
from framesmith.variables.core.base import (
    Arguments,
    Keywords,
    PendingCall,
    TraceContext,
    Tracker,
    Writer,
    run_pending,
)
from framesmith.variables.core.constant import Constant, is_constant_type
from framesmith.variables.core.folding import fold, from_python
from framesmith.variables.core.known_value import KnownValue
from framesmith.variables.core.native_kinds import kind_of_native, name_through
from framesmith.variables.core.pure import is_pure
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.registry import Table
from framesmith.variables.core.structure import guard_class_attribute
from framesmith.variables.core.table import callable_name, row_of
from framesmith.variables.core.type_names import type_name
from framesmith.variables.core.unspecialized import refuse_unread

Binder = Callable[[TraceContext, Tracker, object, str], Tracker]
BINDER: Final = Table[None, Binder]("binding of class attributes")
"""`binder(tx, receiver, descriptor, name)` binds a class attribute that is read through an instance."""
RECEIVERS: Final = Table[type, tuple[type[Tracker], ...]]("receivers of methods")
"""Which trackers the methods of a builtin type accept as receiver; any other receiver breaks the graph."""
_METHODS = MethodDescriptorType | WrapperDescriptorType
_MOST_SHOWN = 4  # operands in a message
_MEMBERS = GetSetDescriptorType | MemberDescriptorType
_NEED_RECEIVER: Final = frozenset[object](
    {str.format, str.format_map, str.__mod__, str.split, str.rsplit}
    | {method for kind in (str, bytes) for method in (kind.partition, kind.rpartition)}
    | {kind.__repr__ for kind in (set, frozenset, deque, OrderedDict, defaultdict, bytearray)}
)
"""Methods whose result may be, or hold, their receiver where it is an instance of a subclass, or begins with the name of
its class. Others copy the content, and a builtin part is all they need."""
WITHOUT_DICTIONARY = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType)
"""Types of callables without a dictionary, and without `__getattr__`."""
_NAMES = frozenset({"__name__", "__qualname__", "__module__", "__doc__", "__text_signature__"})


def begin_builtin(
    tx: TraceContext, function: object, args: Arguments, kwargs: Keywords
) -> Tracker | PendingCall:
    """`function(*args, **kwargs)` for a callable written in C: by its row, else folded if pure, else a graph break."""
    args = _with_builtin_part(tx, function, [argument.realize() for argument in args])
    # a row goes first: it models operands that are not known too, and results with an identity
    row = row_of(tx.registry, function)
    if row is None:
        # rows of class methods in C, such as `dict.fromkeys`, are under the descriptor and take the class
        descriptor, cls = _class_method_of(function)
        row = None if descriptor is None else row_of(tx.registry, descriptor)
        args = args if row is None else [from_python(tx, cls), *args]
    if row is not None:
        return row.begin(tx, args, kwargs)
    operands = (*args, *kwargs.values())
    if callable(function) and is_pure(tx.registry, function):
        if all(operand.is_python_constant() for operand in operands):
            return fold(tx, function, args, kwargs)
        refuse_unread(*operands)
    name, held = name_through(function, args) or (callable_name(function), 0)
    shown = [operand.describe() for operand in operands[held:]]
    more = ["..."] if len(shown) > _MOST_SHOWN else []
    listed = ", ".join([*shown[:_MOST_SHOWN], *more])
    raise GraphBreak(kind_of_native(function, args), f"{name}({listed})")


def _class_method_of(function: object) -> tuple[ClassMethodDescriptorType | None, type]:
    """The descriptor and the class of a bound class method in C. The class may have replaced it since it was bound."""
    cls = function.__self__ if isinstance(function, BuiltinFunctionType) else None
    if not isinstance(function, BuiltinFunctionType) or not isinstance(cls, type):
        return None, object
    for base in resolution_order(cls):
        descriptor = type_dict(base).get(function.__name__)
        # bound methods in C are equal when their C function and what they are bound to are the same
        if isinstance(descriptor, ClassMethodDescriptorType) and descriptor.__get__(None, cls) == function:
            return descriptor, cls
    return None, cls


def _with_builtin_part(tx: TraceContext, function: object, args: list[Tracker]) -> list[Tracker]:
    """The arguments of a builtin type's method, with the receiver replaced by its builtin part. Breaks the graph where
    the tracker does not model the method."""
    if not isinstance(function, _METHODS) or not args:
        return args
    receiver = args[0]
    # the TypeError of a descriptor ("requires a 'list' object") is left to the native call
    if not issubclass(receiver.python_type, function.__objclass__):
        raise GraphBreak(OPERATION_RAISES, f"{callable_name(function)} on {receiver.describe()}")
    expected = tx.registry[RECEIVERS].get(function.__objclass__)
    # what `object` defines works on the instance itself, whatever its builtin part
    if function.__objclass__ is object:
        return args
    part = receiver.builtin_part_or_self(tx)
    # a row may rely on the attributes of its tracker: `deque_append` on those of a `DequeTracker`
    if expected is not None and not isinstance(part, expected):
        raise GraphBreak(NATIVE_CALL, f"{callable_name(function)} on {receiver.describe()}")
    if expected is not None and _is_replaced(function, part.python_type):
        raise GraphBreak(NATIVE_CALL, f"{callable_name(function)} on {receiver.describe()}")
    if part is not receiver and function in _NEED_RECEIVER:
        raise GraphBreak(NATIVE_CALL, f"{callable_name(function)} on {receiver.describe()}")
    return [part, *args[1:]]


def _is_replaced(function: "MethodDescriptorType | WrapperDescriptorType", cls: type) -> bool:
    """Whether a C type overrides this method: `dict.keys` ignores the order of an OrderedDict. A Python method of the
    same name does not count: it may be the caller of this one."""
    for base in resolution_order(cls):
        if base is function.__objclass__:
            return False
        if isinstance(type_dict(base).get(function.__name__), MethodDescriptorType | WrapperDescriptorType):
            return True
    return False


def builtin_attribute(
    tx: TraceContext, tracker: Tracker, name: str, *, own_was_read: bool = False
) -> Tracker:
    """`tracker.name` looked up on the type, for an instance without an instance dictionary.

    `own_was_read`: there is a dictionary, and the caller found that it lacks the name.
    """
    cls = tracker.python_type
    if name == "__class__":
        return from_python(tx, cls)
    # first, since it also guards that there is no such name
    guard_class_attribute(tx, cls, name)
    owner = owner_of(cls, name)
    if owner is not None:
        return _bind(tx, tracker, owner, type_dict(owner)[name], name)
    may_hold = bool(dict_offset(cls)) and not own_was_read
    if defines(cls, "__getattr__") or may_hold:  # it may have the attribute all the same
        return tracker.unsupported(f"reading attribute {name!r}")
    return raise_observed(tx, AttributeError, f"'{type_name(tracker)}' object has no attribute '{name}'")


def _bind(tx: TraceContext, tracker: Tracker, owner: type, descriptor: object, name: str) -> Tracker:
    """The result of reading the class attribute `descriptor` through the instance `tracker`."""
    if isinstance(descriptor, _METHODS):
        return BoundBuiltin(tracker, descriptor)
    if isinstance(descriptor, _MEMBERS):
        # `range.start` and others have rows; of a constant, C code may read the field of the real value
        row = row_of(tx.registry, descriptor)
        if row is not None:
            return run_pending(tx, row.begin(tx, [tracker], {}))
        if isinstance(tracker, Constant):
            return fold(tx, lambda value: getattr(value, name), [tracker])
        return tracker.unsupported(f"reading attribute {name!r}")
    if isinstance(descriptor, ClassMethodDescriptorType) or owner.__module__ == "builtins":
        # what has no binding of its own: `str.maketrans`, a static method, or `list.__hash__`, which is None
        value = getattr(tracker.python_type, name)
        if is_constant_type(tx.registry, type(value)):
            return Constant(value)
        return Builtin(value) if callable(value) else tracker.unsupported(f"reading attribute {name!r}")
    if is_constant_type(tx.registry, type(descriptor)):
        return Constant(descriptor)
    return tx.registry.get_single(BINDER)(tx, tracker, descriptor, name)


@final
class Builtin(KnownValue[object]):
    """A callable written in C, or one that has a row. Invariant: guarded by identity when it has a source."""

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """The result of its row or of folding; a Python frame is left to the symbolic interpreter."""
        return begin_builtin(tx, self.value, args, kwargs)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Names and documentation, `__self__`, and methods of the callable's own type; others break the graph."""
        # the default is a constant too: a name that is missing is folded, and CPython words the AttributeError
        if name in _NAMES and is_constant_type(tx.registry, type(getattr(self.value, name, ...))):
            return fold(tx, lambda value: getattr(value, name), [self])
        if name == "__self__" and isinstance(self.value, BuiltinFunctionType):
            return from_python(tx, self.value.__self__)
        static = inspect.getattr_static(self.value, name, None)
        if isinstance(static, _METHODS):
            return BoundBuiltin(self, static)
        if type(self.value) in WITHOUT_DICTIONARY and not hasattr(self.value, name):  # `functools.wraps` asks
            raise_observed(
                tx, AttributeError, f"'{type(self.value).__name__}' object has no attribute '{name}'"
            )
        return self.unsupported(f"reading attribute {name!r}")

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`==` and `!=` of the two objects; None (NotImplemented) for other trackers."""
        if symbol not in ("==", "!=") or not isinstance(other, Builtin):
            return None
        return Constant(bool(self.value == other.value) == (symbol == "=="))

    def hash_key(self, tx: TraceContext) -> Hashable:
        """Builtin functions hash by identity, or by receiver and name."""
        return ("object", self.value)

    def reconstruct(self, writer: Writer) -> str:
        """The callable, as a constant of the entry."""
        return writer.constant(self.value, getattr(self.value, "__name__", "builtin"))

    def describe(self) -> str:
        """`list.append`, for messages."""
        return callable_name(self.value)


@final
class BoundBuiltin(Tracker):
    """`receiver.method` for a method of a builtin type, which is not called yet."""

    def __init__(
        self,
        receiver: Tracker,
        descriptor: MethodDescriptorType | WrapperDescriptorType,
        source: Source | None = None,
    ) -> None:
        self.receiver = receiver
        self.descriptor = descriptor
        self.source = source
        # set by the interpreter when it loads a method for a call
        self.is_called_at_once = False

    @property
    def python_type(self) -> type:
        """The type of the bound method: a method wrapper for a slot, else a builtin method."""
        return (
            MethodWrapperType if isinstance(self.descriptor, WrapperDescriptorType) else BuiltinFunctionType
        )

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """The result of the row of the descriptor, called with the receiver first."""
        return begin_builtin(tx, self.descriptor, [self.receiver, *args], kwargs)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """`__self__`, names and documentation."""
        if name == "__self__":
            return self.receiver
        value = getattr(self.descriptor, name, ...)
        if name in _NAMES and isinstance(value, str | None):
            return Constant(value)
        return self.unsupported(f"reading attribute {name!r}")

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`==` and `!=`: equal when method and receiver are the same objects."""
        if symbol not in ("==", "!=") or not isinstance(other, BoundBuiltin):
            return None
        same = self.descriptor is other.descriptor and self.receiver.is_same(tx, other.receiver)
        return Constant(same == (symbol == "=="))

    def truth(self, tx: TraceContext) -> bool:
        """A method is true."""
        return True

    def unbound(self) -> tuple[Callable[..., object], Tracker] | None:
        """The descriptor and receiver of a call such as `items.append()`, for which CPython binds nothing and whose
        errors name `list.append()`; else None."""
        return (self.descriptor, self.receiver) if self.is_called_at_once else None

    def children(self) -> Iterator[Tracker]:
        """The receiver."""
        yield self.receiver

    def reconstruct(self, writer: Writer) -> str:
        """`descriptor.__get__(receiver, type)`: an override of a subclass is not used.

        The type has to be given: CPython 3.11 crashes without it for methods that need their class (`re.Pattern.sub`).
        """
        descriptor = writer.constant(self.descriptor, self.descriptor.__name__)
        cls = self.receiver.python_type
        return f"{descriptor}.__get__({writer.value(self.receiver)}, {writer.constant(cls, class_name(cls))})"

    def describe(self) -> str:
        """`list.append of a list`, for messages."""
        return f"{callable_name(self.descriptor)} of {self.receiver.describe()}"
