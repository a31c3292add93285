"""The text of the function that runs a captured graph, where each repetition of several operations is one line.

    def stretch_0(x, w0):           def forward(self, x, w0, w1):
      mm = x @ w0; x = w0 = None      a = stretch_0(x, w0); x = w0 = None
      a = mm.relu(); mm = None        b = stretch_0(a, w1); a = w1 = None
      return a                        return (b,)

It does what fx's text does: the same operations on the same values in the same order, each value is dropped after its last use
(an operand of a stretch when that returns). The objects it names are globals of its own, never looked up by a path.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, final

from torch import fx
from torch.fx.graph import magic_methods

from framesmith.graph.running.stretch_calls import SharedStretch, StretchCall

_Step: TypeAlias = tuple[fx.Node, Sequence[fx.Node], Sequence[fx.Node]]
"""What stands for a line, the values that it takes, and those that it makes."""
# No floats: nan and inf are no literals.
_LITERALS: Final = frozenset({int, bool, str, bytes, type(None)})


class NotWritable(Exception):
    """The graph holds something that only fx's own text can express."""


@final
class RunText:
    """The lines of the functions, the objects they name, and which line of `forward` runs which stretch."""

    def __init__(self, graph: fx.Graph, shared: Sequence[SharedStretch]) -> None:
        self._nodes = list(graph.nodes)
        names = {node.name for node in self._nodes}
        # That is the module in `forward`.
        if "self" in names:
            raise NotWritable("self")
        self._prefix = _unused_prefix(names)
        self._names: dict[int, str] = {}
        self.globals: dict[str, object] = {}
        self.calls: dict[int, StretchCall] = {}
        self.functions = tuple(f"{self._prefix}stretch_{number}" for number in range(len(shared)))
        self.lines: list[str] = []
        for name, one in zip(self.functions, shared, strict=True):
            self._write_stretch(name, one)
        self._write_forward(shared)

    def _write_stretch(self, name: str, shared: SharedStretch) -> None:
        pattern = shared.calls[0]
        results = [pattern.stretch[place] for place in shared.results]
        self.lines.append(f"def {name}({', '.join([one.name for one in pattern.operands])}):")
        freed = _last_uses([(one, tuple(one._input_nodes), (one,)) for one in pattern.stretch], set(results))
        self.lines += [f"  {self._operation(node)}{_free(freed.get(node, ()))}" for node in pattern.stretch]
        self.lines.append(f"  return {', '.join([one.name for one in results]) or None}")

    def _write_forward(self, shared: Sequence[SharedStretch]) -> None:
        starts = {
            call.stretch[0]: (name, call, [call.stretch[place] for place in one.results])
            for name, one in zip(self.functions, shared, strict=True)
            for call in one.calls
        }
        inside = {node for one in shared for call in one.calls for node in call.stretch}
        inputs = [node for node in self._nodes if node.op == "placeholder"]
        steps = [
            node
            for node in self._nodes
            if node in starts or (node not in inside and node.op != "placeholder")
        ]
        freed = _last_uses(
            (one, starts[one][1].operands, starts[one][2])
            if one in starts
            else (one, tuple(one._input_nodes), (one,))
            for one in steps
        )
        self.lines.append(f"def forward({', '.join(['self', *map(_parameter, inputs)])}):")
        for step in steps:
            if step in starts:
                name, call, results = starts[step]
                self.calls[len(self.lines) + 1] = call
                given = ", ".join([one.name for one in call.operands])
                targets = f"{', '.join([one.name for one in results])} = " if results else ""
                self.lines.append(f"  {targets}{name}({given}){_free(freed.get(step, ()))}")
            elif step.op == "output":
                self.lines.append(f"  return {self._value(step.args[0])}")
            else:
                self.lines.append(f"  {self._operation(step)}{_free(freed.get(step, ()))}")

    def _operation(self, node: fx.Node) -> str:
        """One operation, its result under the name of the node."""
        if node.op == "get_attr":
            parts = str(node.target).split(".")
            # fx writes `getattr(self, "0")` then.
            if not all(map(str.isidentifier, parts)):
                raise NotWritable(node.target)
            return f"{node.name} = self.{node.target}"
        given, keywords = node.args, node.kwargs
        args = [self._value(one) for one in given]
        written = None if node.op != "call_function" or keywords else _write_operator(node, args)
        if written is not None:
            return written
        args += [f"{key}={self._value(value)}" for key, value in keywords.items()]
        if node.op == "call_method":
            if not str(node.target).isidentifier() or not given or not isinstance(given[0], fx.Node):
                raise NotWritable(node.target)
            return f"{node.name} = {args[0]}.{node.target}({', '.join(args[1:])})"
        if node.op != "call_function":
            raise NotWritable(node.op)
        return f"{node.name} = {self._global(node.target)}({', '.join(args)})"

    def _value(self, value: object) -> str:
        """An argument: names of values, literals, new containers; any other constant is the very object."""
        kind = type(value)
        if isinstance(value, fx.Node):
            return value.name
        if kind in _LITERALS:
            return repr(value)
        if isinstance(value, list):
            return f"[{', '.join(map(self._value, value))}]"
        if isinstance(value, dict):
            return (
                f"{{{', '.join([f'{self._value(key)}: {self._value(one)}' for key, one in value.items()])}}}"
            )
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return f"{self._global(slice)}({', '.join(map(self._value, parts))})"
        if isinstance(value, tuple) and (kind is tuple or _holds_nodes(value)):
            items = f"({''.join([f'{self._value(one)}, ' for one in value])})"
            return items if not hasattr(kind, "_fields") else f"{self._global(kind)}(*{items})"
        return self._global(value)

    def _global(self, value: object) -> str:
        """The name of an object, which the globals keep."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"{self._prefix}{len(self._names)}"
            self.globals[name] = value
        return name


def _write_operator(node: fx.Node, args: Sequence[str]) -> str | None:
    """A function of `operator` as Python's operator, which is a call less; None for any other function."""
    if getattr(node.target, "__module__", None) != "_operator":
        return None
    name = getattr(node.target, "__name__", "")
    if name == "setitem":
        return f"{args[0]}[{args[1]}] = {args[2]}; {node.name} = None"
    # not those in place: such a statement binds its operand to the result, also where that is another object
    form = magic_methods.get(name)
    return None if form is None else f"{node.name} = {form.format(*args)}"


def _holds_nodes(values: Iterable[object]) -> bool:
    return any(
        isinstance(one, fx.Node) or (isinstance(one, tuple | list) and _holds_nodes(one)) for one in values
    )


def _unused_prefix(names: Iterable[str]) -> str:
    """What no name of a value begins with."""
    prefix = "framesmith_"
    while [name for name in names if name.startswith(prefix)]:
        prefix = f"_{prefix}"
    return prefix


def _parameter(node: fx.Node) -> str:
    if node.args or node.target != node.name:
        raise NotWritable(node.name)
    return node.name


def _last_uses(steps: Iterable[_Step], kept: Container[fx.Node] = ()) -> Mapping[fx.Node, Sequence[fx.Node]]:
    """By step, the values that no later one uses, of those that it takes or makes; without those that are `kept`."""
    last = {}
    for step, used, made in steps:
        last.update(dict.fromkeys((*made, *used), step))
    freed: dict[fx.Node, list[fx.Node]] = {}
    for one, step in last.items():
        if one not in kept:
            freed.setdefault(step, []).append(one)
    return freed


def _free(values: Sequence[fx.Node]) -> str:
    return f"; {' = '.join([one.name for one in values])} = None" if values else ""


def stretches_before(calls: Mapping[int, StretchCall], line: int) -> Iterator[StretchCall]:
    """The calls on earlier lines of `forward`."""
    return (call for place, call in calls.items() if place < line)
