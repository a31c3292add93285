"""Rows keyed by the real callable: how a call of `len`, `list.append` or `math.sqrt` is modelled.

The mechanism only. The rows are next to the code they point to; `variables.catalog` lists them all.
"""

import inspect
import sys
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Final, final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import CALL_SIGNATURE, DISABLED, OPERATION_RAISES
from framesmith.variables.core.base import Arguments, Keywords, PendingCall, TraceContext, Tracker
from framesmith.variables.core.registry import Registry, Table
from framesmith.variables.core.torch_rules import is_disallowed

RowFunction = Callable[..., "Tracker | PendingCall"]
_IN_C = (BuiltinFunctionType, MethodDescriptorType)
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A callable and the function that models its calls; `signature` is the function's without `tx`.

    `positional`: how many arguments fit it where none is given by name; for those `inspect.Signature.bind`, which is slow, is not
    asked.
    """

    key: object
    function: RowFunction
    signature: inspect.Signature
    positional: range

    def begin(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """Call the function with realized operands. A call that does not fit the signature breaks the graph."""
        if is_disallowed(self.key):
            raise GraphBreak(DISABLED, f"{callable_name(self.key)}: it is marked with disallow_in_graph")
        positional = [argument.realize() for argument in args]
        keywords = {name: argument.realize() for name, argument in kwargs.items()}
        # a row may take fewer forms of a call than the callable: what does not fit is no TypeError of the user yet
        if keywords or len(positional) not in self.positional:
            try:
                self.signature.bind(*positional, **keywords)
            except TypeError as error:
                refused = is_refused_by(self.key, len(positional), [*keywords])
                kind = OPERATION_RAISES if refused else CALL_SIGNATURE
                raise GraphBreak(kind, f"{callable_name(self.key)}: {error}") from None
        if tx.changes.overrides.is_watched:
            begun = tx.registry.get_single(ON_SUBCLASSES)(tx, self, positional, keywords)
            if begun is not None:
                return begun
        return self.function(tx, *positional, **keywords)


def is_refused_by(function: object, count: int, keywords: Iterable[str]) -> bool:
    """Whether a C function itself refuses a call with so many arguments by position and these keywords, as far as it says
    what it takes."""
    if not isinstance(function, _IN_C):
        return False
    try:
        inspect.signature(function).bind(*range(count), **dict.fromkeys(keywords))
    except ValueError:  # it does not say
        return False
    except TypeError:
        return True
    return False


def row_signature(function: RowFunction) -> tuple[inspect.Signature, range]:
    """The signature of a function without its first parameter, `tx`, and how many arguments fit it by position."""
    parameters = [*inspect.signature(function).parameters.values()][1:]
    kinds = [parameter.kind for parameter in parameters]
    required = [parameter.kind for parameter in parameters if parameter.default is parameter.empty]
    signature = inspect.Signature(parameters)
    # no call fits by position alone: `bind` is asked each time, and says what is missing
    if inspect.Parameter.KEYWORD_ONLY in required:
        return signature, range(0)
    least, most = (sum(kind in _BY_POSITION for kind in some) for some in (required, kinds))
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        most = sys.maxsize - 1
    return signature, range(least, most + 1)


CALLS: Final = Table[Hashable, Row]("calls")
"""What is called, by the real callable."""


CallOnSubclasses = Callable[
    [TraceContext, Row, "list[Tracker]", "dict[str, Tracker]"], "Tracker | PendingCall | None"
]
ON_SUBCLASSES: Final = Table[None, CallOnSubclasses]("calls with tensors of subclasses")
"""What becomes of a call once the trace has seen a tensor of a subclass; None: it concerns none."""


def row_of(registry: Registry, key: object) -> Row | None:
    """The row of a callable, or None."""
    try:
        return registry[CALLS].get(key)  # what cannot be hashed raises TypeError
    except TypeError:
        return None


def callable_name(key: object) -> str:
    """The name of a callable for messages: `list.append`, `torch.add`."""
    name = getattr(key, "__qualname__", None) or getattr(key, "__name__", None) or repr(key)
    owner = getattr(key, "__module__", None) or getattr(
        getattr(key, "__objclass__", None), "__module__", None
    )
    return name if owner in (None, "builtins") else f"{owner}.{name}"
