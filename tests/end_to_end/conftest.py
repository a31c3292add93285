"""What holds for every end-to-end test: bugs of ours fail the test, emitted code and entries are verified, no state is left over."""

import pytest
import torch

from framesmith import frontend
from framesmith.guards.kinds import GlobalState


class Ending:
    """Says when the last reference to it is gone."""

    ended = False

    def __del__(self) -> None:
        Ending.ended = True


def ends_late(held: object) -> bool:
    """Whether the caller still holds an argument that nobody else holds: a hook is in force that runs each frame (PEP 523)."""
    del held
    return not Ending.ended


def has_frame_hook() -> bool:
    """Whether any thread has a hook in the interpreter; torch only tells that of its own for the thread that asks."""
    Ending.ended = False
    return ends_late(Ending())


@pytest.fixture(autouse=True)
def strict_framesmith():
    """Bugs are raised, emitted code is verified, and each test starts with nothing compiled."""
    torch.set_num_threads(1)
    frontend.reset()
    state, hooked = GlobalState.capture(), has_frame_hook()
    with frontend.config.patch(raise_bugs=True, verify_code=True, verify_entries=True):
        yield
    frontend.reset()
    assert state.holds(), f"the test left {state.explain()}"
    # objects of the tests behind it would end later, eagerly too
    assert hooked or not has_frame_hook(), (
        "the test left a hook in the interpreter: run it in a child (`children`)"
    )
