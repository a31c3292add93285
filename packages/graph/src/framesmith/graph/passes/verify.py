"""`verify`: what must hold of a recorded graph. It returns problems, each with its node, and never raises."""

from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE


def verify(graph: fx.Graph) -> list[str]:
    """The problems of a graph, an empty list if it is sound: order of nodes, owners of arguments, examples, one output."""
    problems: list[str] = []
    seen: set[fx.Node] = set()
    body_started = False
    outputs = 0
    names: set[str] = set()
    for node in graph.nodes:
        if node.op == "placeholder":
            if body_started:
                problems.append(f"{_place(node)}: an input after the first operation")
        else:
            body_started = True
        if node.name in names:
            problems.append(f"{_place(node)}: the name is used twice")
        names.add(node.name)
        # `all_input_nodes` without the copy
        for argument in node._input_nodes:
            if argument in seen:
                continue
            if argument.graph is not graph:
                problems.append(f"{_place(node)}: argument {argument.name} belongs to another graph")
            else:
                problems.append(f"{_place(node)}: argument {argument.name} is computed later")
        if outputs:
            problems.append(f"{_place(node)}: stands after the output")
        if node.op == "output":
            outputs += 1
        elif EXAMPLE not in node.meta:
            problems.append(f"{_place(node)}: has no {EXAMPLE}")
        seen.add(node)
    if outputs != 1:
        problems.append(f"the graph has {outputs} outputs instead of one")
    return problems


def _place(node: fx.Node) -> str:
    return f"{node.op} {node.name} = {node.target}"
