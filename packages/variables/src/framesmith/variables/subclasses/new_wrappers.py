"""Tensors that wrap others and are made by the program: `Pair(a, b)`.

    class Pair(torch.Tensor):
        def __new__(cls, a, b):
            return torch.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype)
        def __init__(self, a, b):
            self.a, self.b = a, b

`__new__` and `__init__` are traced as any code. What they leave in the instance becomes the arguments of one node, which makes the wrapper
and fills it without running them once more. Until then it is no value of the graph: a use of it breaks the graph.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from types import FunctionType
from typing import Final, NoReturn, final

import torch
from torch.utils._pytree import tree_leaves

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT, UNSUPPORTED_SUBCLASS
from framesmith.graph.nodes.arguments import example
from framesmith.guards.class_lookup import class_name
from framesmith.guards.sources import Pinned
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.functions import DISABLED_CODES, FunctionTracker
from framesmith.variables.core import Constant, PendingCall, TraceContext, Tracker, Writer
from framesmith.variables.core.base import Arguments, Keywords, run_pending
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import record_node, wrap_result
from framesmith.variables.objects.classes import ClassTracker
from framesmith.variables.objects.instances import InstanceTracker
from framesmith.variables.objects.lookup import Found
from framesmith.variables.objects.special_methods import begin_method_call
from framesmith.variables.subclasses.subclass_tensors import SubclassTensor, inner_of, refuses
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()


@final
@dataclass(frozen=True, eq=False)
class WrapperMaker:
    """What a node calls: make a wrapper of this class, and fill it. The constants are the same in each call; `order` is that in which
    the program stored the attributes."""

    cls: type[torch.Tensor]
    order: tuple[str, ...]
    names: tuple[str, ...]
    constants: Mapping[str, object]

    @property
    def __name__(self) -> str:
        """For the text of the graph."""
        return f"make_{class_name(self.cls)}"

    def __call__(self, size: tuple[int, ...], *values: object, **options: object) -> torch.Tensor:
        """The wrapper: `size` and `options` as for `torch.Tensor._make_wrapper_subclass`, a value for each name."""
        make: Callable[..., torch.Tensor] = torch.Tensor._make_wrapper_subclass
        made = make(self.cls, size, **options)
        held = {**dict(zip(self.names, values, strict=True)), **self.constants}
        made.__dict__.update({name: held[name] for name in self.order})
        return made


@final
class NewWrapper(InstanceTracker):
    """A wrapper whose `__init__` is still to end. Invariant: no node has it as an argument."""

    def __init__(self, cls: type, size: Tracker, options: Mapping[str, Tracker]) -> None:
        super().__init__(cls)
        self._size = size
        self._options = options
        self._made: SubclassTensor | None = None

    def realize(self) -> Tracker:
        """The tensor, once it is made."""
        return self if self._made is None else self._made

    def begin_own_init(
        self, tx: TraceContext, initializer: Found, args: Arguments, kwargs: Keywords
    ) -> Tracker:
        """The tensor, after its `__init__`. One that torch's compiler is told to leave out is traced all the same, as that compiler
        puts the whole construction into its graph."""
        if initializer.value is not object.__init__:
            original = _without_disabling(tx, initializer.value)
            begun = (
                begin_method_call(tx, self, initializer, args, kwargs)
                if original is None
                else FunctionTracker(original, Pinned(original, original.__qualname__)).begin_call(
                    tx, [self, *args], kwargs
                )
            )
            if run_pending(tx, begun).realize().python_type is not type(None):
                self._refuse("has an __init__ that returns a value")
        self._made = self._finish(tx)
        return self._made

    def _finish(self, tx: TraceContext) -> SubclassTensor:
        own = self.own
        if own.namespace is not None or own.slots or own.deleted:
            self._refuse("stores into more than its attributes")
        held = {name: value.realize() for name, value in own.pending.items()}
        constants = {name: value.value for name, value in held.items() if isinstance(value, Constant)}
        values = {name: inner_of(value) for name, value in held.items() if name not in constants}
        for name, value in values.items():
            if not isinstance(value, TensorTracker):
                self._refuse(f"holds {name!r}, which is neither a tensor nor a constant")
            if value.fake.requires_grad:
                self._refuse(f"holds {name!r}, which requires a gradient")
        # From now on operations on fakes are made without asking: the trace has asked before.
        tx.graph.asks_no_subclass = tx.graph.has_wrappers = True
        assert issubclass(self.cls, torch.Tensor)
        maker = WrapperMaker(self.cls, tuple(held), tuple(values), constants)
        marker = tx.graph.marker()
        node = record_node(tx, maker, [self._size, *values.values()], self._options)
        fake = example(node)
        assert isinstance(fake, torch.Tensor)
        if not _is_told(fake, values.keys(), constants):
            tx.graph.rollback(marker)
            self._refuse("holds more than __tensor_flatten__ tells")
        made = wrap_result(tx, node)
        assert isinstance(made, SubclassTensor)
        made.shared.update(held)
        return made

    def _refuse(self, why: str) -> NoReturn:
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"a new {class_name(self.cls)}, which {why}")

    def reconstruct(self, writer: Writer) -> str:
        """Break the graph: it was not made by a call of its class."""
        self._refuse("no call of its class has made")


def _is_told(fake: torch.Tensor, tensors: Set[str], constants: Mapping[str, object]) -> bool:
    """Whether `__tensor_flatten__` tells all that a wrapper holds: a backend may take it apart, and put it together again. Nothing is put
    together here, which might run the `__init__` that the trace has run."""
    try:
        names, context = getattr(fake, "__tensor_flatten__")()  # noqa: B009  # a wrapper has it
    except Exception:  # code of the class
        return False
    told = [(type(one), one) for one in tree_leaves(context, is_leaf=lambda one: one is None)]
    return set(names) == tensors and all((type(one), one) in told for one in constants.values())


def _without_disabling(tx: TraceContext, function: object) -> FunctionType | None:
    """The original of a function that torch's compiler is told to leave out; None for any other."""
    found = None
    while isinstance(function, FunctionType) and (
        function.__code__ in tx.registry[DISABLED_CODES] or function.__dict__.get("_torchdynamo_disable")
    ):
        function = found = function.__dict__.get("__wrapped__")
    return found if isinstance(found, FunctionType) else None


@ROWS.call(torch.Tensor._make_wrapper_subclass)
def make_wrapper(
    tx: TraceContext, cls: Tracker, size: Tracker, /, **options: Tracker
) -> Tracker | PendingCall:
    """`torch.Tensor._make_wrapper_subclass(cls, size, ...)`: what `__new__` of such a class returns."""
    kind = cls.value if isinstance(cls, ClassTracker) else None
    if kind is None or not issubclass(kind, torch.Tensor) or not hasattr(kind, "__tensor_flatten__"):
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"_make_wrapper_subclass({cls.describe()})")
    reason = refuses(kind)
    if reason is not None:
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"_make_wrapper_subclass of {reason}")
    wants = options.pop("requires_grad", None)
    if wants is not None and wants.realize().truth(tx) is not False:
        raise GraphBreak(BACKEND_LIMIT, f"a new {class_name(kind)} that requires a gradient")
    if not isinstance(size.realize(), TupleTracker):
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"_make_wrapper_subclass with {size.describe()} as its size")
    return NewWrapper(kind, size.realize(), options)
