"""An operation that needs a value which keeps changing says so, whatever the operation is."""

import pytest
import torch

from framesmith import frontend
from framesmith.frontend.api import session_of

USES = {
    "length": lambda x, mode: x * len(mode),
    "slice": lambda x, mode: (x + 1, mode[1:]),
    "comparison": lambda x, mode: x + (mode < "m3"),
    "key": lambda x, mode: x * {"m0": 1}.get(mode, 2),
}


@pytest.mark.parametrize("use", USES)
def test_the_break_names_the_cause(use: str) -> None:
    compiled = frontend.compile(USES[use], backend="eager")
    for number in range(8):
        mode = f"m{number}"
        assert repr(compiled(torch.ones(2), mode)) == repr(USES[use](torch.ones(2), mode))
    assert {record.kind for record in session_of(compiled).history.breaks} == {"changing-value"}
