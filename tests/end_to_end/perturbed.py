"""Programs whose world changes between calls: each change has to be seen by the next call."""

from tests.end_to_end.support import Report, one_call
from tests.end_to_end.worlds import World, load

from framesmith import frontend

PRELUDE = "import collections, dataclasses, enum, functools, typing, abc, weakref, torch\nX = torch.tensor([1.0, 2.0])\n"


def check_changes(source: str, breaks: int | None = None) -> Report:
    """Call `f(*args())` eagerly and compiled, before and after each of the functions in `changes`, in one world each.

    The program is text: it defines `f`, `changes` (they take no arguments) and perhaps `args`.
    """
    spaces = [load(PRELUDE + source, "perturbed") for _ in range(2)]
    worlds = [World(space["f"], space["args"]() if "args" in space else (), {}) for space in spaces]
    report = Report()
    callee = frontend.compile(worlds[1].function, backend=report.backend)
    one_call(*worlds, callee, "before", False, 0.0)
    for number, changes in enumerate(zip(*(space["changes"] for space in spaces), strict=True)):
        for change in changes:
            change()
        one_call(*worlds, callee, f"after change {number}", False, 0.0)
    if breaks is not None:
        session = frontend.api.session_of(callee)
        assert session is not None and len(session.history.breaks) == breaks, session.history.breaks
    return report
