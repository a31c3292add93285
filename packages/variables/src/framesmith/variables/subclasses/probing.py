"""What torch passes to `__torch_function__` for a call, found by asking torch: the call is made with probes that take it.

C code decides by its signatures which operands count, in which order, and under which name (`x + y` is `torch.Tensor.add`).
A probe has the dimension and dtype of its tensor and no data; one of a class that overrides notes what it is given and leaves
by an exception, so that nothing is computed. A mode that does the same stands in for one that the trace has entered.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import BuiltinMethodType, MethodDescriptorType
from typing import Final, NoReturn, final

import torch
from torch import fx
from torch.overrides import TorchFunctionMode

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_SUBCLASS
from framesmith.graph.nodes.arguments import example
from framesmith.variables.builtin_types.dicts import DictTracker
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.slices import SliceTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.overrides import defines_override
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.graph_values import GraphValue
from framesmith.variables.polyfills.declined_calls import (
    Answer,
    decline,
    has_own_check,
    plain_probe,
    probe_class,
    refuse,
    text_of_refusal,
)
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()


@final
@dataclass(frozen=True, slots=True)
class Question:
    """What torch asks: `owner.__torch_function__(function, types, args, kwargs)`, for each class in `types` in turn.

    `has_keywords`: whether it passes a dict; C code leaves it out where a call has none, and may pass an empty one that was unpacked. `order`: which operands of the call
    are its `args`; `1 + x` asks with `(x, 1)`.
    """

    function: object
    types: tuple[type, ...]
    has_keywords: bool
    order: tuple[int, ...]


@final
class _Asked(BaseException):
    """Carries what a probe was asked; no `except` clause of torch's Python code catches it."""

    def __init__(
        self, function: object, types: tuple[type, ...], args: tuple[object, ...], has_keywords: bool
    ) -> None:
        super().__init__()
        # After `super().__init__()`, which sets the attribute of this name.
        self.args = args
        self.function = function
        self.types = types
        self.has_keywords = has_keywords


def _ask(
    cls: type, function: object, types: Sequence[type], args: Sequence[object] = (), kwargs: object = None
) -> NoReturn:
    raise _Asked(function, tuple(types), tuple(args), kwargs is not None)


@final
class _AskingMode(TorchFunctionMode):
    """The mode that notes what a mode is asked."""

    def __torch_function__(
        self,
        func: object,
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> NoReturn:
        raise _Asked(func, tuple(types), tuple(args), kwargs is not None)


@contextmanager
def _as_in_trace(tx: TraceContext) -> Iterator[None]:
    """The block in which torch asks whom it would ask at this point of the trace."""
    overrides = tx.changes.overrides
    with ExitStack() as stack:
        if not overrides.asks_subclasses():
            stack.enter_context(torch._C.DisableTorchFunctionSubclass())
        if overrides.asks_modes():
            stack.enter_context(_AskingMode())
        yield


@final
class _Probes:
    """The probes of one call. Invariant: one class for each class of an overriding operand."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._classes: dict[type, type] = {}

    def make(self, tracker: Tracker) -> object:
        tracker = tracker.realize()
        kind = tracker.python_type
        part = tracker.builtin_part if isinstance(tracker.builtin_part, TensorTracker) else tracker
        if defines_override(kind):
            # torch orders the operands by `issubclass`, which would run that check while tracing.
            if any(has_own_check(other) for other in self._classes if other is not kind):
                raise GraphBreak(
                    UNSUPPORTED_SUBCLASS, f"{tracker.describe()} beside a class with a __subclasscheck__"
                )
            # Of the same relations as the classes, since a subclass is asked before its base.
            cls = probe_class(kind, self._classes, self._answer)
            if isinstance(part, TensorTracker):
                return plain_probe(part.fake.dim(), part.fake.dtype).as_subclass(cls)
            return cls()
        if isinstance(part, TensorTracker):
            return plain_probe(part.fake.dim(), part.fake.dtype)
        if isinstance(tracker, Constant):
            return tracker.value
        if isinstance(tracker, GraphValue):
            return _number(tracker)
        return self._container(tracker)

    def _container(self, tracker: Tracker) -> object:
        if isinstance(tracker, TupleTracker):
            items = [self.make(item) for item in tracker.items]
            return tuple(items)
        if isinstance(tracker, ListTracker):
            return [self.make(item) for item in tracker.items]
        if isinstance(tracker, SliceTracker):
            return slice(*[self.make(part) for part in tracker.members()])
        if isinstance(tracker, DictTracker) or not tracker.is_python_constant():
            raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{tracker.describe()} beside a tensor of a subclass")
        return tracker.as_python_constant()


def _number(tracker: GraphValue) -> object:
    """A number of the kind of a symbolic one."""
    node = tracker.output_node()
    value = example(node) if isinstance(node, fx.Node) else node
    kinds: Final = ((torch.SymBool, True), (torch.SymFloat, 2.0), (torch.SymInt, 2))
    return next((number for kind, number in kinds if isinstance(value, kind)), value)


def _order_of(args: Sequence[object], places: Sequence[object]) -> tuple[int, ...] | None:
    """The positions of the operands that torch passes; None where it passes something else, or leaves one out."""
    left = list(range(len(places)))
    found = list[int]()
    for value in args:
        # By identity, and each place once: a number may be given twice.
        position = next((index for index in left if places[index] is value), None)
        if position is None:
            return None
        left.remove(position)
        found.append(position)
    return None if left else tuple(found)


def ask_torch(
    tx: TraceContext,
    function: Callable[..., object],
    args: Sequence[Tracker],
    kwargs: Mapping[str, Tracker],
) -> Question:
    """What torch passes to the mode or the overriding operands of this call. Breaks the graph where it asks none of them."""
    makers = _Probes(_ask)
    places = list[object]()
    with tx.graph.pause_recording():
        try:
            places += [makers.make(argument) for argument in args]
            keywords = {name: makers.make(value) for name, value in kwargs.items()}
            with _as_in_trace(tx):
                kind = tx.changes.overrides.unpacks_none
                if kind is BuiltinMethodType and isinstance(function, MethodDescriptorType):
                    function.__get__(places[0])(*places[1:], **keywords)
                elif keywords or kind is not None:
                    function(*places, **keywords)
                else:  # C code tells an empty dict of keywords from none
                    function(*places)
        except _Asked as asked:
            # The class behind each probe class; `torch.Tensor` stands for itself.
            types = tuple(getattr(kind, "of", kind) for kind in asked.types)
            order = _order_of(asked.args, places)
            if order is not None:
                return Question(asked.function, types, asked.has_keywords, order)
        except GraphBreak:
            raise
        except Exception as error:
            name = getattr(function, "__name__", function)
            raise GraphBreak(
                UNSUPPORTED_SUBCLASS, f"{name}() with a tensor of a subclass: {error}"
            ) from error
    name = getattr(function, "__name__", function)
    raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{name}() does not ask a tensor of a subclass")


@ROWS.call(decline)
def refusal_text(tx: TraceContext, call: Tracker, given: Tracker, names: Tracker, *mode: Tracker) -> Tracker:
    """The text of the error where all operands of a call decline."""
    function = getattr(call, "value", None)
    if (
        not callable(function)
        or not isinstance(given, TupleTracker)
        or not isinstance(names, TupleTracker)
        or not names.is_python_constant()
        or not all(shown.is_python_constant() for shown in mode)
    ):
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"no operand of {call.describe()} answers")
    makers = _Probes(refuse)
    with tx.graph.pause_recording():
        places = [makers.make(argument) for argument in given.items]
        shown = [str(name.as_python_constant()) for name in names.items]
        return Constant(
            text_of_refusal(function, places, shown, *(str(one.as_python_constant()) for one in mode))
        )
