"""What a trace decided about sizes that may differ, as checks in the exported graph.

x.size(0) > 2    ->    torch.ops.aten._assert_scalar(gt, "... x.size(0) > 2 does not hold ...")    which, unlike `torch._check`, takes a
text in a graph. They keep a call with other sizes from a wrong answer, and tell `torch.export` what holds.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Final, final

import torch
from torch import fx

from framesmith.frontend.errors import ExportError
from framesmith.frontend.exporting.input_check import make_input_error
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


def add_checks(scope: NodeScope, guards: Iterable[Guard], rename: Callable[[str], str] = str) -> None:
    """Add a check for each relation between sizes that may differ. `rename`: a text in the user's names.

    Raises ExportError for one that cannot be written so.
    """
    for guard in guards:
        claim = guard.claim
        if isinstance(claim, ShapeExpression):
            values = [scope.value_of(source) for source in claim.sources]
            if any(isinstance(value, fx.Proxy) for value in values):
                _add_check(scope, claim, values, rename(claim.text()))


def _add_check(scope: NodeScope, claim: ShapeExpression, values: list[object], said: str) -> None:
    names = PlainNames()
    text = claim.render([f"v{index}" for index in range(len(values))], names)
    known = {f"v{index}": value for index, value in enumerate(values)}
    known.update((name, _ON_NODES.get(value, value)) for name, value in names.constants.items())
    try:
        conditions = _Conditions(known).split(ast.parse(text, mode="eval").body)
    except (fx.proxy.TraceError, TypeError) as error:
        raise ExportError(
            f"the program works where {said}, which cannot be checked in a graph; declare these sizes as fixed"
        ) from error
    message = str(make_input_error("the program", f"{said} does not hold", is_to_differ=True))
    for condition in conditions:
        if isinstance(condition, fx.Proxy):
            assert_in_graph(scope.graph, condition, message)


def assert_in_graph(graph: fx.Graph, condition: object, message: str) -> None:
    """Add a check of one condition, a node, to a graph: RuntimeError with the message where it does not hold."""
    graph.call_function(torch.ops.aten._assert_scalar.default, (node_of(condition), message))


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
