"""The numbers of a trace in torch's logs: `[3/1]` is the second compilation (1) of the compiled function with number 3.

torch puts them before each line of `TORCH_LOGS` and into the records that tlparse reads. To a record without them it adds the
Python stack of the moment, with symbols, which takes longer than the trace.
"""

import itertools
from typing import Final, TypeAlias, final

from torch._guards import CompileContext, CompileId

TraceName: TypeAlias = CompileContext
"""The numbers of one trace, in the form in which torch wants them. `attempt`: how often the trace was started again."""

_FUNCTIONS: Final = itertools.count()


@final
class TraceNumbers:
    """Numbers the traces of one function or continuation; it gets its own number with the first one."""

    def __init__(self) -> None:
        self._function: int | None = None
        self._traces = itertools.count()

    def next(self) -> TraceName:
        """The name of a new trace."""
        if self._function is None:
            self._function = next(_FUNCTIONS)
        return TraceName(CompileId(frame_id=self._function, frame_compile_id=next(self._traces)))
