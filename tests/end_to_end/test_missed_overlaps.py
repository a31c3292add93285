"""Views of one tensor as inputs, of which torch's own check does not see that they overlap: one is written to."""

from collections.abc import Callable

import pytest
import torch

from framesmith import frontend

VIEWS: dict[str, Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]] = {
    "corners": lambda base: (base[:-1, :-1], base[1:, 1:]),
    "rows and columns": lambda base: (base[1:], base[:, :-1]),
    "a corner in rows": lambda base: (base[2:, 2:], base[1:]),
    "other columns": lambda base: (base[:, :2], base[:, 2:]),
    "rows": lambda base: (base[:-1], base[1:]),
    "the same": lambda base: (base, base.t()),
}


def program(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y += 1
    return x * 1, y * 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", VIEWS)
def test_what_one_view_writes_the_other_shows(name: str, backend: str) -> None:
    torch._dynamo.reset()
    compiled = frontend.compile(program, backend=backend)
    for start in range(3):
        found = []
        for call in (program, compiled):
            base = torch.full((4, 4), float(start))
            found.append([*call(*VIEWS[name](base)), *call(*reversed(VIEWS[name](base))), base])
        torch.testing.assert_close(*found, rtol=0, atol=0)
