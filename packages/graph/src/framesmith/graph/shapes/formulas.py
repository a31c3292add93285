"""Where a symbolic number comes from: the source of an input's size, or a function that Python computes from such sources.

Before: `2*s0 + 1` with s0 being `x.size(0)`. After: a computed source over `x.size(0)`.
"""

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import cast, final

import sympy
import torch
from torch.utils._sympy.printers import PythonPrinter
from torch.utils._sympy.symbol import SymT, symbol_is_type

from framesmith.graph.nodes.expressions import Symbol
from framesmith.graph.shapes.shape_env import ShapeEnvAdapter
from framesmith.guards.kinds.shapes import FUNCTIONS
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.computed import Computed


@final
class _FormulaPrinter(PythonPrinter):
    """Prints the symbols as parameters."""

    def __init__(self, symbols: list[Symbol]) -> None:
        super().__init__()
        self._symbols = symbols

    def _print_Symbol(self, symbol: Symbol) -> str:  # the name is sympy's
        return f"v{self._symbols.index(symbol)}"


@final
class Numbers:
    """Where the symbolic numbers of a trace come from."""

    def __init__(self, world: ShapeEnvAdapter) -> None:
        self._world = world

    def source_of(self, value: torch.SymInt | torch.SymFloat) -> Source | None:
        """The source that computes a symbolic number from the values of the call; None if it is fixed, or if an operation of the graph invents it."""
        expression = value.node.expr
        # In one order, so that equal formulas have one text and share a function.
        symbols = sorted(expression.free_symbols, key=str)
        sources = [self._world.source_of(symbol) for symbol in symbols]
        known = tuple(source for source in sources if source is not None)
        # Some symbol comes out of an operation, so the number does not exist before the graph has run.
        if not known or len(known) != len(symbols) or not value.node.has_hint():
            return None
        if isinstance(expression, sympy.Symbol):
            return known[0]
        text = _FormulaPrinter(symbols).doprint(expression)
        return Computed(_function(text, len(symbols)), known, sys.intern(f"<{text}>"))

    def explain_marked(self, value: torch.SymInt | torch.SymFloat | torch.SymBool) -> list[str]:
        """Which sizes in a number have no value while tracing, since they were marked so: `u0 is x.size(0), marked with mark_unbacked`."""
        found: list[str] = []
        for symbol in sorted(value.node.expr.free_symbols, key=str):
            source = self._world.source_of(symbol) if symbol_is_type(symbol, SymT.UNBACKED_INT) else None
            if source is not None:
                found.append(f"{symbol} is {source.text()}, marked with mark_unbacked")
        return found


@lru_cache(maxsize=1024)
def _function(text: str, count: int) -> Callable[..., object]:
    """One function for one text: sources are equal when their functions are the same object."""
    parameters = ", ".join(f"v{index}" for index in range(count))
    return cast(Callable[..., object], eval(f"lambda {parameters}: {text}", {**FUNCTIONS, "torch": torch}))
