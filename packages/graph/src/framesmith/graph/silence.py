"""Silences an operation that runs on fake values: no warning, no log record, no hook on saved tensors.

    F.mse_loss(x, y)    warns of sizes that differ
    ->                  the fake run says nothing (it would say `torch.Size([s93])`); the graph says it when it runs

This holds for the running thread while it infers (runs an operation on fakes), whatever other threads do.
"""

import logging
import os
import threading
import warnings
from typing import Final, cast, final

import torch


@final
class _Depth(threading.local):
    """How many nested inferences run in this thread."""

    value = 0


_DEPTH: Final = _Depth()


@final
class _FakeFailureFilter(logging.Filter):
    """Keeps torch from logging a failure on fakes as an error: eager runs the operation and says it, or the program
    handles it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is shown."""
        return not _DEPTH.value


logging.getLogger("torch._subclasses.fake_tensor").addFilter(_FakeFailureFilter())


@final
class _InferencePattern:
    """Replaces the module pattern of a warning filter: `warnings` only calls its `match`.

    A real pattern would not do: `stacklevel` and C++ give the name of whatever module is some frames up.
    """

    def match(self, module: str) -> bool:
        """Whether the thread that warns is inferring."""
        return _DEPTH.value > 0

    def __reduce__(self) -> str:
        return "_INFERENCE_PATTERN"


_INFERENCE_PATTERN: Final = _InferencePattern()
_FILTER: Final = ("ignore", None, Warning, _INFERENCE_PATTERN, 0)


def _put_filter_first() -> None:
    """Make ours the first filter again: `catch_warnings` and `simplefilter` replace the filters or insert theirs before it.

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
    """While any thread infers, C++ does not mark its once-per-process warnings as given, so that the run still gives them.

    The setting belongs to the process: another thread may get such a warning once more.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inferring = 0
        self._before = False

    def enter(self) -> None:
        """Count a thread that begins to infer; the first one turns the setting on."""
        with self._lock:
            if not self._inferring:
                self._before = torch._C._get_warnAlways()
                torch._C._set_warnAlways(True)
            self._inferring += 1

    def leave(self) -> None:
        """Count a thread that has finished; the last one restores the setting."""
        with self._lock:
            self._inferring -= 1
            if not self._inferring:
                torch._C._set_warnAlways(self._before)

    def start_over(self) -> None:
        """Start anew in a forked child, where no other thread runs: a fresh lock, and the count of this thread alone."""
        self._lock = threading.Lock()
        if self._inferring and not _DEPTH.value:
            torch._C._set_warnAlways(self._before)
        self._inferring = min(_DEPTH.value, 1)


_WARN_ALWAYS: Final = _WarnAlways()
os.register_at_fork(after_in_child=_WARN_ALWAYS.start_over)


@final
class _Silence(threading.local):
    """The context manager; it is reentrant."""

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
