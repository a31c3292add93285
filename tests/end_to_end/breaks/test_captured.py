"""Nothing before, between or after a break is lost: all operators are in graphs, and graphs run = breaks + 1 at most."""

import pytest
from tests.end_to_end.breaks.captured import capture
from tests.end_to_end.breaks.programs import POSITIONS, Program
from tests.end_to_end.breaks.test_matrix import change

# Positions in which operators still run natively, and why.
LOST = {
    "class body": "the body of a class runs natively",
}
# Positions that need one more graph, and why.
SPLIT = {
    "with contextmanager": "leaving the manager resumes a real generator, natively",
    "with two managers": "leaving the manager resumes a real generator, natively",
}


@pytest.mark.parametrize("position", POSITIONS)
def test_all_operators_are_captured(position, request):
    if position in LOST:
        request.applymarker(pytest.mark.xfail(reason=LOST[position], strict=True))
    seen = capture(Program(position, "print", "nothing").source, position, change)
    assert seen.operators == seen.operators_eagerly
    assert seen.runs <= seen.breaks + 1 + (position in SPLIT)
