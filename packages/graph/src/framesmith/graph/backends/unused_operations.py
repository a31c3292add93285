"""What a graph does and does not need, for a backend that replaces operations: it draws random numbers, or may raise.

Before: `torch.rand(3); x[i]; return x * 2`. After: `r = torch.rand(3); w = r.detach().flatten()[:0].clone(); v = x[i].detach().any();
return x * 2, w, v`. AOTAutograd drops what leads to no result. Then the generator would give other numbers afterwards than in eager, and
an index that is out of range would not be seen. A graph with such operations in a nested graph, whose results have their places, runs
as it was captured.
"""

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, cast

import torch
from torch import fx
from torch._higher_order_ops.cond import cond_op
from torch._higher_order_ops.wrap import tag_activation_checkpoint

from framesmith.graph.fakes.execution import all_storages, storages_of
from framesmith.graph.fakes.written_memories import memories_written_by
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.operations import transforms
from framesmith.graph.operations.data_errors import has_wild_number, may_raise
from framesmith.graph.operations.missing_kernels import may_be_refused
from framesmith.graph.operations.purity import IMPURE, draws, is_seeded, operation_text
from framesmith.graph.operations.random_draws import checkpoint_with_random_numbers
from framesmith.graph.operations.unchecked_arguments import may_refuse_arguments
from framesmith.graph.replacing_backends import Reliance

_EMPTY: Final[tuple[tuple[str, tuple[int, ...]], ...]] = (
    ("flatten", ()),
    ("narrow", (0, 0, 0)),
    ("clone", ()),
)
_READ: Final[tuple[tuple[str, tuple[int, ...]], ...]] = (("any", ()),)
_READABLE: Final = frozenset({
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
})  # fmt: skip
_REPLACING: Final = frozenset({"zero_", "fill_", "copy_", "setitem", "__setitem__", "set_"})
_READ_NUMBERS: Final = frozenset({"item", "tolist", "as_number", "_local_scalar_dense"})

NOTHING_REPEATED: Final[Mapping[fx.Node, fx.Node]] = MappingProxyType({})
"""For a graph in which no operation is known to repeat another one."""
DRAWS: Final = "framesmith_draws"
"""The key of the mark of an operation that draws or may raise in code of the program: whether its own results do not need that."""


def mark_draws(node: fx.Node, inside: fx.Graph, outputs: Sequence[fx.Node]) -> None:
    """Mark an operation that runs code of the program, of which `inside` is a recording with these outputs."""
    if any(_draws(one) or _may_raise(one, is_nested=True) or bodies_of(one) for one in inside.nodes):
        node.meta[DRAWS] = bool(_unused(inside, outputs, is_nested=True))


def _of_differentiate(node: fx.Node, place: int) -> int:
    count = len(cast(tuple[int, ...], node.args[1]))
    return max(0, place - count)  # all gradients are those of the first result


def _of_push_forward(node: fx.Node, place: int) -> int:
    count = cast(int, node.args[1])
    return place if place < count else place - count  # a tangent stands behind the results


def _as_in_body(_: fx.Node, place: int) -> int:
    return place


_PLACES: Final[dict[object, Callable[[fx.Node, int], int]]] = {
    transforms.map_batched: _as_in_body,
    transforms.differentiate: _of_differentiate,
    transforms.push_forward: _of_push_forward,
    cond_op: _as_in_body,
    tag_activation_checkpoint: _as_in_body,
    checkpoint_with_random_numbers: _as_in_body,
}
"""The result of a nested graph from which an operation makes its result at a place; other operations need all, if they are needed."""


def witness_unused(
    graph: fx.Graph,
    outputs: Sequence[fx.Node],
    reliance: Reliance,
    repeated: Mapping[fx.Node, fx.Node] = NOTHING_REPEATED,
) -> list[fx.Node]:
    """Add a small tensor made of each draw, and of what may raise, that may lead to no result; returns them, to be returned by the
    graph. `repeated`: operations that do what another one does, on operands of the same metadata, with that."""
    if reliance.is_certain:
        return []
    reliance.keeps_all = not _may_drop(graph, set(outputs), _draws, repeated)
    if reliance.keeps_all:
        return []
    unused = _unused(graph, outputs, repeated=repeated)
    if not unused or reliance.ask():
        return []
    return [one for node in unused if not _runs_code(node) and (one := _witness(graph, node)) is not None]


def drops_unused(graph: fx.Graph, repeated: Mapping[fx.Node, fx.Node] = NOTHING_REPEATED) -> bool:
    """Whether a closed graph draws, or may raise, where that leads to no result of it, and could not be given one. `repeated`: as for
    `witness_unused`."""
    if not _may_drop(graph, (), _runs_code, repeated):
        return False
    return not all(map(_draws, _unused(graph, graph.output_node().all_input_nodes, repeated=repeated)))


def _may_drop(
    graph: fx.Graph,
    outputs: Collection[fx.Node],
    counts: Callable[[fx.Node], bool],
    repeated: Mapping[fx.Node, fx.Node] = NOTHING_REPEATED,
) -> bool:
    """Whether it is worth while to look for such operations; `counts` says of which all are looked at."""
    # Where something comes of every operation, and nothing is written to, all that may be refused is needed.
    operations = [node for node in graph.nodes if node.op in ("call_function", "call_method")]
    is_needed = all((node.users or node in outputs) and not node.meta.get(IMPURE) for node in operations)
    # What draws, or may raise, is told by the operation itself and the metadata of its operands.
    distinct = {repeated.get(node, node): node for node in operations}.values()
    return any(counts(node) or _may_raise(node, is_nested=is_needed) for node in distinct)


def _runs_code(node: fx.Node) -> bool:
    """Whether it is decided within the operation what of it is needed."""
    return DRAWS in node.meta or (bool(bodies_of(node)) and not _draws(node))


def _unused(
    graph: fx.Graph,
    outputs: Sequence[fx.Node],
    is_nested: bool = False,
    repeated: Mapping[fx.Node, fx.Node] = NOTHING_REPEATED,
) -> list[fx.Node]:
    """The operations that draw or may raise, and that no result may come from, in order: nothing that matters reads them, or their
    memory is written to afterwards, perhaps all of it. So are the operations with a nested graph of which this may be said."""
    wanted = all_storages(outputs)
    wanted |= all_storages(graph.find_nodes(op="placeholder"))
    needed, written, replaced, found = set(outputs), set[int](), set[int](), list[fx.Node]()
    may_raise_by_first = dict[fx.Node, bool]()
    for node in reversed(graph.nodes):
        if node.op not in ("call_function", "call_method"):
            continue
        operands = all_storages(node.all_input_nodes)
        results = storages_of(node)
        changed = memories_written_by(node)
        # what gives nothing and writes to no tensor is there for an effect
        has_effect = not changed and (bool(node.meta.get(IMPURE)) or not (results or node.users))
        is_needed = node in needed or has_effect or not wanted.isdisjoint(changed or results - operands)
        if DRAWS in node.meta:
            if not is_needed or node.meta[DRAWS]:
                found.append(node)
        elif _draws(node):
            if not (is_needed and written.isdisjoint(results)):
                found.append(node)
        elif bodies := bodies_of(node):
            if any(_drops(node, body, needed if is_needed else ()) for body in bodies):
                found.append(node)
        else:
            first = repeated.get(node, node)
            if first not in may_raise_by_first:
                may_raise_by_first[first] = _may_raise(node, is_nested)
            if may_raise_by_first[first] and not (is_needed and replaced.isdisjoint(changed or results)):
                found.append(node)
                # its witness needs what it reads
                is_needed = True
        if is_needed and not _reads_form(node):
            wanted |= operands
            needed.update(node.all_input_nodes)
        written |= changed
        if _replaces(node):
            replaced |= changed
    return found[::-1]


def bodies_of(node: fx.Node) -> list[fx.GraphModule]:
    """The nested graphs that an operation runs."""
    if node.op != "call_function":
        return []
    values = (one.meta.get(EXAMPLE) for one in node.all_input_nodes if one.op == "get_attr")
    return [value for value in values if isinstance(value, fx.GraphModule)]


def _drops(node: fx.Node, body: fx.GraphModule, needed: Collection[fx.Node]) -> bool:
    """Whether the nested graph draws, or may raise, where that may lead to none of these results of the operation that runs it."""
    values = body.graph.output_node().args[0]
    results = list(values) if isinstance(values, tuple | list) else [values]
    place_of = _PLACES.get(node.target)
    if not needed:
        results = []
    elif place_of is not None and all(user.target is operator.getitem for user in node.users):
        results = [results[place_of(node, cast(int, user.args[1]))] for user in node.users if user in needed]
    return bool(_unused(body.graph, [one for one in results if isinstance(one, fx.Node)], is_nested=True))


def count_draws_of(graph: fx.Graph) -> int:
    """How many operations of a graph draw random numbers, in nested graphs as well."""
    return sum(
        draws(node) + sum(count_draws_of(body.graph) for body in bodies_of(node)) for node in graph.nodes
    )


def _draws(node: fx.Node) -> bool:
    """Whether the node itself draws."""
    return node.target is not checkpoint_with_random_numbers and draws(node)


def _may_raise(node: fx.Node, is_nested: bool = False) -> bool:
    """Whether eager may raise. That a kernel may be missing, or refuse its arguments, does not count in a nested graph: it would hold
    for nearly all that is computed in half precision."""
    if node.op not in ("call_function", "call_method"):
        return False
    if may_raise(node) or has_wild_number(node):
        return True
    return not is_nested and (may_be_refused(node) or may_refuse_arguments(node))


def _replaces(node: fx.Node) -> bool:
    """Whether what was in the memory that is written to has no part in what is there afterwards, but for the other elements."""
    return operation_text(node) in _REPLACING or "out" in node.kwargs or is_seeded(operation_text(node))


def _reads_form(node: fx.Node) -> bool:
    """Whether the node looks at the form of its operands alone: `x.size()`, `torch.zeros_like(x)`, `x.new_ones(2)`."""
    name = operation_text(node)
    if not tensors_in(node.meta.get(EXAMPLE)):
        return not node.meta.get(IMPURE) and name not in _READ_NUMBERS
    return name.endswith("_like") or name.startswith("new_")


def _witness(graph: fx.Graph, unused: fx.Node) -> fx.Node | None:
    """A tensor made right after the operation: a later write cannot take the operation away from it. Empty for a draw; all of the
    result is read of what may raise, as a compiler computes no more than is read."""
    node = unused
    if not tensors_in(unused.meta[EXAMPLE]) and unused.all_input_nodes:
        node = unused.all_input_nodes[0]
    value = node.meta[EXAMPLE]
    place = next((place for place, one in enumerate(_members(value)) if _is_plain(one)), None)
    if place is None:
        return None
    after = unused
    if not isinstance(value, torch.Tensor):
        value = _members(value)[place]
        with graph.inserting_after(after):
            node = after = graph.call_function(operator.getitem, (node, place))
        node.meta[EXAMPLE] = value
    steps = _EMPTY if _draws(unused) or value.dtype not in _READABLE else _READ
    for target, args in (("detach", ()), *steps):
        with graph.inserting_after(after):
            node = after = graph.call_method(target, (node, *args))
        value = getattr(value, target)(*args)
        node.meta.update({EXAMPLE: value, IMPURE: False})
    return node


def _members(example: object) -> Sequence[object]:
    return example if isinstance(example, tuple | list) else (example,)


def _is_plain(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is torch.strided and not value.is_nested
