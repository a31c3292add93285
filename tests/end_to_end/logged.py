"""Programs that note in the global list `log` which code of theirs runs: it has to be the same as in eager, in that order."""

from tests.end_to_end.observe import observe
from tests.end_to_end.perturbed import PRELUDE
from tests.end_to_end.support import Report, compare_outcomes
from tests.end_to_end.worlds import World, load

from framesmith import frontend


class Unheard:
    """Stands in the place of the log while the test itself looks at the values, which the compiler did not ask for."""

    def append(self, note: object) -> None:
        """Nobody listens."""


def check_log(source: str, *, results: bool = True) -> Report:
    """Call `f(*args())` eagerly and compiled, before and after each of `changes`, and compare the log of each call apart.

    `results`: whether the test knows how to compare what the calls return.
    """
    spaces = [load(PRELUDE + source, "logged") for _ in range(2)]
    worlds = [World(space["f"], space["args"]() if "args" in space else (), {}) for space in spaces]
    report = Report()
    callees = [worlds[0].function, frontend.compile(worlds[1].function, backend=report.backend)]
    for number in range(len(spaces[0]["changes"]) + 1):
        outcomes, logs = [], []
        for space, world, callee in zip(spaces, worlds, callees, strict=True):
            if number:
                space["changes"][number - 1]()
            space["log"] = log = []
            outcomes.append(observe(callee, world.args, world.kwargs))
            logs.append(log)
            space["log"] = Unheard()
        assert logs[0] == logs[1], f"call {number}: {logs[0]} eagerly, {logs[1]} compiled"
        if results:
            compare_outcomes(*worlds, *outcomes, f"call {number}")
    return report
