"""Functions created in the trace by `def` or `lambda`. Existing ones are in `functions`."""

from collections.abc import Hashable, Iterator, Mapping
from types import CellType, CodeType, FunctionType
from typing import Final, final

from framesmith.guards.class_lookup import is_data_descriptor
from framesmith.variables.builtin_types.cells import CellTracker
from framesmith.variables.builtin_types.iterator_chains import is_none
from framesmith.variables.builtin_types.namespaces import NamespaceTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.argument_binding import bind_arguments
from framesmith.variables.core.base import (
    Arguments,
    Keywords,
    PendingCall,
    PendingFrame,
    TraceContext,
    Tracker,
    Writer,
)
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.raising import raise_observed

_FIELDS: Final = frozenset(
    name
    for cls in (FunctionType, object)
    for name, item in vars(cls).items()
    if is_data_descriptor(type(item))
)
"""The attributes of a function that are not in its dictionary."""
_METADATA: Final[dict[str, tuple[type, ...]]] = {
    "__name__": (str,),
    "__qualname__": (str,),
    "__doc__": (object,),
    "__module__": (object,),
    "__annotations__": (dict,),
    "__annotate__": (FunctionType, type(None)),
    "__type_params__": (tuple,),
}
"""What may be stored in those of them that do not change how a function runs."""


@final
class NestedFunction(Tracker):
    """A function created in the trace by `def` or `lambda`."""

    tells_changes = True

    def __init__(
        self,
        code: CodeType,
        namespace: NamespaceTracker,
        *,
        defaults: tuple[Tracker, ...] = (),
        keyword_defaults: Mapping[str, Tracker] | None = None,
        annotations: Tracker | None = None,
        annotate: Tracker | None = None,
        closure: tuple[CellTracker, ...] = (),
    ) -> None:
        self.code = code
        self.namespace = namespace
        self.defaults = defaults
        self.keyword_defaults = dict(keyword_defaults or {})
        self.annotations = annotations
        self.annotate = annotate  # the function that evaluates them when they are asked for (PEP 649)
        self.closure = closure
        self.attributes: dict[str, Tracker] = {}

    @property
    def python_type(self) -> type:
        """`types.FunctionType`."""
        return FunctionType

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """The frame of the call, with the arguments bound."""
        code = self.code
        first = code.co_argcount - len(self.defaults)
        defaults = {code.co_varnames[first + i]: value for i, value in enumerate(self.defaults)}
        bound = bind_arguments(code, args, kwargs, {**defaults, **self.keyword_defaults})
        return PendingFrame(code, self.namespace, bound, self.closure, self)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Attributes that were set, and those that the code object
        determines; others raise AttributeError or break the graph."""
        if name in self.attributes:
            return self.attributes[name]
        if name in ("__name__", "__qualname__"):
            return Constant(self.code.co_name if name == "__name__" else self.code.co_qualname)
        if name == "__module__":
            # CPython reads it from the globals when the function is made
            return self.namespace.load(tx, "__name__")
        if name == "__doc__":
            # CPython itself finds it, by a rule that depends on its version; free variables need cells
            cells = tuple(CellType() for _ in self.code.co_freevars)
            return Constant(FunctionType(self.code, {}, closure=cells).__doc__)
        if name == "__code__":
            return Constant(self.code)
        if name == "__defaults__":
            return TupleTracker(self.defaults) if self.defaults else Constant(None)
        if name == "__closure__":
            return TupleTracker(self.closure) if self.closure else Constant(None)
        if name == "__kwdefaults__" and not self.keyword_defaults:
            return Constant(None)
        # PEP 649: since Python 3.14
        if name == "__annotate__" and name in vars(FunctionType):
            return (None if "__annotations__" in self.attributes else self.annotate) or Constant(None)
        # a function has such attributes, of which nothing is modelled here; others it lacks
        if name.startswith("__") and (name in vars(FunctionType) or name in vars(object)):
            return self.unsupported(f"reading attribute {name!r}")
        return raise_observed(tx, AttributeError, f"'function' object has no attribute '{name}'")

    def set_attribute(self, tx: TraceContext, name: str, value: Tracker) -> None:
        """Set an attribute of the dictionary of the function, or metadata of the type that CPython asks for; other
        fields of a function break the graph: those that change how it runs or cannot be stored, and errors."""
        if name in _FIELDS and not issubclass(value.python_type, _METADATA.get(name, ())):
            self.unsupported(f"storing attribute {name!r}")
        tx.changes.note(self)
        self.attributes[name] = value
        # what evaluates annotations and the evaluated ones replace each other (PEP 649), but for None
        other = {"__annotations__": "__annotate__", "__annotate__": "__annotations__"}.get(name)
        if other is not None and not is_none(value):
            self.attributes.pop(other, None)

    def hash_key(self, tx: TraceContext) -> Hashable:
        """Functions hash by identity."""
        return ("object", self)

    def truth(self, tx: TraceContext) -> bool:
        """A function is true."""
        return True

    def children(self) -> Iterator[Tracker]:
        """Defaults, cells, attributes and what evaluates annotations."""
        yield from (*self.defaults, *self.keyword_defaults.values(), *self.closure, *self.attributes.values())
        if self.annotate is not None:
            yield self.annotate

    def reconstruct(self, writer: Writer) -> str:
        """A new function object over the same code, globals and cells; breaks the graph before it has got the latter."""
        if len(self.closure) != len(self.code.co_freevars):
            self.unsupported("writing it while it is being made")
        make = writer.constant(FunctionType, "FunctionType")
        code = writer.constant(self.code, f"code_{self.code.co_name}")
        namespace = writer.constant(self.namespace.value, "globals")
        cells = "".join(f"{writer.value(cell)}, " for cell in self.closure)
        closure = f"({cells})" if cells else "None"
        # named before defaults, cells and attributes are written, which may refer to the function
        name = writer.define(
            self, f"{make}({code}, {namespace}, {self.code.co_name!r}, None, {closure})", "function"
        )
        if self.defaults:
            values = "".join(f"{writer.value(value)}, " for value in self.defaults)
            writer.statement(f"{name}.__defaults__ = ({values})")
        if self.keyword_defaults:
            pairs = ", ".join(
                f"{key!r}: {writer.value(value)}" for key, value in self.keyword_defaults.items()
            )
            writer.statement(f"{name}.__kwdefaults__ = {{{pairs}}}")
        if self.annotations is not None:
            make_annotations = writer.constant(set_annotations, "set_annotations")
            writer.statement(f"{make_annotations}({name}, {writer.value(self.annotations)})")
        if self.annotate is not None:
            writer.statement(f"{name}.__annotate__ = {writer.value(self.annotate)}")
        for key, value in self.attributes.items():
            setter = writer.constant(setattr, "setattr")
            writer.statement(f"{setter}({name}, {key!r}, {writer.value(value)})")
        return name

    def describe(self) -> str:
        """`function f`, for messages."""
        return f"function {self.code.co_qualname}"


def set_annotations(function: FunctionType, annotations: object) -> None:
    """Set annotations in either form of the compiler: a dict, or a flat tuple of names and values."""
    if isinstance(annotations, tuple):
        annotations = dict(zip(annotations[::2], annotations[1::2], strict=True))
    assert isinstance(annotations, dict)
    function.__annotations__ = annotations
