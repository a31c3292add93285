"""Every operator of torch's own test database and every module of its list, compiled and compared with eager.

`python -m tests.sweeps.operators [--only NAME] [--slice 1/4] [--samples N]`. Each sample runs in a child process, so that a
crash is a result like any other; a child works through the list until it ends or dies. Two rounds for each operator:
sizes as they are (`dynamic=False`, compiled anew for each sample), and all sizes symbolic (one compiled function for all
samples, so that entries meet sizes that they were not traced with).
"""

import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from itertools import islice
from typing import Any

import torch
from tests.sweeps import children
from torch.nn.utils.rnn import pack_sequence
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.utils._pytree import tree_flatten

from framesmith import frontend

NO_CONTENT = frozenset(
    {
        "empty",
        "empty_like",
        "empty_permuted",
        "empty_strided",
        "new_empty",
        "new_empty_strided",
        "resize_",
        "resize_as_",
    }
)
"""Operators whose result has no specified content: memory as it was found."""

Run = Callable[..., object]
Case = tuple[str, Callable[[], Iterator[tuple[Run, tuple[Any, ...], dict[str, Any]]]]]


@cache
def cases() -> dict[str, Case]:
    """By name: how the compiled function is called, for each sample."""
    found: dict[str, Case] = {}
    for info in op_db:
        name = f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name
        found[name] = (info.name, lambda info=info: _operator_samples(info))
    for entry in module_db:
        found[f"module {entry.name}"] = (entry.name, lambda entry=entry: _module_samples(entry))
    for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
        name = f"packed {kind.__name__}"
        found[name] = (name, lambda kind=kind: _packed_samples(kind))
    return found


def _packed_samples(kind: Any) -> Iterator[tuple[Run, tuple[Any, ...], dict[str, Any]]]:
    """A recurrent layer over packed sequences, which torch's list of modules leaves out."""
    torch.manual_seed(0)
    layer = kind(3, 4)
    for length in (3, 4, 2, 7):
        yield layer, (pack_sequence([torch.randn(length, 3), torch.randn(length - 1, 3)]),), {}


def _operator_samples(info: Any) -> Iterator[tuple[Run, tuple[Any, ...], dict[str, Any]]]:
    dtypes = info.supported_dtypes("cpu")
    dtype = torch.float32 if torch.float32 in dtypes else sorted(dtypes, key=str)[0]
    for sample in info.sample_inputs("cpu", dtype, requires_grad=False):
        yield info.op, (sample.input, *sample.args), sample.kwargs
    if info.method_variant is not None:
        for sample in islice(info.sample_inputs("cpu", dtype, requires_grad=False), 4):
            yield info.method_variant, (sample.input, *sample.args), sample.kwargs


def _module_samples(entry: Any) -> Iterator[tuple[Run, tuple[Any, ...], dict[str, Any]]]:
    inputs = entry.module_inputs_func(
        entry, device="cpu", dtype=torch.float32, requires_grad=False, training=False
    )
    for one in inputs:
        if one.forward_input is None:
            continue
        torch.manual_seed(0)
        module = entry.module_cls(*one.constructor_input.args, **one.constructor_input.kwargs).eval()
        yield module, one.forward_input.args, one.forward_input.kwargs


def outcome(function: Run, *given: object) -> tuple[str, object]:
    """What a call gives or raises, from the same random state each time."""
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "value", function(*given)
    except Exception as error:
        return "raised", error


def difference(
    eager: tuple[str, object], compiled: tuple[str, object], contents: bool, lapack: bool
) -> str | None:
    """What tells two outcomes apart, in words; None if nothing does."""
    if eager[0] != compiled[0] or eager[0] == "raised":
        kinds = [type(one[1]).__name__ if one[0] == "raised" else "a value" for one in (eager, compiled)]
        return None if kinds[0] == kinds[1] else f"{kinds[0]} -> {kinds[1]}: {str(compiled[1])[:200]}"
    (left, left_tree), (right, right_tree) = tree_flatten(eager[1]), tree_flatten(compiled[1])
    if left_tree != right_tree:
        return f"structure {left_tree} -> {right_tree}"
    return next(
        (text for pair in zip(left, right, strict=True) if (text := _unlike(*pair, contents, lapack))), None
    )


def _unlike(left: object, right: object, contents: bool, lapack: bool) -> str | None:
    if type(left) is not type(right):
        return f"type {type(left).__name__} -> {type(right).__name__}"
    if not isinstance(left, torch.Tensor) or not isinstance(right, torch.Tensor):
        # each side has a copy of a module that is an operand
        is_same = left == right or left != left or isinstance(left, torch.nn.Module)
        return None if is_same else f"{left} -> {right}"
    for name in ("dtype", "shape", "layout", "requires_grad"):
        if getattr(left, name) != getattr(right, name):
            return f"{name} {getattr(left, name)} -> {getattr(right, name)}"
    if left.layout is torch.strided and not left.is_nested and left.stride() != right.stride():
        return f"stride {left.stride()} -> {right.stride()}"
    if not contents:
        return None
    try:
        # LAPACK's last digits depend on where in memory the operands are
        close = {"rtol": 1e-5, "atol": 1e-5} if lapack else {"rtol": 0, "atol": 0}
        torch.testing.assert_close(left, right, equal_nan=True, **close)
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        return f"content: {str(error)[:200]}"
    return None


def sweep_one(name: str, case: Case, count: int) -> Iterator[dict[str, object]]:
    """The results of one operator."""
    contents, lapack = case[0] not in NO_CONTENT, name.startswith("linalg.")
    for dynamic in (False, True):
        compiled: dict[Run, Any] = {}
        for number, (run, args, kwargs) in enumerate(islice(case[1](), count)):
            yield {"name": name, "dynamic": dynamic, "sample": number, "begun": True}

            def call(args: Any, kwargs: Any, run: Run = run) -> object:
                return run(*args, **kwargs)

            if isinstance(run, torch.nn.Module) and not name.startswith("packed"):
                compiled.clear()
            if not dynamic or run not in compiled:
                compiled[run] = frontend.compile(call, backend=_as_it_is, dynamic=dynamic or None)
            eager = outcome(call, deepcopy(args), deepcopy(kwargs))
            found = outcome(compiled[run], deepcopy(args), deepcopy(kwargs))
            again = outcome(compiled[run], deepcopy(args), deepcopy(kwargs))
            text = difference(eager, found, contents, lapack) or difference(eager, again, contents, lapack)
            yield {"name": name, "dynamic": dynamic, "sample": number, "difference": text}
        frontend.reset()


def _as_it_is(module: torch.fx.GraphModule, inputs: list[object]) -> torch.fx.GraphModule:
    return module


def prepare() -> None:
    """In a child, before anything is compiled."""
    frontend.config.raise_bugs = True
    frontend.config.recompile_limit = 64
    torch.set_num_threads(1)


SWEEP = children.Sweep(
    module="tests.sweeps.operators",
    description=str(__doc__),
    samples=8,
    names=lambda: list(cases()),
    prepare=prepare,
    of_one=lambda name, count: sweep_one(name, cases()[name], count),
    kind_of=lambda one: "different" if one["difference"] else "equal",
    expected=frozenset({"equal"}),
)


if __name__ == "__main__":
    SWEEP.main()
