"""A tiny evaluator of Python expressions over trackers: enough to write tests of slots and rows as text."""

import ast
import builtins

from support import Trace

from framesmith.guards.sources import Pinned
from framesmith.variables.builtin_types.dicts import make_dict_tracker
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.set_methods import make_set_tracker
from framesmith.variables.builtin_types.slices import SliceTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.type_texts import CONVERSIONS, format_value, text_of
from framesmith.variables.core import Constant, Tracker, from_python
from framesmith.variables.operations.binary import binary
from framesmith.variables.operations.compare import compare
from framesmith.variables.operations.truth import known_truth

BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!=", ast.Gt: ">", ast.GtE: ">="}
UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}


class Evaluator:
    """`Evaluator(trace, names)("sorted(x)[0]")` is the tracker of the result."""

    def __init__(self, trace: Trace, names: dict[str, object]) -> None:
        self.trace = trace
        self.tx = trace.tx
        self.names = names
        self.cache: dict[str, Tracker] = {}

    def __call__(self, text: str) -> Tracker:
        for statement in ast.parse(text).body:
            if isinstance(statement, ast.Assign):
                self.assign(statement.targets[0], self.visit(statement.value))
            elif isinstance(statement, ast.Delete):
                target = statement.targets[0]
                self.visit(target.value).delete_subscript(self.tx, self.visit(target.slice))
            else:
                result = self.visit(statement.value)
        return result

    def assign(self, target: ast.expr, value: Tracker) -> None:
        if isinstance(target, ast.Name):
            self.cache[target.id] = value
        else:
            self.visit(target.value).set_subscript(self.tx, self.visit(target.slice), value)

    def visit(self, node: ast.AST) -> Tracker:
        return getattr(self, type(node).__name__)(node).realize()

    def Name(self, node):
        if node.id in self.cache:
            return self.cache[node.id]
        if node.id in self.trace.inputs:
            return self.trace[node.id]
        value = self.names[node.id] if node.id in self.names else getattr(builtins, node.id)
        return self.tx.wrap(value, Pinned(value, node.id))

    def NamedExpr(self, node):
        self.cache[node.target.id] = self.visit(node.value)
        return self.cache[node.target.id]

    def Constant(self, node):
        return from_python(self.tx, node.value)

    def Attribute(self, node):
        return self.visit(node.value).attribute(self.tx, node.attr)

    def Subscript(self, node):
        return self.visit(node.value).subscript(self.tx, self.visit(node.slice))

    def Slice(self, node):
        return SliceTracker(*[part and self.visit(part) for part in (node.lower, node.upper, node.step)])

    def Call(self, node):
        args = []
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                args += self.visit(ast.Call(ast.Name("list"), [arg.value], [])).items
            else:
                args.append(self.visit(arg))
        return self.visit(node.func).call(self.tx, args, {k.arg: self.visit(k.value) for k in node.keywords})

    def BinOp(self, node):
        return binary(self.tx, BINARY[type(node.op)], self.visit(node.left), self.visit(node.right))

    def UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            return Constant(not known_truth(self.tx, self.visit(node.operand)))
        return self.visit(node.operand).unary(self.tx, UNARY[type(node.op)])

    def Compare(self, node):
        left, right, op = self.visit(node.left), self.visit(node.comparators[0]), node.ops[0]
        if isinstance(op, ast.In | ast.NotIn):
            found = right.contains(self.tx, left)
            return found if isinstance(op, ast.In) else Constant(not known_truth(self.tx, found))
        if isinstance(op, ast.Is | ast.IsNot):
            return Constant(left.is_same(self.tx, right) == isinstance(op, ast.Is))
        return compare(self.tx, COMPARE[type(op)], left, right)

    def List(self, node):
        return ListTracker([self.visit(item) for item in node.elts])

    def Tuple(self, node):
        return TupleTracker([self.visit(item) for item in node.elts])

    def Set(self, node):
        return make_set_tracker(self.tx, [self.visit(item) for item in node.elts])

    def Dict(self, node):
        result = make_dict_tracker(())
        for key, item in zip(node.keys, node.values):
            result.store(self.tx, self.visit(key), self.visit(item))
        return result

    def JoinedStr(self, node):
        return Constant("".join(text_of(self.tx, self.visit(part)) for part in node.values))

    def FormattedValue(self, node):
        conversion = "" if node.conversion < 0 else chr(node.conversion)
        value = CONVERSIONS[conversion](self.tx, self.visit(node.value))
        return format_value(self.tx, value, node.format_spec and self.visit(node.format_spec))
