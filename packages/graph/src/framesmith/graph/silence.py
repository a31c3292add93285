"""An operation that runs on fake values is not heard: no warning, no log record, no hook on saved tensors.

    F.mse_loss(x, y)    warns of sizes that differ
    ->                  the fake run says nothing (it would say `torch.Size([s93])`); the graph says it when it runs

Everything here is about the running thread while it infers, whatever another thread does.
"""

import logging
import os
import threading
import warnings
from typing import Final, cast, final

import torch


@final
class _Depth(threading.local):
    """How deep in inference this thread is."""

    value = 0


_DEPTH: Final = _Depth()


@final
class _Unheard(logging.Filter):
    """Keeps torch from logging a failure on fakes as an error: eager runs the operation and says it, or the program
    handles it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is shown."""
        return not _DEPTH.value


logging.getLogger("torch._subclasses.fake_tensor").addFilter(_Unheard())


@final
class _Inferring:
    """Stands where a warning filter has a pattern for the module's name: `warnings` only calls its `match`.

    A pattern could not tell, as `stacklevel` and C++ name whatever module is some frames up.
    """

    def match(self, module: str) -> bool:
        """Whether the thread that warns is inferring."""
        return _DEPTH.value > 0

    def __reduce__(self) -> str:
        return "_INFERRING"


_INFERRING: Final = _Inferring()
_FILTER: Final = ("ignore", None, Warning, _INFERRING, 0)


def _put_filter_first() -> None:
    """`catch_warnings` and `simplefilter` replace the filters or come before ours.

    `warnings` need not be told (`_filters_mutated`): that only makes it forget which warnings were shown, and an ignored
    warning is not remembered as shown.
    """
    filters = cast("list[object]", warnings.filters)
    if filters and filters[0] is _FILTER:
        return
    filters.insert(0, _FILTER)
    for index in range(len(filters) - 1, 0, -1):
        if filters[index] is _FILTER:
            del filters[index]


@final
class _WarnAlways:
    """Keeps C++ from marking a warning that it gives once per process as given, while any thread infers.

    The setting is the process's: a thread beside may hear such a warning once more.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inferring = 0
        self._before = False

    def enter(self) -> None:
        """One more thread infers."""
        with self._lock:
            if not self._inferring:
                self._before = torch._C._get_warnAlways()
                torch._C._set_warnAlways(True)
            self._inferring += 1

    def leave(self) -> None:
        """One thread less."""
        with self._lock:
            self._inferring -= 1
            if not self._inferring:
                torch._C._set_warnAlways(self._before)

    def start_over(self) -> None:
        """In a forked child: no other thread infers, and nobody holds the lock."""
        self._lock = threading.Lock()
        if self._inferring and not _DEPTH.value:
            torch._C._set_warnAlways(self._before)
        self._inferring = min(_DEPTH.value, 1)


_WARN_ALWAYS: Final = _WarnAlways()
os.register_at_fork(after_in_child=_WARN_ALWAYS.start_over)


@final
class _Silence(threading.local):
    """The context; it may be entered again inside itself."""

    hooks = False

    def __enter__(self) -> None:
        _DEPTH.value += 1
        if _DEPTH.value == 1:
            _put_filter_first()
            _WARN_ALWAYS.enter()
            # where torch itself traces, the default hooks on saved tensors are left for the run
            self.hooks = torch._C._autograd._saved_tensors_hooks_set_tracing(True)

    def __exit__(self, *raised: object) -> None:
        if _DEPTH.value == 1:
            torch._C._autograd._saved_tensors_hooks_set_tracing(self.hooks)
            _WARN_ALWAYS.leave()
        _DEPTH.value -= 1


SILENCE: Final = _Silence()
