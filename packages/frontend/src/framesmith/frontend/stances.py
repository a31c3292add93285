"""`torch.compiler.set_stance` and `torch.compiler.reset`: what the process says about all compiled functions at once.

torch keeps the stance in a module of `torch._dynamo`, which we never import: as long as it is not loaded, none is set.
`PROBE` answers on every call whether entries may serve, by one comparison of identities (ADR 0012). What a stance
means for a call that no entry serves: `cache.unit`.
"""

import sys
import weakref
from dataclasses import dataclass
from types import CellType
from typing import Final, Protocol, final

from framesmith.frontend.errors import RecompileError
from framesmith.frontend.torch_settings import warn_once
from framesmith.graph.environment.dynamo_package import call_when_loaded
from framesmith.graph.options import Backend

_STANCE_MODULE: Final = "torch._dynamo.eval_frame"


@final
@dataclass(frozen=True, slots=True)
class Stance:
    """The stance in force; the names are torch's."""

    name: str = "default"
    backend: str | Backend | None = None

    @property
    def is_eager(self) -> bool:
        """No compiled code runs at all."""
        return self.name == "force_eager"

    @property
    def keeps_entries(self) -> bool:
        """Whether the entries that exist serve calls: they were made for another backend than a forced one."""
        return not self.is_eager and self.backend is None

    @property
    def first_call(self) -> str | None:
        """How the first call of a function runs: `eager`, with the backend `aot_eager`, or as any other (None)."""
        return {"eager_then_compile": "eager", "aot_eager_then_compile": "aot_eager"}.get(self.name)

    def check_recompile(self, function: str, reasons: list[str]) -> None:
        """Raises RecompileError where the process asked for it."""
        if self.name == "fail_on_recompile":
            shown = "\n  ".join(reasons) or "it was not compiled for any call yet"
            raise RecompileError(
                f"{function} has to be compiled and the stance is 'fail_on_recompile':\n  {shown}\n"
                "Call it with what it was compiled for, or set another stance (torch.compiler.set_stance)."
            )


_DEFAULT: Final = Stance()


_KNOWN: Final = (
    "default",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
    "eager_then_compile",
    "aot_eager_then_compile",
)


def current() -> Stance:
    """What `torch.compiler.set_stance` has set. RuntimeError for a stance that nobody knows, as from torch.compile."""
    module = sys.modules.get(_STANCE_MODULE)
    said = getattr(module, "_stance", None)
    if said is None:
        return _DEFAULT
    if said.stance not in _KNOWN:
        raise RuntimeError(
            f"torch.compiler.set_stance({said.stance!r}): there is no such stance; it is one of {', '.join(_KNOWN)}"
        )
    if said.skip_guard_eval_unsafe:
        warn_once(
            "skip_guard_eval_unsafe",
            "set_stance(skip_guard_eval_unsafe=True) has no effect on functions that framesmith compiles: guards are always checked",
        )
    return (
        _DEFAULT if said.stance == "default" and said.backend is None else Stance(said.stance, said.backend)
    )


@final
class _NotLoaded:
    """What the closure cell for torch's module holds as long as that is not loaded: every call reads this attribute."""

    # None, as what `PROBE` knows at first: entries serve.
    _stance: object = None


@final
class Probe:
    """Tells every compiled function whether entries may serve: while `module._stance is known`, or when `agrees()`.

    Both are closure cells of all these functions, so that a call pays for no more than the comparison (ADR 0012).
    """

    def __init__(self) -> None:
        self.module = CellType(_NotLoaded())
        self.known = CellType(None)

    def agrees(self) -> bool:
        """Whether entries may serve under a stance that is not the known one; if so, it is the known one from now on."""
        if not current().keeps_entries:
            return False
        self.known.cell_contents = self.module.cell_contents._stance
        return True

    def attach(self) -> None:
        """torch's module has been loaded: it is asked from now on."""
        module = sys.modules.get(_STANCE_MODULE)
        if module is not None and hasattr(module, "_stance"):
            self.module.cell_contents = module


PROBE: Final = Probe()


class ResettableSession(Protocol):
    """A session, as far as this module needs it: it is told when the process resets torch.compile, and when it forks."""

    def reset(self) -> None:
        """Forget all entries."""
        ...

    def renew_locks(self) -> None:
        """In a forked child: threads that held a lock are not there."""
        ...


LIVE_SESSIONS: "Final[weakref.WeakSet[ResettableSession]]" = weakref.WeakSet()
"""All sessions: of compiled functions, and of the forms of these that a stance has compiled with another backend."""


@final
class ResetListener:
    """An item of torch's table of backends. `torch._dynamo.reset()`, which `torch.compiler.reset` calls, calls the
    `reset` of each backend that has one, and empties the table: `listen` is called with each new entry."""

    def __call__(self, module: object, examples: object) -> object:
        """Never called: it compiles nothing."""
        raise NotImplementedError("not a backend")

    def reset(self) -> None:
        """torch forgets what it compiled, and so do we."""
        for session in list(LIVE_SESSIONS):
            session.reset()

    def listen(self) -> None:
        """Register with torch for the next reset, if torch's compiler is loaded at all."""
        known = getattr(sys.modules.get(_STANCE_MODULE), "cached_backends", None)
        if type(known) is dict:
            # the key that torch gives a backend: its id
            known.setdefault(id(self), self)


LISTENER: Final = ResetListener()
call_when_loaded(PROBE.attach)
call_when_loaded(LISTENER.listen)
