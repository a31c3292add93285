"""Each operator of torch's own test database in one graph (`fullgraph=True`), beside torch.compile in the same run.

`python -m tests.sweeps.opinfo [--only NAME] [--slice 1/4] [--samples N]`. For float32 and one integer type: the function, the
method, the in-place form and `out=`, with fixed and with symbolic sizes; for float32 also the gradient. What counts is what
eager runs and a fake kernel can run. A child process works through the list: a crash is a result like any other.
"""

import contextlib
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
import torch._dynamo
from tests.sweeps import children
from tests.sweeps.operators import NO_CONTENT, difference, outcome
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.testing._internal import common_methods_invocations
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

from framesmith import frontend

Run = Callable[..., Any]
FORMS = ("function", "method", "inplace", "out")
BOTH, ONLY_TORCH, ONLY_OURS, NEITHER = "both", "torch.compile alone", "framesmith alone", "neither"


@dataclass(frozen=True)
class Case:
    """One call: the operator in one form on one sample."""

    text: str
    run: Run
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    gradient: bool = False


def name_of(info: Any) -> str:
    """The operator and its variant."""
    return f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name


def dtypes_of(info: Any) -> list[torch.dtype]:
    """float32 and one integer type, or whatever the operator takes."""
    known = info.supported_dtypes("cpu")
    chosen = [dtype for dtype in (torch.float32, torch.int64) if dtype in known]
    return chosen or sorted(known, key=str)[:1]


def cases_of(info: Any, count: int) -> Iterator[Case]:
    """All forms of an operator on its first samples."""
    for dtype in dtypes_of(info):
        short = str(dtype).removeprefix("torch.")
        for form in FORMS:
            for number, sample in enumerate(islice(info.sample_inputs("cpu", dtype), count)):
                case = _case(info, form, f"{form} {short} {number}", sample)
                if case is not None:
                    yield case
        if dtype is torch.float32 and info.supports_autograd:
            for number, sample in enumerate(
                islice(info.sample_inputs("cpu", dtype, requires_grad=True), count)
            ):
                given = (sample.input, *sample.args)
                yield Case(f"gradient {short} {number}", info.op, given, sample.kwargs, gradient=True)


def _case(info: Any, form: str, text: str, sample: Any) -> Case | None:
    given = (sample.input, *sample.args)
    if form == "function":
        return Case(text, info.op, given, sample.kwargs)
    if form == "method" and info.method_variant is not None:
        return Case(text, info.method_variant, given, sample.kwargs)
    if form == "inplace" and info.inplace_variant is not None and not sample.broadcasts_input:
        return Case(text, info.inplace_variant, given, sample.kwargs)
    if form == "out" and info.supports_out and "out" not in sample.kwargs:
        status, result = outcome(lambda: info.op(*deepcopy(given), **deepcopy(sample.kwargs)))
        leaves = tree_flatten(result)[0]
        if status == "value" and leaves and all(isinstance(one, torch.Tensor) for one in leaves):
            out = tree_map(torch.empty_like, result)
            out = tuple(out) if isinstance(out, tuple | list) else out
            return Case(text, info.op, given, {**sample.kwargs, "out": out})
    return None


def call(run: Run) -> Run:
    """The function that is compiled: it gives what the operator gives, and its operands, which it may have changed."""

    def program(args: Any, kwargs: Any) -> object:
        return run(*args, **kwargs), args, kwargs

    return program


def with_gradients(run: Run) -> Run:
    """Calls the (compiled) program and gives its result with the gradients of the operands."""

    def graded(args: Any, kwargs: Any) -> object:
        result = run(args, kwargs)
        values = [
            one for one in tree_flatten(result[0])[0] if isinstance(one, torch.Tensor) and one.requires_grad
        ]
        if values:
            sum(one.abs().sum() for one in values).backward()
        leaves = [one for one in tree_flatten((args, kwargs))[0] if isinstance(one, torch.Tensor)]
        return result, [one.grad for one in leaves if one.is_leaf]

    return graded


def has_fake(case: Case) -> bool:
    """Whether fakes can run the call, with what only the running program knows as unknown numbers."""
    env = ShapeEnv(allow_scalar_outputs=True, allow_dynamic_output_shape_ops=True)
    with FakeTensorMode(shape_env=env) as mode, contextlib.suppress(Exception):
        given = tree_map(
            lambda one: mode.from_tensor(one) if isinstance(one, torch.Tensor) else one,
            (case.args, case.kwargs),
        )
        case.run(*given[0], **given[1])
        return True
    return False


def judge(case: Case, compiled: Run, eager: tuple[str, object], name: str) -> str | None:
    """What tells the compiled call apart from eager, over two calls; None if nothing does."""
    contents, lapack = (
        name.partition(".")[0] not in NO_CONTENT,
        name.startswith(("linalg.", "svd", "pca", "lu")),
    )
    run = with_gradients(compiled) if case.gradient else compiled
    for _ in range(2):
        found = outcome(run, *deepcopy((case.args, case.kwargs)))
        text = difference(eager, found, contents, lapack or case.gradient)
        if text is not None:
            return text
    return None


def sweep_one(info: Any, count: int) -> Iterator[dict[str, object]]:
    """The results of one operator."""
    name = name_of(info)
    for case in cases_of(info, count):
        program = call(case.run)
        eager = outcome(
            with_gradients(program) if case.gradient else program, *deepcopy((case.args, case.kwargs))
        )
        if eager[0] == "raised":
            continue
        faked = has_fake(case)
        for dynamic in (False, True):
            text = f"{case.text} {'symbolic' if dynamic else 'fixed'}"
            yield {"name": name, "case": text, "begun": True}
            ours = judge(
                case,
                frontend.compile(program, backend=_as_it_is, fullgraph=True, dynamic=dynamic),
                eager,
                name,
            )
            frontend.reset()
            theirs = judge(
                case, torch.compile(program, backend="eager", fullgraph=True, dynamic=dynamic), eager, name
            )
            torch._dynamo.reset()
            yield {"name": name, "case": text, "fake": faked, "framesmith": ours, "torch.compile": theirs}


def _as_it_is(module: torch.fx.GraphModule, inputs: list[object]) -> torch.fx.GraphModule:
    return module


def results(name: str, count: int) -> Iterator[children.Result]:
    """What was found about the operators of a name."""
    for info in op_db:
        if name_of(info) == name:
            yield from sweep_one(info, count)


def kind_of(one: children.Result) -> str:
    """Who captures the call in one graph and gives what eager gives."""
    if not one["fake"]:
        return "no fake kernel"
    good = one["framesmith"] is None, one["torch.compile"] is None
    return {(True, True): BOTH, (True, False): ONLY_OURS, (False, True): ONLY_TORCH}.get(good, NEITHER)


def prepare() -> None:
    """In a child, before anything is compiled."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    torch._dynamo.config.recompile_limit = 64
    torch._logging.set_logs(all=50)
    # `outcome` seeds before each call; within the program it would be a break that is no operator's
    common_methods_invocations.wrapper_set_seed = lambda run, *args, **kwargs: run(*args, **kwargs)


def share(counts: Counter[str], alone: str) -> str:
    """The part of the calls with a fake kernel that one compiler captures."""
    total = sum(counts[kind] for kind in (BOTH, ONLY_OURS, ONLY_TORCH, NEITHER))
    good = counts[BOTH] + counts[alone]
    return f"{good} of {total}" + (f" ({100 * good / total:.2f} %)" if total else "")


SWEEP = children.Sweep(
    module="tests.sweeps.opinfo",
    description=str(__doc__),
    samples=2,
    names=lambda: sorted({name_of(info) for info in op_db}),
    prepare=prepare,
    of_one=results,
    kind_of=kind_of,
    expected=frozenset({BOTH, ONLY_OURS, "no fake kernel"}),
)


if __name__ == "__main__":
    found = SWEEP.main()
    if "--child" not in sys.argv:
        print(f"framesmith: {share(found, ONLY_OURS)}; torch.compile: {share(found, ONLY_TORCH)}")
        sys.exit(found["crash"])
