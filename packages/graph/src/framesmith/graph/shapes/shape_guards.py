"""What the trace decided about symbolic numbers, as relations over our sources.

Before: ShapeEnv knows `s0 == 2*s1`, `s1 % 8 == 0`, `3 <= s1`, where s0 is `x.size(0)` and s1 is `y.size(1)`.
After: `x.size(0) == 2*y.size(1)`, `y.size(1) % 8 == 0`, `3 <= y.size(1)`. Whatever satisfies all of them would
have been traced in the same way. Plain numbers on a tensor (static sizes) are left to the guard on the tensor. The
claim that holds such a relation is in `guards.kinds.shapes`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.printers import PythonPrinter

from framesmith.graph.inputs.inputs import Input, Layout
from framesmith.graph.nodes.expressions import Expression, Symbol
from framesmith.graph.options import PLAIN_INTS
from framesmith.graph.shapes.shape_env import ShapeEnvAdapter
from framesmith.guards.guards import Guard, Reason
from framesmith.guards.kinds.shapes import ShapeExpression
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.tensors import TensorItem, TensorSize, TensorStorageOffset, TensorStride

_Fact: TypeAlias = tuple[ShapeExpression, Reason]

_SAME_SIZE = Reason("sizes that were equal in the example share one symbol (duck shapes)")
_RANGE = Reason(
    "the range that the trace assumed of a symbolic number; sizes 0 and 1 are traced by themselves"
)
OFFSET_READ = Reason("a storage offset that the program reads", None)
_LARGEST = torch.iinfo(torch.int64).max - 1


@final
class _GuardPrinter(PythonPrinter):
    """Prints symbols as `{0}`, `{1}` ... and collects their sources in this order (`used`)."""

    def __init__(self, sources: "dict[Symbol, Source]") -> None:
        super().__init__()
        self._sources = sources
        self.used: list[Source] = []

    def place(self, source: Source) -> str:
        """The placeholder of a source."""
        # One placeholder for each source, so that the text reads a size once.
        if source not in self.used:
            self.used.append(source)
        return f"{{{self.used.index(source)}}}"

    def _print_Symbol(self, symbol: Symbol) -> str:  # the name is sympy's
        return self.place(self._sources[symbol])


@final
@dataclass(frozen=True, slots=True)
class Specialized:
    """A number that was requested as symbolic and that the trace fixed to `value`, in the user's frame `user_frame` if known.

    `owner` is the tensor whose size, stride or offset it is.
    """

    source: Source
    value: object
    owner: object
    user_frame: str | None


@final
class ShapeRelations:
    """Reads the facts out of a ShapeEnv, at the end of a recording, after the backend ran: it may decide more."""

    def __init__(self, world: ShapeEnvAdapter, inputs: Sequence[Input]) -> None:
        self._world = world
        # The program computes with ints of any size, torch with those of 64 bits: it raises for others, or takes them for floats.
        self._wide = frozenset(_wide_ints(inputs))
        self._env: ShapeEnv = world.env
        self._inputs = inputs
        self._numbers = list(_numbers(inputs))
        self._sources: dict[Symbol, Source] = {}
        self._bind()

    def _bind(self) -> None:
        # a symbol is read where an input shows it plainly; failing that, where torch made it
        for source, expression, _ in self._numbers:
            if isinstance(expression, sympy.Symbol):
                self._sources.setdefault(expression, source)
        for symbol in self._env.var_to_sources:
            origin = self._world.source_of(symbol)
            if origin is not None:
                self._sources.setdefault(symbol, origin)

    def guards(self) -> list[Guard]:
        """The relations, each once: equalities, then decisions, then ranges."""
        found: dict[ShapeExpression, Guard] = {}
        for relation, reason in (*self._equalities(), *self._decisions(), *self._ranges()):
            found.setdefault(relation, Guard.relation(relation, reason))
        return list(found.values())

    def specialized(self) -> list[Specialized]:
        """Every number that was symbolic at first and is fixed now."""
        return [
            Specialized(source, _to_number(expression), entry.value, self._tied(original).user_frame)
            for entry in self._inputs
            for source, expression, original in _numbers([entry])
            if expression.is_number and not original.is_number
        ]

    def _equalities(self) -> Iterator[_Fact]:
        originals = {source: original for source, _, original in self._numbers}
        for source, expression, original in self._numbers:
            # Plain numbers are held by the guard on the tensor; where a symbol is read, it equals itself.
            if original.is_number or self._sources.get(expression) == source:
                continue
            if not expression.free_symbols <= self._sources.keys():
                continue  # a number without hint: the assertion is in the graph
            printer = _GuardPrinter(self._sources)
            left = printer.place(source)
            yield self._relation(
                f"{left} == {printer.doprint(expression)}",
                printer,
                expression,
                self._tied(original, *(originals.get(other) for other in printer.used)),
            )
        # torch may tie a symbol to several sources (duck shapes)
        for symbol, torch_sources in self._env.var_to_sources.items():
            yield from self._duck(symbol, len(torch_sources))

    def _duck(self, symbol: Symbol, count: int) -> Iterator[_Fact]:
        current = self._env.replace(symbol)
        if count < 2 or not current.free_symbols <= self._sources.keys():
            return
        for source in self._world.sources_of(symbol):
            if self._sources.get(current) != source:
                printer = _GuardPrinter(self._sources)
                left = printer.place(source)
                yield self._relation(f"{left} == {printer.doprint(current)}", printer, current, _SAME_SIZE)

    def _decisions(self) -> Iterator[_Fact]:
        for guard in self._env.guards:
            known = self._env._maybe_evaluate_static(
                guard.expr, axioms=(), size_oblivious=guard.size_oblivious
            )
            if known is not None:
                continue  # the replacements and ranges imply it, and they become relations of their own
            expression = self._env.simplify(guard.expr)
            if expression.free_symbols <= self._sources.keys():
                printer = _GuardPrinter(self._sources)
                yield self._relation(
                    printer.doprint(expression),
                    printer,
                    expression,
                    self._reason("a decision on a symbolic number", guard.sloc),
                )

    def _ranges(self) -> Iterator[_Fact]:
        for symbol in self._live_symbols():
            bounds = self._env.var_to_range.get(symbol)
            if bounds is None or not bounds.is_int:
                continue
            printer = _GuardPrinter(self._sources)
            source = self._sources[symbol]
            place = printer.place(source)
            parts, is_wide = [], source in self._wide
            if bounds.lower not in (-int_oo, -sympy.oo) and bounds.lower > -_LARGEST:
                parts.append(f"{int(bounds.lower)} <= ")
            elif is_wide:
                parts.append(f"{-_LARGEST} <= ")
            parts.append(place)
            if bounds.upper not in (int_oo, sympy.oo) and bounds.upper < _LARGEST:
                parts.append(f" <= {int(bounds.upper)}")
            elif is_wide:
                parts.append(f" <= {_LARGEST}")
            if len(parts) > 1:
                yield self._relation("".join(parts), printer, None, _RANGE)

    def _live_symbols(self) -> Iterable[Symbol]:
        """Symbols that no equality has replaced by another symbol or a number."""
        return [symbol for symbol in self._sources if self._env.replace(symbol) == symbol]

    def _tied(self, *originals: Expression) -> Reason:
        """Where one of these was replaced: of two that are equal it may be either."""
        places = (self._env.replacements_slocs.get(original) for original in originals)
        place = next((place for place in places if place is not None), None)
        return self._reason("a symbolic number was found equal to another one or fixed", place)

    def _reason(self, what: str, place: object) -> Reason:
        user = getattr(place, "maybe_user_loc", None)
        return Reason(what, None if user is None else self._world.context.frame_text(str(user)))

    def _relation(
        self, template: str, printer: _GuardPrinter, expression: Expression, reason: Reason
    ) -> _Fact:
        # torch's printer writes `torch.sym_float`.
        functions = {"torch": torch} if "torch." in template else {}
        return ShapeExpression(template, tuple(printer.used), functions, expression), reason


def _numbers(inputs: Iterable[Input]) -> "Iterator[tuple[Source, Expression, Expression]]":
    """(source, expression now, expression at first) for each symbolic size, stride, offset and number of the inputs."""
    for entry in inputs:
        if entry.layout is None:
            yield from _number(entry.source, entry.example)
            continue
        if not entry.parts and _is_plain(entry.layout):
            continue  # as nearly all parameters
        for _, source, (sizes, strides, offset) in entry.layouts():
            for dim, size in enumerate(sizes):
                yield from _number(TensorSize(source, dim), size)
            for dim, stride in enumerate(strides):
                yield from _number(TensorStride(source, dim), stride)
            yield from _number(TensorStorageOffset(source), offset)


def _is_plain(layout: Layout) -> bool:
    sizes, strides, offset = layout
    return PLAIN_INTS.issuperset(map(type, (*sizes, *strides, offset)))


def _wide_ints(inputs: Iterable[Input]) -> Iterator[Source]:
    """Numbers of the program, not of tensors: these may have more than 64 bits."""
    for entry in inputs:
        if entry.layout is None and type(entry.value) is int and not isinstance(entry.source, TensorItem):
            yield entry.source


def _number(source: Source, value: object) -> "Iterator[tuple[Source, Expression, Expression]]":
    node = getattr(value, "node", None)
    if isinstance(value, torch.SymInt | torch.SymFloat) and hasattr(node, "_expr"):
        assert node is not None
        yield source, node.expr, node._expr


def _to_number(expression: Expression) -> object:
    return int(expression) if expression.is_integer else float(expression)
