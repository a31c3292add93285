"""Results of operations that torch cannot differentiate, and that require gradients all the same: `x // 2`, `torch.heaviside(x, y)`.

In eager only a backward pass that reaches them raises. A backend that differentiates the graph at once (AOTAutograd) fails.
"""

from typing import Final

from torch import fx

from framesmith.graph.fakes.histories import passes_through
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in

_NAME: Final = "torch::autograd::NotImplemented"


def lacks_derivatives(graph: fx.Graph) -> bool:
    """Whether a backward pass from the results of a closed graph reaches an operation without a derivative."""
    found = [
        one
        for node in graph.nodes
        for one in tensors_in(node.meta.get(EXAMPLE))
        # Reading the history of a view that autograd forbids to write to may raise.
        if one.requires_grad
        and not one._is_view()
        and (history := one.grad_fn) is not None
        and history.name() == _NAME
    ]
    results = graph.output_node().all_input_nodes if found else ()
    ends = [one for node in results for one in tensors_in(node.meta.get(EXAMPLE)) if one.requires_grad]
    return passes_through(ends, found)
