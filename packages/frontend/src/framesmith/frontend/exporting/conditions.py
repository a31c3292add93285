"""What a trace decided about sizes that may differ, as checks in the exported graph: `torch._check(x.size(0) > 2)`.

They keep a call with other sizes from a wrong answer, and tell `torch.export` what holds.
"""

import ast
from collections.abc import Iterable, Mapping
from typing import Final, final

import torch
from torch import fx

from framesmith.frontend.errors import ExportError
from framesmith.frontend.exporting.proxies import NodeScope, node_of
from framesmith.guards import Guard
from framesmith.guards.kinds.shapes import FUNCTIONS, ShapeExpression
from framesmith.guards.names import PlainNames

_ON_NODES: Final[Mapping[object, object]] = {
    max: torch.sym_max,
    min: torch.sym_min,
    int: torch.sym_int,
    float: torch.sym_float,
}
"""Functions of shape expressions that a proxy does not take, with those that it does."""


def add_checks(scope: NodeScope, guards: Iterable[Guard]) -> None:
    """Add a check for each relation between sizes that may differ. Raises ExportError for one that cannot be written so."""
    for guard in guards:
        claim = guard.claim
        if isinstance(claim, ShapeExpression):
            values = [scope.value_of(source) for source in claim.sources]
            if any(isinstance(value, fx.Proxy) for value in values):
                _add_check(scope, claim, values)


def _add_check(scope: NodeScope, claim: ShapeExpression, values: list[object]) -> None:
    names = PlainNames()
    text = claim.render([f"v{index}" for index in range(len(values))], names)
    known = {f"v{index}": value for index, value in enumerate(values)}
    known.update((name, _ON_NODES.get(value, value)) for name, value in names.constants.items())
    try:
        conditions = _Conditions(known).split(ast.parse(text, mode="eval").body)
    except (fx.proxy.TraceError, TypeError) as error:
        raise ExportError(
            f"the program works where {claim.text()}, which cannot be checked in a graph; declare these sizes as fixed"
        ) from error
    for condition in conditions:
        if isinstance(condition, fx.Proxy):
            scope.graph.call_function(torch._check, (node_of(condition),))


@final
class _Conditions:
    """Splits `a <= b and b < c` into comparisons, since neither `and` nor a chain works on proxies."""

    def __init__(self, names: Mapping[str, object]) -> None:
        self._names = dict(names)

    def split(self, tree: ast.expr) -> list[object]:
        """The conditions that all have to hold."""
        if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
            return [each for part in tree.values for each in self.split(part)]
        if isinstance(tree, ast.Compare):
            parts = [tree.left, *tree.comparators]
            pairs = zip(parts, parts[1:], tree.ops, strict=False)
            return [self._evaluate(ast.Compare(left, [kind], [right])) for left, right, kind in pairs]
        return [self._evaluate(tree)]

    def _evaluate(self, tree: ast.expr) -> object:
        code = compile(ast.fix_missing_locations(ast.Expression(tree)), "<condition>", "eval")
        return eval(code, {"__builtins__": {}}, self._names)


# `_ON_NODES` finds these two by identity
assert FUNCTIONS["Max"] is max and FUNCTIONS["Min"] is min
