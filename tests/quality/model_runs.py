"""`python -m tests.quality.model_runs`: real models against eager, five shapes in a row, with torch.compile beside.

--only TEXT   --slice 1/4   --half tune|judge   --no-peer   --backend eager

For each model, each compiler and each shape: the result in evaluation, then in training (with the same random stream) the
result and the gradients of all parameters, compared with eager. Counted: graphs of the first shape, graphs over all
shapes, breaks, seconds. A child process for each model: a crash is a result.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import torch
from tests.quality.models import Model, catalogue, is_for_judging
from torch.utils import _pytree as pytree

from framesmith import frontend

TOLERANCE: Final = {"rtol": 1e-4, "atol": 1e-5}


def tensors_of(result: Any) -> list[torch.Tensor]:
    """The tensors of a result, in order; objects are searched by their attributes."""
    leaves = pytree.tree_leaves(result)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def seeded(function: Callable[[], Any]) -> Any:
    """Call with the random stream that each run gets."""
    torch.manual_seed(7)
    return function()


def gradients(model: torch.nn.Module, result: Any) -> list[torch.Tensor | None]:
    """The gradients of all parameters for a loss over all differentiable results."""
    model.zero_grad(set_to_none=True)
    found = [each for each in tensors_of(result) if each.requires_grad and each.is_floating_point()]
    if found:
        torch.stack([each.float().pow(2).mean() for each in found]).sum().backward()
    return [parameter.grad for parameter in model.parameters()]


def difference(expected: Sequence[torch.Tensor | None], found: Sequence[torch.Tensor | None]) -> str | None:
    """What differs, or None."""
    if len(expected) != len(found):
        return f"{len(found)} tensors instead of {len(expected)}"
    for index, (one, other) in enumerate(zip(expected, found, strict=True)):
        if one is None or other is None:
            if one is not other:
                return f"tensor {index} is missing on one side"
            continue
        try:
            torch.testing.assert_close(other, one, equal_nan=True, **TOLERANCE)
        except AssertionError as error:
            return f"tensor {index}: {str(error).splitlines()[0]} {' '.join(str(error).split()[-12:])}"
    return None


class Counted:
    """A backend that counts the graphs it was given, with their operators."""

    def __init__(self) -> None:
        self.operators: list[int] = []

    def __call__(self, module: torch.fx.GraphModule, examples: object) -> Callable[..., Any]:
        self.operators.append(sum(node.op.startswith("call") for node in module.graph.nodes))
        return module.forward


def measure(model: Model, compiler: Callable[..., Any], breaks: Callable[[Any], int]) -> dict[str, Any]:
    """One model under one compiler: what differs from eager, and what was captured."""
    torch.manual_seed(0)
    net, twin = model.build(), model.build()
    twin.load_state_dict(net.state_dict())
    counted = Counted()
    compiled = compiler(lambda given: net(**given), backend=counted)
    report: dict[str, Any] = {"wrong": []}
    for number, shape in enumerate(model.shapes):
        torch.manual_seed(100 + number)
        given = model.inputs(*shape)
        for module in (net, twin):
            module.eval()
        with torch.no_grad():
            results = [
                model.result(seeded(lambda run=run: run(given)))
                for run in (compiled, lambda given: twin(**given))
            ]
        found = difference(tensors_of(results[1]), tensors_of(results[0]))
        if type(results[0]) is not type(results[1]):
            found = f"{type(results[0]).__name__} instead of {type(results[1]).__name__}"
        if found:
            report["wrong"].append(f"shape {shape}: {found}")
        if number == 0:
            report["first"] = len(counted.operators)
            report["operators"] = sum(counted.operators)
    report["graphs"] = len(counted.operators)
    for number, shape in enumerate(model.shapes[:2]):
        torch.manual_seed(200 + number)
        given = model.inputs(*shape)
        for module in (net, twin):
            module.train()
        results = [
            model.result(seeded(lambda run=run: run(given)))
            for run in (compiled, lambda given: twin(**given))
        ]
        found = difference(tensors_of(results[1]), tensors_of(results[0]))
        found = found or difference(gradients(twin, results[1]), gradients(net, results[0]))
        if found:
            report["wrong"].append(f"training, shape {shape}: {found}")
    report["breaks"] = breaks(compiled)
    return report


def ours(model: Model) -> dict[str, Any]:
    """Under framesmith."""
    reasons: list[str] = []

    def breaks(compiled: Any) -> int:
        explained = frontend.explain(compiled)()
        reasons.extend(f"{one.kind}: {one.detail} ({one.file}:{one.line})" for one in explained.breaks)
        return int(explained.break_count)

    return {**measure(model, frontend.compile, breaks), "reasons": reasons}


def theirs(model: Model) -> dict[str, Any]:
    """Under torch.compile."""
    from torch._dynamo.utils import counters

    counters.clear()
    return measure(model, torch.compile, lambda _: len(counters["graph_break"]))


def child(name: str, peer: bool) -> None:
    """Measure one model, and print a line of JSON after each compiler: the last one counts."""
    warnings.simplefilter("ignore")
    model = catalogue([name.partition("/")[0]])[name]
    report: dict[str, Any] = {"name": name}
    for label, run in (("ours", ours), *((("theirs", theirs),) if peer else ())):
        began = time.perf_counter()
        try:
            report[label] = run(model)
        except Exception as error:
            report[label] = {"error": f"{type(error).__name__}: {error}"[:400]}
        report[label]["seconds"] = round(time.perf_counter() - began, 1)
        print("RESULT " + json.dumps(report), flush=True)


def results(names: Sequence[str], peer: bool) -> Iterator[dict[str, Any]]:
    """Each model in a child process of its own."""
    for name in names:
        command = [sys.executable, "-m", __spec__.name, "--child", name, *([] if peer else ["--no-peer"])]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        except subprocess.TimeoutExpired:
            yield {"name": name, "ours": {"error": "more than 600 s"}}
            continue
        lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        if lines:
            yield json.loads(lines[-1].removeprefix("RESULT "))
        else:
            yield {"name": name, "ours": {"error": f"ended with {done.returncode}: {done.stderr[-300:]}"}}


def line_of(report: dict[str, Any]) -> str:
    """One line of the table."""
    cells = [f"{report['name']:<42}"]
    for label in ("ours", "theirs"):
        found = report.get(label)
        if found is None:
            continue
        if "error" in found:
            cells.append(f"{label}: {found['error'][:110]}")
        else:
            state = "equal" if not found["wrong"] else f"WRONG {found['wrong'][0]}"
            cells.append(
                f"{label}: {state}, first {found['first']}, all {found['graphs']}, {found['operators']} operators, breaks {found['breaks']}"
            )
    return " | ".join(cells)


def main() -> int:
    """The command line: 1 if a model is wrong under framesmith."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="")
    parser.add_argument("--slice", default="1/1")
    parser.add_argument("--half", choices=("tune", "judge"))
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", default="")
    given = parser.parse_args()
    if given.child:
        child(given.child, not given.no_peer)
        return 0
    number, of = map(int, given.slice.split("/"))
    names = [name for name in catalogue() if given.only in name][number - 1 :: of]
    if given.half:
        names = [name for name in names if is_for_judging(name) == (given.half == "judge")]
    reports = []
    for report in results(names, not given.no_peer):
        reports.append(report)
        print(line_of(report), flush=True)
    summary(reports)
    if given.json:
        given.json.write_text(json.dumps(reports, indent=1) + "\n")
    return int(any(report["ours"].get("wrong") for report in reports))


def summary(reports: Sequence[dict[str, Any]]) -> None:
    """The sums, for each compiler."""
    for label in ("ours", "theirs"):
        found = [report[label] for report in reports if label in report]
        fine = [each for each in found if "error" not in each]
        print(
            f"{label}: {len(found)} models, {len(found) - len(fine)} with an error, {sum(bool(each['wrong']) for each in fine)} wrong, "
            f"{sum(each['first'] == 1 for each in fine)} in one graph at the first shape, {sum(each['graphs'] for each in fine)} graphs over all "
            f"shapes, {sum(each['operators'] for each in fine)} operators, {sum(each['breaks'] for each in fine)} breaks"
        )


if __name__ == "__main__":
    sys.exit(main())
