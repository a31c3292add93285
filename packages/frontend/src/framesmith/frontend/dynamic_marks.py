"""The marks that `mark_dynamic` and its kin leave on tensors, and the check that a trace kept what they promise."""

from collections.abc import Iterable
from types import CodeType
from typing import Final

from framesmith.frontend.errors import DynamicSizeFixed
from framesmith.frontend.options import in_force
from framesmith.graph.shape_guards import Specialised
from framesmith.guards.sources.tensors import TensorSize

DYNAMIC_MARK: Final = "_dynamo_dynamic_indices"
WEAK_DYNAMIC_MARK: Final = "_dynamo_weak_dynamic_indices"
STATIC_MARK: Final = "_dynamo_static_indices"
UNBACKED_MARK: Final = "_dynamo_unbacked_indices"


def check_promises(found: Iterable[Specialised], code: CodeType) -> None:
    """Raises DynamicSizeFixed for the sizes that the program fixed.

    A size that is 0 or 1 from the start is no fault of the program: such a call gets an entry of its own, and calls with
    other sizes are not bound by it.
    """
    problems = [_problem(fixed) for fixed in found if _is_promised(fixed)]
    if not problems or in_force().allow_ignore_mark_dynamic:
        return
    place = f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno})"
    raise DynamicSizeFixed(
        f"{place} breaks what mark_dynamic says:\n"
        + "\n".join(problems)
        + "\nChange that line so that it holds for all sizes, "
        "mark the dimension with maybe_mark_dynamic or not at all, or set config.allow_ignore_mark_dynamic."
    )


def _is_promised(fixed: Specialised) -> bool:
    marks: dict[str, set[int]] = getattr(fixed.owner, "__dict__", {})
    if not isinstance(fixed.source, TensorSize):
        return False
    dim = fixed.source.dim
    return dim in marks.get(DYNAMIC_MARK, ()) and dim not in marks.get(STATIC_MARK, ())


def _problem(fixed: Specialised) -> str:
    assert isinstance(fixed.source, TensorSize) and fixed.source.base is not None
    where = "" if fixed.line is None else f"; it is fixed at {fixed.line.strip()}"
    return f"  dimension {fixed.source.dim} of {fixed.source.base.text()} is marked, and the program works for the size {fixed.value} only{where}"
