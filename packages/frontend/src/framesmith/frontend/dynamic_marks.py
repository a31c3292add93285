"""`mark_dynamic` and its kin: the marks that they leave on tensors, and the check that a trace kept what they promise.

What becomes of a mark in a trace is for `cache.specialization` to say.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from types import CodeType
from typing import Final, final

import torch

from framesmith.frontend.argument_checks import make_argument_error, require_dimensions
from framesmith.frontend.errors import DynamicSizeFixed, InvalidArgument, SizeOutOfRange
from framesmith.frontend.options import current_config
from framesmith.frontend.torch_settings import warn_once
from framesmith.frontend.user_lines import function_text, with_source
from framesmith.graph.shapes.shape_guards import Specialized
from framesmith.guards import Scope, Source
from framesmith.guards.kinds.tensor import TensorIs
from framesmith.guards.sources.tensors import TensorSize

# The names of torch's own marks: what `torch._dynamo.mark_dynamic` has marked counts as well.
DYNAMIC_MARK: Final = "_dynamo_dynamic_indices"
WEAK_DYNAMIC_MARK: Final = "_dynamo_weak_dynamic_indices"
STATIC_MARK: Final = "_dynamo_static_indices"
UNBACKED_MARK: Final = "_dynamo_unbacked_indices"
_RANGE_MARK: Final = "_dynamo_dynamic_range"
_MARKS: Final = frozenset({DYNAMIC_MARK, WEAK_DYNAMIC_MARK, STATIC_MARK, UNBACKED_MARK})


@final
@dataclass(frozen=True, slots=True)
class SizeRange:
    """The inclusive range that `mark_dynamic` promises for a dimension; None for open. torch's own marks look the same."""

    dim: int
    min: int | None
    max: int | None


def mark_dynamic(
    tensor: torch.Tensor, index: int | Iterable[int], *, min: int | None = None, max: int | None = None
) -> None:
    """The size of these dimensions may differ from call to call, from `min` to `max`: make them symbolic at once.

    A program that fixes such a size is an error, `DynamicSizeFixed`, and so is a size out of the range, `SizeOutOfRange`.
    """
    call = "mark_dynamic()"
    for name, bound in (("min", min), ("max", max)):
        if bound is not None and type(bound) is not int:
            raise make_argument_error(call, bound, f"an int or None as {name}")
    if min is not None and max is not None and min > max:
        raise InvalidArgument(
            f"{call} got min={min} and max={max}, which no size fits; pass a min that is at most max"
        )
    _mark(call, tensor, DYNAMIC_MARK, index)
    if min is not None or max is not None:
        ranges: set[SizeRange] = tensor.__dict__.setdefault(_RANGE_MARK, set())
        ranges.update(SizeRange(dim, min, max) for dim in require_dimensions(call, index, tensor.dim()))


def mark_unbacked(tensor: torch.Tensor, index: int | Iterable[int]) -> None:
    """Nothing is decided about the size of these dimensions, not even whether it is 0 or 1: one graph serves all sizes.

    A branch on such a size breaks the graph.
    """
    _mark("mark_unbacked()", tensor, UNBACKED_MARK, index)


def maybe_mark_dynamic(tensor: torch.Tensor, index: int | Iterable[int]) -> None:
    """Like `mark_dynamic`, without complaint if the program fixes the size."""
    _mark("maybe_mark_dynamic()", tensor, WEAK_DYNAMIC_MARK, index)


def mark_static(tensor: torch.Tensor, index: int | Iterable[int] | None = None) -> None:
    """These dimensions (all by default) are never symbolic."""
    _mark("mark_static()", tensor, STATIC_MARK, index)


def _mark(call: str, tensor: object, name: str, index: object) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise make_argument_error(call, tensor, "a tensor, before it goes into the compiled function")
    if index is None and name == STATIC_MARK:
        index = range(tensor.dim())
    dims = require_dimensions(call, index, tensor.dim())
    if isinstance(tensor, torch.nn.Parameter) and name == DYNAMIC_MARK:
        warn_once(
            f"{call} of a parameter",
            f"{call} of a parameter of shape {tuple(tensor.shape)} has no effect: the sizes of parameters are fixed; "
            "pass a plain tensor whose size may change",
        )
    known: set[int] = tensor.__dict__.setdefault(name, set())
    known.update(dims)


def promised_ranges(
    source: Source, tensor: torch.Tensor, dims: Collection[int]
) -> dict[int, tuple[int | None, int | None]]:
    """The ranges that marks promise for these dimensions. Raises SizeOutOfRange where the tensor has another size."""
    found: dict[int, tuple[int | None, int | None]] = {}
    for promise in getattr(tensor, "__dict__", {}).get(_RANGE_MARK, ()):
        if promise.dim not in dims or (promise.min is None and promise.max is None):
            continue
        size, found[promise.dim] = tensor.shape[promise.dim], (promise.min, promise.max)
        if size < (promise.min or 0) or (promise.max is not None and size > promise.max):
            raise SizeOutOfRange(source.text(), promise.dim, size, found[promise.dim])
    return found


def check_promises(found: Iterable[Specialized], code: CodeType) -> None:
    """Raises DynamicSizeFixed for the sizes that the program fixed.

    A size that is 0 or 1 from the start is no fault of the program: such a call gets an entry of its own, and calls with
    other sizes are not bound by it.
    """
    problems = [_problem(fixed) for fixed in found if _is_promised(fixed)]
    if not problems or current_config().allow_ignore_mark_dynamic:
        return
    raise DynamicSizeFixed(function_text(code.co_qualname, code), problems)


def breaks_marks(tensors: Iterable[tuple[Source, TensorIs]], scope: Scope, *, is_promised: bool) -> bool:
    """Whether tensors of this call have marks that an entry does not follow, which was made without seeing them.

    `is_promised`: the trace met a tensor that was marked with `mark_dynamic`, and kept the promise.
    """
    for source, claim in tensors:
        marks: dict[str, set[int]] = getattr(scope.value_of(source), "__dict__", {})
        sizes = claim.spec.sizes or ()
        if not marks.keys() & _MARKS:
            continue
        fixed = {dim for dim, size in enumerate(sizes) if size is not None}
        free = set(range(len(sizes))) - fixed
        static = marks.get(STATIC_MARK, set())
        asked = set().union(*(marks.get(name, ()) for name in _MARKS if name != STATIC_MARK)) - static
        if asked & fixed or static & free or marks.get(UNBACKED_MARK):
            return True
        if marks.get(DYNAMIC_MARK) and not is_promised:
            return True
    return False


def _is_promised(fixed: Specialized) -> bool:
    marks: dict[str, set[int]] = getattr(fixed.owner, "__dict__", {})
    if not isinstance(fixed.source, TensorSize):
        return False
    dim = fixed.source.dim
    return dim in marks.get(DYNAMIC_MARK, ()) and dim not in marks.get(STATIC_MARK, ())


def _problem(fixed: Specialized) -> str:
    assert isinstance(fixed.source, TensorSize) and fixed.source.base is not None
    where = "" if fixed.user_frame is None else f"; it is fixed at {with_source(fixed.user_frame)}"
    return f"dimension {fixed.source.dim} of {fixed.source.base.text()} is to differ, and the program works for the size {fixed.value} only{where}"
