"""How long a check takes, and how long it takes to make one: `python packages/guards/tests/measure_checks.py`.

Not a test: a clock on a busy machine proves nothing. Figures are in the changelog of the package.
"""

import sys
import time
import timeit
from pathlib import Path

import torch
from torch import nn

from framesmith.guards import Guard, Scope, compile_guards, first_failure
from framesmith.guards.kinds import ClassAttribute, GlobalState, TensorIs
from framesmith.guards.sources import Local, Pinned

sys.path.insert(0, str(Path(__file__).parent))
from guard_checking import built, guards  # noqa: E402  # the neighbour
from test_program import module_claims, tree  # noqa: E402  # the neighbour

X, Y = torch.ones(2, 3), torch.ones(4, 5)


class Block(nn.Module):
    """About what a layer of a transformer holds."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(2, 2) for _ in range(4))
        self.norms = nn.ModuleList([nn.LayerNorm(2), nn.LayerNorm(2)])
        self.drop = nn.Dropout()


def nanoseconds(function, *arguments, number=5_000):
    """Per call, the best of thirty, without the cost of calling."""
    empty = min(timeit.repeat(lambda: None, number=number, repeat=30))
    return (min(timeit.repeat(lambda: function(*arguments), number=number, repeat=30)) - empty) / number * 1e9


def report_tensors() -> None:
    claims = [(Local("x"), TensorIs.capture(X)), (Local("y"), TensorIs.capture(Y))]
    for label, guard_set in (
        ("two tensors", guards(*claims)),
        ("and the state", guards(GlobalState.capture(), *claims)),
    ):
        check = built(compile_guards(guard_set), ["x", "y"], {})
        print(f"{label}: {nanoseconds(check, X, Y):.0f} ns")


def report_model(label: str, model: nn.Module) -> None:
    guard_set = guards(
        GlobalState.capture(), *module_claims(model, Local("self")), (Local("x"), TensorIs.capture(X))
    )
    for cls in {type(module) for module in model.modules()}:
        for name in ("forward", "__call__"):
            guard_set.add(Guard(Pinned(cls, cls.__name__), ClassAttribute.capture(cls, name)))
    start = time.perf_counter()
    program = compile_guards(
        guard_set, [source for source, _ in guard_set.tensors], dispatcher_locals=["self", "x"]
    )
    written = time.perf_counter()
    check = built(program, ["self", "x"], {})
    compiled = time.perf_counter()
    assert first_failure(guard_set, Scope({"self": model, "x": X}, {})) is None
    slow = time.perf_counter()
    print(
        f"{label}: {len(guard_set)} guards, {len(guard_set.tensors)} tensors; check {nanoseconds(check, model, X, number=200):.0f} ns; "
        f"text {(written - start) * 1e3:.0f} ms, verified and compiled {(compiled - written) * 1e3:.0f} ms, "
        f"slow check {(slow - compiled) * 1e3:.0f} ms"
    )


if __name__ == "__main__":
    print(sys.version.split()[0], torch.__version__)
    report_tensors()
    report_model("40 Linear and ReLU", tree(20))
    report_model("like BERT", nn.Sequential(*[Block() for _ in range(40)]))
