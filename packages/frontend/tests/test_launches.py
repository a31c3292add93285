"""Where a trace stops that began something which it does not end."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from framesmith.frontend.tracing.launches import check_launches
from framesmith.frontend.tracing.replanning import Restart
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL


@dataclass
class Launch:
    """Begun in one step, ended in another."""

    step: int
    ended: int | None
    escapes: bool = False

    def explain(self) -> GraphBreak:
        return GraphBreak(NATIVE_CALL, f"begun in step {self.step}")


def context(*launches):
    return SimpleNamespace(changes=SimpleNamespace(launches=launches))


@pytest.mark.parametrize(
    ("launches", "step"),
    [
        ([(3, None)], 3),
        ([(3, 5, True)], 3),
        ([(2, 4), (5, None), (7, None)], 5),
        ([(2, 9), (5, None)], 2),
        ([(1, 3), (2, 9), (5, None)], 1),
    ],
)
def test_the_stop_is_before_all_that_would_have_no_end(launches, step):
    with pytest.raises(Restart) as caught:
        check_launches(context(*(Launch(*one) for one in launches)))
    assert caught.value.stop.step == step
    assert str(step) in str(caught.value.stop.end.reason)


def test_what_has_ended_is_left_in_the_graph():
    check_launches(context(Launch(2, 4), Launch(3, 9)))
