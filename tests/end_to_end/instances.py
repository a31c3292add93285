"""Programs with several callables of the same code: each is compiled by itself and compared with its own eager twin."""

from tests.end_to_end.perturbed import PRELUDE
from tests.end_to_end.support import Report, one_call
from tests.end_to_end.worlds import World, load

from framesmith import frontend


def check_instances(
    source: str,
    *,
    compiles: int | None = None,
    rounds: int = 2,
    backward: bool = True,
    backend: str | None = None,
    **options: object,
) -> Report:
    """Call each of the callables `fs` of a program eagerly and compiled, `rounds` times in turn, in one world each.

    The program may define `args(number)`, and `changes`: functions of which one is called after each round, which makes
    one more round each. `compiles`: the number of graphs that all of them together took.
    """
    report = Report()
    counted = backend or report.backend  # one object, since functions with different backends share nothing
    spaces = [load(PRELUDE + source, "instances") for _ in range(2)]
    compiled = [frontend.compile(f, backend=counted, **options) for f in spaces[1]["fs"]]
    changes = list(zip(*(space.get("changes", ()) for space in spaces), strict=True))
    for number in range(rounds + len(changes)):
        if number >= rounds:
            for change in changes[number - rounds]:
                change()
        for index, callee in enumerate(compiled):
            worlds = [
                World(space["fs"][index], space["args"](index) if "args" in space else (space["X"],), {})
                for space in spaces
            ]
            one_call(*worlds, callee, f"round {number + 1}, callable {index}", backward, 0.0)
    assert compiles is None or report.graphs == compiles, report
    return report
