"""Errors that a user of `frontend` meets. Graph breaks and our own bugs are different families.

The kinds of graph breaks are in `graph.break_kinds`.
"""

from collections.abc import Sequence
from typing import Final

from framesmith.frontend.user_lines import UserLocation, innermost_place, stack_text
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.errors import BackendFailed, UnknownBackend
from framesmith.guards.words import write_count

__all__ = [
    "BackendFailed",
    "BackendFailedWarning",
    "DynamicSizeFixed",
    "ExportError",
    "ForbiddenInGraph",
    "FramesmithError",
    "FullGraphError",
    "IgnoredSettingWarning",
    "InvalidArgument",
    "NotCompiledWarning",
    "ProcessesDiffer",
    "RecompileError",
    "RecompileLimitWarning",
    "SizeOutOfRange",
    "TracingBugWarning",
    "UnknownBackend",
    "UnsoundCode",
    "UnsupportedInterpreter",
]


class FramesmithError(Exception):
    """Base of the errors that framesmith itself raises."""


class InvalidArgument(FramesmithError, TypeError):
    """`compile` was given something that cannot be compiled. Cure: pass a function, method, class or module."""


class UnsupportedInterpreter(FramesmithError, RuntimeError):
    """`compile` was called where threads run without the GIL: guards and entries read objects that another thread may be
    changing. Cure: set `PYTHON_GIL=1`, or use a build with the GIL."""


class FullGraphError(FramesmithError, RuntimeError):
    """`fullgraph=True` and the graph broke. Cause, user's line and remedy are in the message.

    Example: `print(x)` inside `compile(fn, fullgraph=True)`. Cure: remove it, or drop `fullgraph`.
    `user_stack` are the user's frames as a traceback shows them; `place` is the line that the message begins with.
    """

    def __init__(self, reason: GraphBreak, stack: Sequence[UserLocation]) -> None:
        self.reason = reason
        self.user_stack = stack_text(stack)
        self.place = innermost_place(stack)
        head = "" if self.place is None else f"the graph breaks at {self.place}\n"
        super().__init__(
            f"{head}{reason.text(is_error=True)}\n\nThe graph breaks here (most recent call last):\n{self.user_stack}"
        )


class DynamicSizeFixed(FramesmithError, RuntimeError):
    """A dimension was marked with `mark_dynamic`, or declared for `export`, and the program works for one size of it only.

    Example: `if x.shape[0] == 5:` with five rows. Cure: change the line that the message names, use `maybe_mark_dynamic`, or
    declare the size as `torch.export.Dim.AUTO`. `function` is where the sizes belong to, with its place; `problems` name the sizes
    and the lines; `said_by` what said that they differ: `mark_dynamic`, `dynamic_shapes`.
    """

    def __init__(
        self, function: str, problems: Sequence[str], said_by: Sequence[str] = ("mark_dynamic",)
    ) -> None:
        self.function = function
        self.problems = tuple(problems)
        self.said_by = tuple(said_by)
        listed = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(
            f"{function} breaks what {' or '.join(self.said_by)} says:\n{listed}\n"
            f"Change that line so that it holds for all sizes, {', or '.join(_SIZES_MAY_BE_FIXED[one] for one in self.said_by)}."
        )


_SIZES_MAY_BE_FIXED: Final = {
    "mark_dynamic": "mark the dimension with maybe_mark_dynamic or not at all, or set config.allow_ignore_mark_dynamic",
    "dynamic_shapes": "declare the size as torch.export.Dim.AUTO, which the program may fix, or as a number",
}


class SizeOutOfRange(FramesmithError, ValueError):
    """The size of a dimension is not in the range that `mark_dynamic(min=, max=)` promised for it.

    Cure: mark the tensor with a range that holds its size.
    """

    def __init__(self, name: str, dim: int, size: int, bounds: tuple[int | None, int | None]) -> None:
        low, high = bounds
        said = " and ".join(
            text for bound, text in ((low, f"min={low}"), (high, f"max={high}")) if bound is not None
        )
        super().__init__(
            f"dimension {dim} of {name} has the size {size}, and mark_dynamic says {said}; mark it with a range that holds "
            "all sizes, or without one"
        )


class ExportError(FramesmithError, RuntimeError):
    """A program cannot be exported as one graph: it has side effects, or its arguments or its result do not fit a graph.

    Example: `log.append(1)` inside `export(fn)`. The message names the value, the user's line and the remedy.
    """


class ForbiddenInGraph(FramesmithError, RuntimeError):
    """A function that `torch._dynamo.forbid_in_graph` has marked is called by a compiled one. Cure: call it outside."""


class RecompileError(FramesmithError, RuntimeError):
    """No entry fits, and no further one may be made: `config.error_on_recompile` is set, or `config.recompile_limit` is reached
    where nothing may run uncompiled (`fullgraph=True`, `config.fail_on_recompile_limit_hit`).

    Example: `x + len(text)` with nine texts inside `compile(fn, fullgraph=True)`. Cure: keep what the message names, mark it
    dynamic, or raise the limit.
    """


class ProcessesDiffer(FramesmithError, RuntimeError):
    """With `config.enable_compiler_collectives` this process compiles a function, and others do not.

    Example: the last batch of one process has another size, which a compiled function has not seen. Cure: let all processes make
    the same calls, mark the sizes that differ with `mark_dynamic`, or turn the option off. `missing` are the ranks of the others.
    """

    def __init__(self, function: str, rank: int, missing: Sequence[int], count: int, seconds: int) -> None:
        self.function = function
        self.missing = tuple(missing)
        one = len(self.missing) == 1
        ranks = f"rank {self.missing[0]}" if one else f"ranks {', '.join(map(str, self.missing))}"
        super().__init__(
            f"rank {rank} of {count} compiles {function}, and {ranks} {'does' if one else 'do'} not: waited {write_count(seconds, 'second')} "
            "(config.compiler_collective_seconds). With config.enable_compiler_collectives all processes compile the same functions "
            "in the same order. next step: let all of them make this call, mark the sizes in which they differ with mark_dynamic, or "
            "turn the option off"
        )


class UnsoundCode(FramesmithError, RuntimeError):
    """`config.verify_code` is set and what was emitted is wrong: a bug of framesmith, met before it could do harm.

    Cure: report the message; without the option CPython would have run the code as it is.
    """

    def __init__(self, what: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        listed = "\n".join(problems)
        super().__init__(f"framesmith has a bug: the emitted {what} is unsound; please report it\n{listed}")


class IgnoredSettingWarning(UserWarning):
    """Something that the process said to torch.compile has no effect here. The message names it; said once."""


class NotCompiledWarning(UserWarning):
    """Something that was given to `compile` runs uncompiled. The message says why; said once for the same options."""


class RecompileLimitWarning(UserWarning):
    """`config.recompile_limit` is reached. The message names what varies, its line and what to do; said once a function."""


class BackendFailedWarning(RuntimeWarning):
    """`config.suppress_errors` is set and the backend failed; the function runs uncompiled. The message is the backend's."""


class TracingBugWarning(RuntimeWarning):
    """A bug of framesmith was met; the function runs uncompiled. The message names the user's function."""
