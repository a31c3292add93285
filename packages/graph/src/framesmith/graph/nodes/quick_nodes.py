"""Nodes and names as `fx.Graph` makes them, without what it does for callers that it does not know.

`Graph.create_node` looks through all arguments for symbolic numbers and derives the name of a node from its target anew each time;
`Graph.placeholder` keeps a target that is then replaced. Both are half of the cost of a repeated operation. A node made here has
the name, the place and the entries in the graph's tables that fx would have given it.
"""

from functools import lru_cache
from string import digits
from typing import Final

from torch import fx
from torch.fx.graph import _illegal_names, _Namespace
from torch.fx.node import Target

_KINDS: Final = 4096


def copy_node(node: fx.Node, args: tuple[object, ...], kwargs: dict[str, object]) -> fx.Node:
    """Add, at the end of its graph, what a call does with other arguments. These hold no raw symbolic number."""
    graph = node.graph
    return _insert(graph, graph._root, _candidate(node.target), node.op, node.target, args, kwargs)


def name_after(node: fx.Node, variable: str) -> None:
    """Name a node after a variable of the program."""
    if node.name != variable:
        namespace = node.graph._graph_namespace
        # the GraphModule is `self` in its text
        name = _next_name(namespace, "self_1" if variable == "self" else variable)
        object.__setattr__(node, "name", name)  # no table of fx goes by names
        namespace._rename_object(node, name)


def new_input(graph: fx.Graph, name: str, after: fx.Node) -> fx.Node:
    """Add a placeholder after another node. Its target, the parameter in the text of the graph, is its name."""
    # not kept: nearly each input has a name of its own
    is_plain = name.islower() and not name.startswith("__")  # fx writes no letter of it otherwise
    candidate = name if is_plain else graph._target_to_str(name)
    return _insert(graph, after._next, candidate, "placeholder", None, (), {})


def _insert(
    graph: fx.Graph,
    before: fx.Node,
    candidate: str,
    op: str,
    target: Target | None,
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> fx.Node:
    """Without a target it is the name that the node gets."""
    namespace = graph._graph_namespace
    name = _next_name(namespace, candidate)
    node = fx.Node(graph, name, op, name if target is None else target, args, kwargs)  # type: ignore[arg-type]  # fx's closed types
    namespace.associate_name_with_obj(name, node)
    before._prepend(node)
    graph._find_nodes_lookup_table.insert(node)
    graph._len += 1
    return node


def _next_name(namespace: _Namespace, candidate: str) -> str:
    """The name that `create_name` gives."""
    used = namespace._used_names
    if candidate[-1:] in digits:
        return namespace.create_name(candidate, None)
    # a variable named `input`, say, hides a builtin: it gets a number in any case
    if candidate not in used and _illegal_names.get(candidate) is None:
        # nearly every input: it stays as it is
        if not (candidate.isidentifier() and candidate.isascii()) or candidate in _illegal_names:
            return namespace.create_name(candidate, None)
        used.add(candidate)
        namespace._base_count.setdefault(candidate, 0)
        return candidate
    # nearly every operation here: the next free number is appended
    number = namespace._base_count.get(candidate, 0) + 1
    while (name := f"{candidate}_{number}") in used:
        number += 1
    used.add(name)
    namespace._base_count[candidate] = number
    return name


@lru_cache(maxsize=_KINDS)
def _candidate(target: Target) -> str:
    """What fx makes the name of."""
    return fx.Graph()._target_to_str(target)
