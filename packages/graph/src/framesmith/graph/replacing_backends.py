"""Callables of the user that replace the operations of a graph: found out when they compile one, since nothing tells before.

    def backend(module, examples): return aot_module_simplified(module, examples, fw_compiler=...)

A graph may rely on being run as it was captured: it reads numbers out of tensors, which a backend that traces it would keep as
constants, and takes floats, which AOTAutograd rounds. Such a graph is thrown away, and traced again as for `aot_eager`.
"""

import weakref
from collections.abc import Callable
from typing import Final, final

import torch

_PROXIES: Final = torch._C._TorchDispatchModeKey.PROXY
_KNOWN: Final[dict[int, Callable[[], object]]] = {}


def is_known_to_replace(backend: object) -> bool:
    """Whether a backend was seen to replace the operations of a graph."""
    known = _KNOWN.get(id(backend))
    return known is not None and known() is backend


def note_replacing(backend: object) -> None:
    """A backend was seen to replace operations. It is not kept alive, unless it takes no weak references."""
    key = id(backend)
    try:
        _KNOWN[key] = weakref.ref(backend, lambda _: _KNOWN.pop(key, None))
    except TypeError:
        _KNOWN[key] = lambda: backend


@final
class OperationsReplaced(Exception):
    """The backend replaces operations, on which the graph relies: trace once more. A backend that traces when the graph first runs
    shows the message to the user."""

    def __init__(self) -> None:
        super().__init__(
            "a graph that reads numbers out of tensors was traced again, which would keep them as constants. next step: let the "
            'backend trace the graph when it is given one, not when it first runs, or use backend="aot_eager" or "inductor"'
        )


def refuse_tracing() -> None:
    """Raise OperationsReplaced where something traces that would keep a number, which is about to be read, as a constant."""
    if torch._C._get_dispatch_mode(_PROXIES) is not None or torch._C._get_tracing_state() is not None:
        raise OperationsReplaced


@final
class Reliance:
    """Whether a recording relies on a backend that runs the operations as they are captured. Invariant: `holds` does not change
    while the recording lasts, though another thread may find out that it will not hold. `keeps_all`: no operation draws or may raise."""

    def __init__(self, holds: bool, backend: object) -> None:
        self.holds = holds
        self.is_certain = holds and isinstance(backend, str)
        self.keeps_all = False
        self._was_asked = False

    def ask(self) -> bool:
        """Whether the operations run as captured. The graph relies on it from now on."""
        self._was_asked |= self.holds
        return self.holds

    def check(self, backend: object, context: torch._guards.TracingContext, is_broken: bool) -> None:
        """After a callable has compiled the graph, or has failed: raises OperationsReplaced if it has replaced operations and the graph
        relies on them. AOTAutograd says so in the context; `is_broken`: an operation of the graph has noticed."""
        if not self.holds or self.is_certain:
            return
        if is_broken or context.params_flat is not None:
            note_replacing(backend)
            if is_broken or self._was_asked:
                raise OperationsReplaced
