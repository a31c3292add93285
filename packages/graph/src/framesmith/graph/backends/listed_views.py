"""Views that an operation on lists of tensors writes to, of what is differentiated.

w = h.t()
torch._foreach_add_([w], [weight])
return w                        AOTAutograd: no gradient for `weight`
"""

from typing import Final

from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.operations.data_errors import operator_name

OF_LISTS: Final = "_foreach_"
"""What the names of these operations begin with."""


def writes_to_listed_views(graph: fx.Graph) -> bool:
    """Whether an operation of this kind writes to a view with a history."""
    return any(
        operator_name(node.op, node.target).startswith(OF_LISTS)
        and operator_name(node.op, node.target).endswith("_")
        and any(
            one.requires_grad and one._is_view()
            for target in node.args[:1]
            for operand in (target if isinstance(target, list | tuple) else ())
            if isinstance(operand, fx.Node)
            for one in tensors_in(operand.meta.get(EXAMPLE))
        )
        for node in graph.nodes
        if node.op in ("call_function", "call_method")
    )
