"""Nodes for symbolic numbers: a size of an input, an unknown number, an expression over those.

A symbol of an input becomes an input of its own (`x.size(0)`), because the tensor's metadata may be changed by a
recorded operation before the number is used. A number that an operation invented is read off that operation's
result. Expressions are written out as calls: `2*s0 + 1` gives `mul`, `add`.
"""

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, final

import sympy
import torch
from torch import fx
from torch.utils._pytree import SequenceKey
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis

from framesmith.graph.breaks.break_kinds import CHANGING_VALUE, UNSUPPORTED_VALUE
from framesmith.graph.breaks.breaks import GraphBreak
from framesmith.graph.nodes.arguments import EXAMPLE, examples
from framesmith.graph.nodes.expressions import Expression, Symbol
from framesmith.graph.nodes.subgraph import Subgraph
from framesmith.graph.operations.purity import IMPURE
from framesmith.graph.options import is_fixed
from framesmith.graph.shapes.shape_env import ShapeEnvAdapter
from framesmith.guards.sources.base import Source

NewInput = Callable[[Source, object], fx.Node]
_Number: TypeAlias = float | fx.Proxy
"""A number while an expression is written out: itself, or the proxy of its node."""


def refuse_fixed(numbers: Iterable[tuple[Source, object]]) -> None:
    """Raise GraphBreak if torch has just fixed one of these numbers, which differ in the next iteration (ADR 0010)."""
    for source, symbol in numbers:
        if is_fixed(symbol):
            raise GraphBreak(CHANGING_VALUE, source.text())


@final
class SymbolNodes:
    """Finds or makes the node of a symbolic number.

    Invariant: `_unbacked` names, for each symbol invented by a recorded operation, the operation and the path to
    the symbol in its result.
    """

    def __init__(self, world: ShapeEnvAdapter, new_input: NewInput) -> None:
        self._world = world
        self._new_input = new_input
        self._unbacked: dict[Symbol, tuple[fx.Node, tuple[object, ...]]] = {}

    def bind_invented(self, node: fx.Node, result: object) -> None:
        """Note where in the result of `node` the symbols can be read that its operation invented, if any."""
        bindings = self._world.unbacked_bindings(result)
        if bindings:
            node.meta["unbacked_bindings"] = bindings
            self._unbacked.update({symbol: (node, path) for symbol, path in bindings.items()})

    def unknown_input(self, body: Subgraph, name: str) -> fx.Node:
        """An input of a nested graph that is an int of which nothing is known."""
        value = self._world.unknown_int()
        symbol = value.node.expr
        node = body.symbols[symbol] = body.placeholder(name, value)
        self._unbacked[symbol] = node, ()
        return node

    def bind_inputs(self, body: Subgraph) -> None:
        """Make every symbol in the sizes, strides and offsets of the inputs of a nested graph an input of it."""
        # torch turns some of the operators into others, for which it reads numbers out of tensors
        self._world.reads_numbers = True
        for node in [node for node in body.order if node.op == "placeholder"]:
            tensor = node.meta[EXAMPLE]
            if not isinstance(tensor, torch.Tensor):
                continue
            numbers = (*tensor.shape, *tensor.stride(), tensor.storage_offset())
            for number in numbers:
                if isinstance(number, torch.SymInt):
                    for symbol in sorted(number.node.expr.free_symbols, key=str):
                        self.node_of(self._world.number_of(symbol), body)

    def node_of(self, value: object, body: Subgraph) -> object:
        """The node for a symbolic number in this graph, or the plain number if it turned out to be fixed.

        Raises GraphBreak for a number whose origin is not known, or that cannot be written as nodes.
        """
        if isinstance(value, complex):  # one whose text, in the graph's code, would be another number
            return _record(body, "call_function", complex, (value.real, value.imag))
        inner = getattr(value, "node", None)
        expression = getattr(inner, "expr", None)
        if expression is None:
            raise GraphBreak(UNSUPPORTED_VALUE, f"the symbolic number {value}")
        if expression.is_number or expression in (sympy.true, sympy.false):
            return _to_number(expression)
        # In one order, so that tracing anew gives the same inputs.
        for symbol in sorted(expression.free_symbols, key=str):
            if symbol not in body.symbols:
                body.symbols[symbol] = self._symbol(symbol, body)
        known = body.symbols.get(expression)
        if known is None:
            known = body.symbols[expression] = _write(expression, body)
        return known

    def _symbol(self, symbol: Symbol, body: Subgraph) -> fx.Node:
        found = self._unbacked.get(symbol)
        if found is not None:
            node, path = found
            return _follow(body.local(node), path, body)
        source = self._world.source_of(symbol)
        if source is None:
            raise GraphBreak(UNSUPPORTED_VALUE, f"the symbolic number {symbol}, whose origin is not known")
        # An input belongs to the whole graph, and `body` may be a nested one.
        return body.local(self._new_input(source, self._world.number_of(symbol)))


def _to_number(expression: Expression) -> object:
    if expression in (sympy.true, sympy.false):
        return bool(expression)
    return int(expression) if expression.is_integer else float(expression)


def _follow(node: fx.Node, path: tuple[object, ...], body: Subgraph) -> fx.Node:
    for key in path:
        if isinstance(key, SequenceKey):
            node = _record(body, "call_function", operator.getitem, (node, key.idx))
        elif hasattr(key, "name"):  # a method of the result: size, stride, storage_offset
            node = _record(body, "call_method", key.name, (node,))
        else:
            raise GraphBreak(UNSUPPORTED_VALUE, f"a symbolic number found at {key} of a result")
    return node


def _record(body: Subgraph, op: str, target: Any, args: tuple[object, ...]) -> fx.Node:  # any callable
    values = examples(args)
    assert isinstance(values, tuple)
    result = target(*values) if op == "call_function" else getattr(values[0], target)(*values[1:])
    node = body.append(op, target, args, {})
    node.meta[EXAMPLE] = result
    node.meta[IMPURE] = False
    return node


class _PythonFunctions(PythonReferenceAnalysis):
    """torch's table of functions in expressions; overrides those that torch implements by functions that take no proxy."""

    @staticmethod
    def floor_to_int(x: _Number, dtype: torch.dtype) -> _Number:
        """`math.floor`."""
        return _round_number(math.floor, x)

    @staticmethod
    def ceil_to_int(x: _Number, dtype: torch.dtype) -> _Number:
        """`math.ceil`: the size of `torch.arange(v)`."""
        return _round_number(math.ceil, x)

    @staticmethod
    def trunc_to_int(x: _Number, dtype: torch.dtype) -> _Number:
        """`math.trunc`."""
        return _round_number(math.trunc, x)

    @staticmethod
    def round_to_int(x: _Number, dtype: torch.dtype) -> _Number:
        """`round`."""
        return _round_number(round, x)

    @staticmethod
    def int_truediv(a: _Number, b: _Number) -> _Number:
        """`a / b`."""
        result: _Number = operator.truediv(a, b)
        return result


def _round_number(function: Callable[[float], int], x: _Number) -> _Number:
    return (
        x.tracer.create_proxy("call_function", function, (x,), {}) if isinstance(x, fx.Proxy) else function(x)
    )


def _write(expression: Expression, body: Subgraph) -> fx.Node:
    tracer = fx.proxy.GraphAppendingTracer(body.graph)
    proxies = {symbol: fx.Proxy(body.symbols[symbol], tracer) for symbol in expression.free_symbols}
    before = len(body.graph.nodes)
    try:
        result = sympy_interp(_PythonFunctions, proxies, expression)
    except Exception as error:
        # Nodes are written as the expression is walked: those before the error are there already.
        for node in reversed(list(body.graph.nodes)[before:]):
            body.graph.erase_node(node)
        raise GraphBreak(UNSUPPORTED_VALUE, f"the symbolic number {expression}") from error
    for node in list(body.graph.nodes)[before:]:
        values, keywords = examples(node.args), examples(dict(node.kwargs))
        assert isinstance(values, tuple)
        assert isinstance(keywords, dict)
        assert callable(node.target)
        node.meta[EXAMPLE] = node.target(*values, **keywords)
        node.meta[IMPURE] = False
        body.note(node)
    assert isinstance(result, fx.Proxy)
    return result.node
