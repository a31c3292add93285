"""Ties between sizes that were declared under names: equations that leave no choice of one where another is known.

Before: `x.size(0) == y.size(0) + 1`, where x.size(0) was declared as `b` and y.size(0) as `c`.
After: `b == c + 1`, and `c + 1` may be declared in place of `b`.

Equations with sizes that have no name are solved for these first. What narrows one name (a range, a divisor) is no tie; equations
between three names are not looked at, nor those with products of names: no declaration could say them.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, final

import sympy

from framesmith.graph.nodes.expressions import Expression, Symbol
from framesmith.guards.guards import Guard
from framesmith.guards.kinds.shapes import ShapeExpression
from framesmith.guards.names import PlainNames
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True)
class LinearSize:
    """A size that was declared as `factor * name + offset`."""

    name: str
    factor: int = 1
    offset: int = 0


@final
@dataclass(frozen=True, slots=True)
class SizeTie:
    """What the program asks of the names, one or two: `b == c + 1`, or `b == 3`, with the user's frame that asked if it is known.

    `replacements`: what may be declared in place of names, so that it holds for all sizes; empty where nothing can be.
    """

    names: tuple[str, ...]
    text: str
    user_frame: str | None
    replacements: Mapping[str, str] = field(default_factory=dict)


_NameOf: TypeAlias = Callable[[Source], LinearSize | None]
_Equation: TypeAlias = tuple[Expression, str | None]
"""An expression that is 0, and the user's frame."""


def find_ties(guards: Iterable[Guard], name_of: _NameOf) -> list[SizeTie]:
    """The ties that these guards make between names, each once. `name_of` says how a source was declared, if it was."""
    symbols: dict[str, Symbol] = {}
    equations = list(_equations(guards, name_of, symbols))
    named = set(symbols.values())
    found: dict[Expression, SizeTie] = {}
    for expression, frame in _without_others(equations, named):
        free = sorted(expression.free_symbols, key=str)
        if not free or not set(free) <= named or not expression.is_polynomial(*free):
            continue
        if len(free) == 1:
            found.setdefault(expression, _fixed(expression, free[0], frame))
        elif len(free) == 2 and sympy.Poly(expression, *free).total_degree() == 1:
            found.setdefault(expression, _related(expression, free[0], free[1], frame))
    return list(found.values())


def _equations(guards: Iterable[Guard], name_of: _NameOf, symbols: dict[str, Symbol]) -> Iterator[_Equation]:
    others: dict[Source, Symbol] = {}

    def value_of(source: Source) -> Expression:
        declared = name_of(source)
        if declared is None:
            return others.setdefault(source, sympy.Dummy(integer=True))
        symbol = symbols.setdefault(declared.name, sympy.Symbol(declared.name, integer=True))
        return declared.factor * symbol + declared.offset

    for guard in guards:
        if isinstance(guard.claim, ShapeExpression):
            expression = _difference(guard.claim, [value_of(source) for source in guard.claim.sources])
            if expression is not None:
                yield expression, guard.reason.user_frame


def _difference(claim: ShapeExpression, values: list[Expression]) -> Expression | None:
    """What is 0 if an equation holds; None for other relations, and for functions that sympy does not take."""
    names = PlainNames()
    text = claim.render([f"v{index}" for index in range(len(values))], names)
    tree = ast.parse(text, mode="eval").body
    if not isinstance(tree, ast.Compare) or not all(isinstance(kind, ast.Eq) for kind in tree.ops):
        return None
    known = {**names.constants, **{f"v{index}": value for index, value in enumerate(values)}}
    difference = ast.Expression(ast.BinOp(tree.left, ast.Sub(), tree.comparators[0]))
    code = compile(ast.fix_missing_locations(difference), "<equation>", "eval")
    try:
        return sympy.expand(eval(code, {"__builtins__": {}}, known))
    except (TypeError, ValueError, AttributeError):
        return None


def _without_others(equations: list[_Equation], named: set[Symbol]) -> list[_Equation]:
    """The equations, solved for symbols that are no names wherever they hold one as it is."""
    waiting, index = list(equations), 0
    while index < len(waiting):
        expression, frame = waiting[index]
        solved = _solve_for_other(expression, named)
        if solved is None:
            index += 1
            continue
        del waiting[index]
        symbol, value = solved
        waiting = [
            (sympy.expand(each.subs(symbol, value)), of_each or frame)
            if each.has(symbol)
            else (each, of_each)
            for each, of_each in waiting
        ]
        index = 0
    return waiting


def _solve_for_other(expression: Expression, named: set[Symbol]) -> tuple[Symbol, Expression] | None:
    for symbol in sorted(expression.free_symbols - named, key=lambda other: other.dummy_index):
        factor = expression.diff(symbol)
        if factor.is_number and factor != 0:
            return symbol, sympy.expand(symbol - expression / factor)
    return None


def _fixed(expression: Expression, symbol: Symbol, frame: str | None) -> SizeTie:
    roots = [root for root in sympy.roots(expression, symbol) if root.is_integer and root > 0]
    text = " or ".join(f"{symbol} == {root}" for root in roots) or f"{expression} == 0"
    return SizeTie((str(symbol),), text, frame)


def _related(expression: Expression, left: Symbol, right: Symbol, frame: str | None) -> SizeTie:
    """`p*left + q*right + r == 0`: the one that is a multiple of the other, and not less, is written first."""
    names = (str(left), str(right))
    forms: list[tuple[Symbol, Expression]] = []
    for one, other in ((right, left), (left, right)):
        factor = expression.coeff(one)
        value = sympy.expand(one - expression / factor)
        slope, offset = value.coeff(other), value.subs(other, 0)
        if slope.is_integer and slope > 0 and offset.is_integer:
            forms.append((one, value))
            if offset >= 0:
                return SizeTie(names, f"{one} == {value}", frame, {str(one): str(value)})
    if forms:
        one, value = forms[0]
        return SizeTie(names, f"{one} == {value}", frame, {str(one): str(value)})
    of_left, of_right, rest = (
        expression.coeff(left),
        expression.coeff(right),
        expression.subs({left: 0, right: 0}),
    )
    if of_left < 0:
        of_left, of_right, rest = -of_left, -of_right, -rest
    text = f"{of_left * left} == {-of_right * right - rest}"
    if rest != 0 or of_right > 0:
        return SizeTie(names, text, frame)
    both = sympy.gcd(of_left, of_right)
    new = sympy.Symbol(f"{left}_{right}", integer=True)
    return SizeTie(
        names, text, frame, {str(left): str(-of_right / both * new), str(right): str(of_left / both * new)}
    )
