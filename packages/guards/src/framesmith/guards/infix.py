"""Formulas as a user writes them, for texts only: `n * 2 <= 2.9` where the guard computes `le(mul(n, 2), 2.9)`.

Before: `<1 + 2*v0>` with v0 being `n`, or the functions of `operator` on written operands.
After: `2 * n + 1`, with parentheses where Python's precedence asks for them.
"""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, final

# how tightly an operator binds: "Operator precedence" of the language reference, loosest first
_IF, _OR, _AND, _NOT, _COMPARE, _BITOR, _BITXOR, _BITAND, _SHIFT, _SUM, _PRODUCT, _SIGN, _POWER, _PRIMARY = (
    range(14)
)

_BINARY: Final[Mapping[str, int]] = {
    "|": _BITOR,
    "^": _BITXOR,
    "&": _BITAND,
    "<<": _SHIFT,
    ">>": _SHIFT,
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "@": _PRODUCT,
    "/": _PRODUCT,
    "//": _PRODUCT,
    "%": _PRODUCT,
    "**": _POWER,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"), _COMPARE),
}
_SYMBOLS: Final[Mapping[Callable[..., object], str]] = {
    operator.or_: "|",
    operator.xor: "^",
    operator.and_: "&",
    operator.lshift: "<<",
    operator.rshift: ">>",
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
    operator.eq: "==",
    operator.ne: "!=",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
}
_SIGNS: Final[Mapping[Callable[..., object], str]] = {
    operator.neg: "-",
    operator.pos: "+",
    operator.invert: "~",
}
# What sympy's and torch's printers call operators and functions of Python (`kinds.shapes.FUNCTIONS`).
_PRINTED_OPERATORS: Final[Mapping[str, str]] = {
    "Mod": "%",
    "PythonMod": "%",
    "FloorDiv": "//",
    "CleanDiv": "//",
    "IntTrueDiv": "/",
    "FloatTrueDiv": "/",
    "PowByNatural": "**",
    "FloatPow": "**",
    "same": "==",
}
_PRINTED_FUNCTIONS: Final[Mapping[str, str]] = {
    "Max": "max",
    "Min": "min",
    "Abs": "abs",
    "FloorToInt": "math.floor",
    "CeilToInt": "math.ceil",
    "TruncToInt": "math.trunc",
    "RoundToInt": "round",
    "ToFloat": "float",
}
_NODES: Final[Mapping[type[ast.AST], str]] = {
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.BitAnd: "&",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.MatMult: "@",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
}


@final
@dataclass(frozen=True, slots=True)
class Infix:
    """The text of an expression, and how tightly its outermost operator binds."""

    text: str
    binding: int = _PRIMARY

    def above(self, binding: int) -> str:
        """The text as an operand, in parentheses unless it binds more tightly than that."""
        return self.text if self.binding > binding else f"({self.text})"

    @property
    def is_comparison(self) -> bool:
        """Whether it gives a bool already."""
        return self.binding in (_COMPARE, _NOT)


def write_number(value: float) -> Infix:
    """A constant."""
    text = repr(value)
    return Infix(text, _SIGN if text.startswith("-") else _PRIMARY)


def write_call(function: Callable[..., object], name: str, operands: Sequence[Infix]) -> Infix:
    """`function(*operands)`, an operator where it is one of `operator`; `name` is that of the function."""
    if len(operands) == 2 and function in _SYMBOLS:
        return _write_binary(_SYMBOLS[function], *operands)
    if len(operands) == 1 and function in _SIGNS:
        return _write_sign(_SIGNS[function], operands[0])
    return Infix(f"{name}({', '.join(operand.text for operand in operands)})")


def write_formula(formula: str, operands: Sequence[Infix]) -> Infix:
    """A formula of sympy's printers, whose `v0`, `v1` ... are the operands."""
    return _Writer(operands).write(_parse(formula))


def _write_binary(symbol: str, left: Infix, right: Infix) -> Infix:
    binding = _BINARY[symbol]
    if binding == _POWER:  # from the right, and its exponent takes a sign
        return Infix(f"{left.above(_POWER)} ** {right.above(_PRODUCT)}", _POWER)
    # comparisons would be chained
    beside = binding if binding == _COMPARE else binding - 1
    return Infix(f"{left.above(beside)} {symbol} {right.above(binding)}", binding)


def _write_sign(symbol: str, operand: Infix) -> Infix:
    return Infix(f"{symbol}{operand.above(_PRODUCT)}", _SIGN)


@lru_cache(maxsize=256)
def _parse(formula: str) -> ast.expr:
    return ast.parse(formula.strip(), mode="eval").body


@final
class _Writer:
    """Writes a parsed formula, with these operands for its parameters."""

    def __init__(self, operands: Sequence[Infix]) -> None:
        self._operands = {f"v{index}": operand for index, operand in enumerate(operands)}

    def write(self, node: ast.expr) -> Infix:
        """The text of a node of the tree; a node of another kind as Python prints it."""
        method = _WRITERS.get(type(node))
        return method(self, node) if method is not None else self._print(node)

    def _print(self, node: ast.expr) -> Infix:
        # with each parameter in parentheses where it needs any, since what is around it is not known
        named = {name: operand.above(_POWER) for name, operand in self._operands.items()}
        return Infix(ast.unparse(_Renaming(named).visit(ast.parse(ast.unparse(node), mode="eval"))))

    def _write_name(self, node: ast.Name) -> Infix:
        return self._operands.get(node.id, Infix(node.id))

    def _write_constant(self, node: ast.Constant) -> Infix:
        return Infix(repr(node.value))

    def _write_binary(self, node: ast.BinOp) -> Infix:
        if isinstance(node.op, ast.Add | ast.Sub):
            return self._write_sum(node)
        return _write_binary(_NODES[type(node.op)], self.write(node.left), self.write(node.right))

    def _write_sum(self, node: ast.BinOp) -> Infix:
        """A sum, the terms without a parameter last: `-1 + 3*n` is `3 * n - 1`."""
        terms = [*_find_terms(node, 1)]
        if any(sign > 0 and not _is_number(term) for sign, term in terms):  # else it would begin with a sign
            terms.sort(key=lambda term: _is_number(term[1]))
        whole: Infix | None = None
        for sign, term in terms:
            written = self.write(term)
            if whole is None:
                whole = written if sign > 0 else _write_sign("-", written)
            else:
                whole = _write_binary("+" if sign > 0 else "-", whole, written)
        assert whole is not None
        return whole

    def _write_unary(self, node: ast.UnaryOp) -> Infix:
        operand = self.write(node.operand)
        if isinstance(node.op, ast.Not):
            return Infix(f"not {operand.above(_AND)}", _NOT)
        return _write_sign(_NODES[type(node.op)], operand)

    def _write_truths(self, node: ast.BoolOp) -> Infix:
        word, binding = ("and", _AND) if isinstance(node.op, ast.And) else ("or", _OR)
        return Infix(f" {word} ".join(self.write(value).above(binding) for value in node.values), binding)

    def _write_comparison(self, node: ast.Compare) -> Infix:
        # `bool(n > 3) is True` is what `n > 3` says
        truth = _find_truth(node)
        if truth is not None:
            asked = self.write(truth[0])
            if asked.is_comparison:
                return asked if truth[1] else Infix(f"not {asked.above(_AND)}", _NOT)
        parts = [self.write(node.left).above(_COMPARE)]
        for symbol, value in zip(node.ops, node.comparators, strict=True):
            parts += [_NODES[type(symbol)], self.write(value).above(_COMPARE)]
        return Infix(" ".join(parts), _COMPARE)

    def _write_choice(self, node: ast.IfExp) -> Infix:
        yes, condition, no = (self.write(one).above(_IF) for one in (node.body, node.test, node.orelse))
        return Infix(f"{yes} if {condition} else {no}", _IF)

    def _write_call(self, node: ast.Call) -> Infix:
        if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
            return self._print(node)
        operands = [self.write(one) for one in node.args]
        name = ast.unparse(node.func)
        if name in _PRINTED_OPERATORS and len(operands) == 2:
            return _write_binary(_PRINTED_OPERATORS[name], *operands)
        if name == "bool" and len(operands) == 1 and operands[0].is_comparison:
            return operands[0]
        name = _PRINTED_FUNCTIONS.get(name, name)
        return Infix(f"{name}({', '.join(operand.text for operand in operands)})")


_WRITERS: Final[Mapping[type[ast.expr], Callable[..., Infix]]] = {
    ast.Name: _Writer._write_name,
    ast.Constant: _Writer._write_constant,
    ast.BinOp: _Writer._write_binary,
    ast.UnaryOp: _Writer._write_unary,
    ast.BoolOp: _Writer._write_truths,
    ast.Compare: _Writer._write_comparison,
    ast.IfExp: _Writer._write_choice,
    ast.Call: _Writer._write_call,
}


@final
class _Renaming(ast.NodeTransformer):
    """Gives names the text of what they stand for."""

    def __init__(self, named: Mapping[str, str]) -> None:
        self._named = named

    def visit_Name(self, node: ast.Name) -> ast.Name:  # the name is ast's
        """The name of the operand."""
        return ast.Name(self._named.get(node.id, node.id))


def find_asked(formula: str) -> tuple[str, bool] | None:
    """What a formula of the form `bool(v0 > 3) is True` asks, and the answer; None for any other."""
    node = _parse(formula)
    found = _find_truth(node) if isinstance(node, ast.Compare) else None
    return None if found is None else (ast.unparse(found[0]), found[1])


def _find_truth(node: ast.Compare) -> tuple[ast.expr, bool] | None:
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Is):
        return None
    answer, asked = node.comparators[0], node.left
    if not isinstance(answer, ast.Constant) or type(answer.value) is not bool:
        return None
    return asked, answer.value


def _find_terms(node: ast.expr, sign: int) -> Sequence[tuple[int, ast.expr]]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        right = sign if isinstance(node.op, ast.Add) else -sign
        return [*_find_terms(node.left, sign), *_find_terms(node.right, right)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return [*_find_terms(node.operand, -sign)]
    return [(sign, node)]


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)
