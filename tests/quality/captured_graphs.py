"""The graphs that a compiler gives its backend."""

from collections.abc import Callable
from typing import Any

import torch
from torch import fx


def graphs_of(
    compiler: Callable[..., Any], call: Callable[..., Any], *args: Any, **keywords: Any
) -> list[fx.Graph]:
    """Those of one call without gradients, in their order."""
    found = list[fx.Graph]()

    def backend(module: fx.GraphModule, _: object) -> Callable[..., Any]:
        found.append(module.graph)
        return module.forward

    with torch.no_grad():
        compiler(call, backend=backend)(*args, **keywords)
    return found
