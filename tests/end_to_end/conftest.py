"""What holds for every end-to-end test: bugs of ours fail the test, emitted code and entries are verified, no state is left over."""

import pytest
import torch

from framesmith import frontend
from framesmith.guards.kinds import GlobalState


@pytest.fixture(autouse=True)
def strict_framesmith():
    """Bugs are raised, emitted code is verified, and each test starts with nothing compiled."""
    torch.set_num_threads(1)
    frontend.reset()
    state = GlobalState.capture()
    with frontend.config.patch(raise_bugs=True, verify_code=True, verify_entries=True):
        yield
    frontend.reset()
    assert state.holds(), f"the test left {state.explain()}"
