"""Operators that raise because of the data of their operands: found by trying, compared with `graph.data_errors`.

`python -m tests.sweeps.data_errors [--only NAME] [--slice 1/4]`. A sample of torch's own test database that works is changed
in its data alone (one tensor at a time is filled with 0, -1, a large number, nan, an infinity); torch's own error inputs are
tried as they are. Where eager raises and fakes pass, the operator fails on data: one of the nodes it is recorded as has to
be known to. A child process works through the list, so that a crash is a result like any other.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import islice
from typing import Any

import torch
from tests.sweeps import children
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_unflatten

from framesmith import frontend
from framesmith.graph.operations.data_errors import fails_on_data

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
FILLS = (0, -1, 1_000_000, float("nan"), float("inf"))
DTYPES = (torch.float32, torch.int64)
UNLISTED = {
    "cat": "with an out= that overlaps itself only: it is never left out, and all others would be kept"
}
"""Operators that fail on data and are left out of the table, with the reason."""


def name_of(info: Any) -> str:
    """The operator and its variant."""
    return f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name


def good_calls(info: Any, count: int) -> Iterator[Call]:
    """The database's samples, for floats and for integers."""
    for dtype in DTYPES:
        if dtype in info.supported_dtypes("cpu"):
            for sample in islice(info.sample_inputs("cpu", dtype, requires_grad=False), count):
                yield info.op, (sample.input, *sample.args), sample.kwargs


def bad_calls(call: Call) -> Iterator[tuple[str, Call]]:
    """The call with the data of one tensor replaced."""
    run, args, kwargs = call
    leaves, tree = tree_flatten((args, kwargs))
    for place, leaf in enumerate(leaves):
        if not isinstance(leaf, torch.Tensor) or leaf.layout is not torch.strided or not leaf.numel():
            continue
        for fill in FILLS:
            if fill != fill // 1 and not leaf.is_floating_point():
                continue
            changed = [one.clone() if isinstance(one, torch.Tensor) else deepcopy(one) for one in leaves]
            try:
                changed[place].fill_(fill)
            except (RuntimeError, TypeError):
                continue
            given, keywords = tree_unflatten(changed, tree)
            yield f"operand {place} is {fill}", (run, given, keywords)


def error_calls(info: Any) -> Iterator[tuple[str, Call]]:
    """The database's own calls that raise."""
    if info.error_inputs_func is not None:
        for one in info.error_inputs("cpu"):
            sample = one.sample_input
            yield "error input", (info.op, (sample.input, *sample.args), sample.kwargs)


def error_of(call: Call) -> Exception | None:
    """What the call raises."""
    run, args, kwargs = call
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.manual_seed(0)
            run(*deepcopy(args), **deepcopy(kwargs))
        except Exception as error:
            return error
    return None


def fakes_pass(call: Call) -> bool:
    """Whether the same call on fakes raises nothing, so that a trace would record it."""
    run, args, kwargs = call
    leaves, tree = tree_flatten((args, kwargs))
    with FakeTensorMode() as mode:
        fakes = [mode.from_tensor(one) if isinstance(one, torch.Tensor) else one for one in leaves]
        given, keywords = tree_unflatten(fakes, tree)
        try:
            run(*given, **keywords)
        except Exception:
            return False
    return True


def recorded(call: Call) -> list[tuple[str, object]]:
    """The nodes that a trace makes of the call; empty where it breaks and runs natively."""
    run, args, kwargs = call
    found: list[tuple[str, object]] = []

    def backend(module: torch.fx.GraphModule, inputs: list[object]) -> torch.fx.GraphModule:
        nodes = (node for node in module.graph.nodes if node.op.startswith("call_"))
        found.extend((node.op, node.target) for node in nodes)
        return module

    def program(args: Any, kwargs: Any) -> object:
        return run(*args, **kwargs)

    try:
        frontend.compile(program, backend=backend)(deepcopy(args), deepcopy(kwargs))
    except Exception:
        pass  # the call is a bad one: what was recorded before it ran is of interest
    frontend.reset()
    return found


def sweep_one(info: Any, count: int) -> dict[str, object]:
    """What was found about one operator."""
    tried = 0
    reasons: dict[str, tuple[str, Call]] = {}
    bad = (pair for call in good_calls(info, count) if error_of(call) is None for pair in bad_calls(call))
    for text, call in (*error_calls(info), *bad):
        tried += 1
        error = error_of(call)
        if error is not None and not isinstance(error, NotImplementedError) and fakes_pass(call):
            reasons.setdefault(f"{type(error).__name__}: {str(error)[:60]}", (text, call))
    missed = {}
    for reason, (text, call) in reasons.items():
        nodes = recorded(call)
        if nodes and info.name not in UNLISTED and not any(fails_on_data(*node) for node in nodes):
            names = sorted({str(getattr(target, "__name__", target)) for _, target in nodes})
            missed[reason] = f"{text}; recorded as {', '.join(names)}"
    return {"name": name_of(info), "tried": tried, "fails": bool(reasons), "missed": missed}


def results(name: str, count: int) -> Iterator[children.Result]:
    """What was found about the operators of a name."""
    for info in op_db:
        if name_of(info) == name:
            yield sweep_one(info, count)


def kind_of(one: children.Result) -> str:
    """Whether the table misses something."""
    return "missed" if one["missed"] else "known" if one["fails"] else "does not fail"


SWEEP = children.Sweep(
    module="tests.sweeps.data_errors",
    description=str(__doc__),
    samples=3,
    names=lambda: sorted({name_of(info) for info in op_db}),
    prepare=lambda: torch.set_num_threads(1),
    of_one=results,
    kind_of=kind_of,
    expected=frozenset({"known", "does not fail"}),
)


if __name__ == "__main__":
    sys.exit(SWEEP.main()["missed"])  # a crash is one of eager itself
