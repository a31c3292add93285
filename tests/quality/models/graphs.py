"""Graph networks of torch_geometric, over graphs that change from call to call."""

from functools import partial
from typing import Any, Final

import torch
import torch_geometric.nn as geometric
from tests.quality.models import Model
from torch import nn

_SHAPES: Final = ((10, 30), (12, 30), (10, 40), (7, 20), (15, 61))


def graph(nodes: int, edges: int) -> dict[str, Any]:
    """Features and edges of one random graph."""
    return {"x": torch.randn(nodes, 8), "edge_index": torch.randint(0, nodes, (2, edges))}


def batch_of_graphs(nodes: int, edges: int) -> dict[str, Any]:
    """The same as three graphs in one."""
    return {**graph(nodes, edges), "batch": torch.arange(nodes) * 3 // nodes}


class Pooled(nn.Module):
    """Two layers of a network, then one value for each graph."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.head = nn.Linear(16, 2)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.head(geometric.global_mean_pool(self.network(x, edge_index), batch, 3))
        return found


def network(kind: Any, **settings: Any) -> Model:
    """One of the ready networks."""
    return Model(partial(kind, 8, 16, 2, **settings), graph, _SHAPES)


MODELS: Final = {
    "gcn": network(geometric.GCN),
    "gat": network(geometric.GAT, heads=2),
    "gatv2": network(geometric.GAT, heads=2, v2=True),
    "gin": network(geometric.GIN),
    "sage": network(geometric.GraphSAGE),
    "edge network": Model(partial(geometric.EdgeCNN, 8, 16, 2), graph, _SHAPES),
    "gin with pooling": Model(lambda: Pooled(geometric.GIN(8, 16, 2)), batch_of_graphs, _SHAPES),
    "gcn with pooling": Model(lambda: Pooled(geometric.GCN(8, 16, 2)), batch_of_graphs, _SHAPES),
}
