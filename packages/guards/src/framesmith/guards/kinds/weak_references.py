"""The claim that no weak reference can observe when a value dies."""

import weakref
from dataclasses import dataclass
from typing import Final, final

from torch.utils.weak import WeakIdRef

from framesmith.guards.class_lookup import is_one_of
from framesmith.guards.kinds.base import Claim
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source

_PROXIES: Final = weakref.ProxyTypes


def is_weakly_observed(value: object) -> bool:
    """Whether the program can observe the value's death: something refers to it weakly, or it is itself a weak
    reference with a callback, which is not called if the reference dies first, or a proxy.

    Fake tensors refer to the tensors of which they were made by `WeakIdRef`: those do not count.
    """
    cls = type(value)
    if is_one_of(cls, _PROXIES):
        return True
    if issubclass(cls, weakref.ref):
        assert isinstance(value, weakref.ref)
        return value.__callback__ is not None
    return any(type(reference) is not WeakIdRef for reference in weakref.getweakrefs(value))


@final
@dataclass(frozen=True, slots=True, eq=False)
class NotWeaklyObserved(Claim):
    """The program cannot observe the value's death through a weak reference (`is_weakly_observed`)."""

    def check(self, value: object) -> bool:
        return not is_weakly_observed(value)

    def render(self, value_expression: str, names: Names) -> str:
        return f"not {names.constant(is_weakly_observed, 'is_weakly_observed')}({value_expression})"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: a weak reference shows its end now"

    def text(self, source: Source) -> str:
        return f"no weak reference shows the end of {source.text()}"
