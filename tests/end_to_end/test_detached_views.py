"""A view that is returned with a history, and detached from it as well: both are the part of memory that they are in eager."""

from typing import Any

import pytest
import torch
from tests.end_to_end.compare import Comparison

from framesmith import frontend

BODIES = [
    "z = b.t(); return z, z.detach()",
    "z = b.t(); return b, z, z.data",
    "z = b[0]; return z.detach(), z",
    "z = b[1:]; return [z, z.detach()]",
    "z = b.transpose(0, 1); return z, z.detach().view_as(z)",
    "z = b.t(); return z, b.detach().t()",
    "z = b.unsqueeze(0); return z, z.detach()",
    "z = b.view(-1); return z, z.detach()",
    "z = b.flatten(); return b, z, z.detach()",
    "z = b[0]\n    with torch.no_grad(): w = z.view(2)\n    return z, z.detach(), w.sum()",
    "return b, b.detach()",
]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("body", BODIES)
def test_detached_views(body: str, backend: str) -> None:
    namespace: dict[str, Any] = {"torch": torch}
    exec(f"def f(x):\n    b = x * 2; {body}", namespace)  # noqa: S102
    compiled = frontend.compile(namespace["f"], backend=backend)
    for _ in range(2):
        eager, ours = (
            [*one(torch.arange(4.0).view(2, 2).requires_grad_())] for one in (namespace["f"], compiled)
        )
        Comparison().same(
            [one.detach().clone() for one in eager], [one.detach().clone() for one in ours], body
        )
        assert [one.requires_grad for one in eager] == [one.requires_grad for one in ours]
        assert [one.stride() for one in eager] == [one.stride() for one in ours]
