"""`check`: run a function eagerly and compiled, and compare everything. Every semantic test goes through it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from tests.end_to_end.children import in_child
from tests.end_to_end.compare import Comparison
from tests.end_to_end.observe import Outcome, float_tensors, observe
from tests.end_to_end.worlds import World, load, twin

from framesmith import frontend
from framesmith.frontend import api

Change = Callable[..., None]


@dataclass
class Report:
    """What the compiled side did: graphs compiled, graphs run, operators captured, breaks reported."""

    graphs: int = 0
    runs: int = 0
    operators: int = 0
    breaks: list[str] = field(default_factory=list)
    recompiles: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    runs_per_call: list[int] = field(default_factory=list)
    operators_per_call: list[int] = field(default_factory=list)

    def backend(self, module: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        """An eager backend that counts."""
        del example_inputs
        size = sum(node.op in ("call_function", "call_method") for node in module.graph.nodes)
        self.graphs += 1

        def run(*args: Any) -> Any:
            self.runs += 1
            self.operators += size
            return module.forward(*args)  # hooks of all modules are not for the graph's own

        return run


def check(
    function: Callable[..., Any],
    *args: Any,
    calls: int = 3,
    change: Change | None = None,
    backend: str | None = None,
    graphs: int | None = None,
    breaks: int | None = None,
    operators: int | None = None,
    backward: bool = True,
    tolerance: float = 0.0,
    kwargs: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Report:
    """Compare a function with its compiled form over some calls; the arguments are copied, never used themselves.

    `change(*args)` alters the arguments between calls (default: float tensors get 1 added before the last call).
    `graphs` and `breaks` are the exact numbers of the whole history, `operators` those captured in the last call.
    """
    eager, compiled = twin(function, args, kwargs or {}), twin(function, args, kwargs or {})
    return compare_worlds(
        eager,
        compiled,
        calls=calls,
        change=change,
        backend=backend,
        graphs=graphs,
        breaks=breaks,
        operators=operators,
        backward=backward,
        tolerance=tolerance,
        options=options or {},
    )


def check_source(source: str, name: str = "test", **settings: Any) -> Report:
    """`check` for a program given as text: it defines `f` and `args()`; its globals and classes are its own."""
    worlds = []
    for _ in range(2):
        namespace = load(source, name)
        args = namespace["args"]() if "args" in namespace else ()
        worlds.append(World(namespace["f"], args, {}))
    settings.setdefault("change", None)
    return compare_worlds(*worlds, **settings)


def compare_worlds(
    eager: World,
    compiled: World,
    *,
    calls: int = 3,
    change: Change | None = None,
    backend: str | None = None,
    graphs: int | None = None,
    breaks: int | None = None,
    operators: int | None = None,
    backward: bool = True,
    tolerance: float = 0.0,
    options: dict[str, Any] | None = None,
) -> Report:
    """Call both worlds and compare them after each call."""
    report = Report()
    callee = frontend.compile(compiled.function, backend=backend or report.backend, **(options or {}))
    for number in range(calls):
        if number:
            for world in (eager, compiled):
                alter(world, change, last=number == calls - 1)
        runs, captured = report.runs, report.operators
        one_call(eager, compiled, callee, f"call {number + 1}", backward, tolerance)
        report.runs_per_call.append(report.runs - runs)
        report.operators_per_call.append(report.operators - captured)
    session = api.session_of(callee)
    if session is not None:
        report.breaks = [f"{one.kind}: {one.detail} (line {one.line})" for one in session.history.breaks]
        report.recompiles = list(session.history.recompiles)
        report.notes = list(session.history.notes)
    assert breaks is None or len(report.breaks) == breaks, report.breaks
    assert graphs is None or report.graphs == graphs, f"{report.graphs} graphs, expected {graphs}; {report}"
    assert operators is None or report.operators_per_call[-1] == operators, report
    return report


def compare_refusals(eager: World, compiled: World) -> None:
    """Two calls of a function that torch's own compiler refuses, eagerly too: both raise the same, without the frames of that.

    In a child: torch leaves a hook in the interpreter when it refuses. It hangs what it has traced on its errors, which no two
    traces have in common, so their first lines are compared.
    """
    callee = frontend.compile(compiled.function, backend="eager")

    def refused() -> None:
        torch._dynamo.reset()
        for _ in range(2):
            left, right = observe(eager.function, eager.args, {}), observe(callee, compiled.args, {})
            assert left.raised is not None
            assert type(right.raised) is type(left.raised)
            assert str(right.raised).splitlines()[0] == str(left.raised).splitlines()[0]
            assert left.output == right.output
            torch.testing.assert_close(compiled.args, eager.args)

    in_child(refused)


def one_call(
    eager: World, compiled: World, callee: Callable[..., Any], name: str, backward: bool, tolerance: float
) -> None:
    """Call both sides once and compare what came out, and what became of everything they can reach."""
    left = observe(eager.function, eager.args, eager.kwargs)
    right = observe(callee, compiled.args, compiled.kwargs)
    compare_outcomes(eager, compiled, left, right, name, backward, tolerance)


def compare_outcomes(
    eager: World,
    compiled: World,
    left: Outcome,
    right: Outcome,
    name: str,
    backward: bool = False,
    tolerance: float = 0.0,
) -> None:
    """Compare what two calls did."""
    if right.raised is not None and left.raised is None:
        raise right.raised
    comparison = Comparison(tolerance, tolerance)
    comparison.same(left.raised, right.raised, f"{name}: exception")
    assert left.output == right.output, f"{name}: printed {left.output!r} eagerly, {right.output!r} compiled"
    for key, value in left.state.items():
        Comparison().same(value, right.state[key], f"{name}: {key}")
    sides = [
        [world.args, world.kwargs, outcome.result, closure(world.function)]
        for world, outcome in ((eager, left), (compiled, right))
    ]
    comparison.same(sides[0], sides[1], name)
    same_globals(comparison, eager.function, compiled.function, name)
    if backward:
        same_gradients(sides[0], sides[1], name, tolerance)


def same_gradients(eager: list[Any], compiled: list[Any], name: str, tolerance: float) -> None:
    """Run backward from the sum of all results and compare what became of all tensors."""
    for side in (eager, compiled):
        tensors = [tensor for tensor in float_tensors(side[2]) if tensor.grad_fn is not None]
        if tensors:
            torch.stack([tensor.sum().double() for tensor in tensors]).sum().backward()
    Comparison(max(tolerance, 1e-6), max(tolerance, 1e-6)).same(
        eager[:2], compiled[:2], f"{name}: after backward"
    )


def closure(function: Callable[..., Any]) -> list[Any]:
    """The cells of a function, and the object of a method."""
    inner = getattr(function, "__func__", function)
    return [*(getattr(inner, "__closure__", None) or ()), getattr(function, "__self__", None)]


def same_globals(comparison: Comparison, eager: Any, compiled: Any, name: str) -> None:
    """Compare the data in the globals of the two functions."""
    left, right = (getattr(getattr(one, "__func__", one), "__globals__", {}) for one in (eager, compiled))
    if left is right:
        return
    assert left.keys() == right.keys(), f"{name}: globals {left.keys() ^ right.keys()}"
    for key, value in left.items():
        if isinstance(value, list | dict | set | int | float | str | torch.Tensor) and not key.startswith(
            "__"
        ):
            comparison.same(value, right[key], f"{name}: global {key}")


def alter(world: World, change: Change | None, *, last: bool) -> None:
    """What happens between two calls."""
    if change is not None:
        change(*world.args)
    elif last:
        for value in [*world.args, *world.kwargs.values()]:
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                value.data.add_(1)
