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
    """How many nested inferences run in this thread, and whether one has warned."""

    value = 0
    has_warned = False


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
        _DEPTH.has_warned |= _DEPTH.value > 0
        return _DEPTH.value > 0

    def __reduce__(self) -> str:
        return "_INFERENCE_PATTERN"


_INFERENCE_PATTERN: Final = _InferencePattern()
_FILTER: Final = ("ignore", None, Warning, _INFERENCE_PATTERN, 0)


def _remove_filter(filters: list[object]) -> None:
    """Take ours out; it is there once at most, and nearly always the first."""
    for index, one in enumerate(filters):
        if one is _FILTER:
            del filters[index]
            return


def _put_filter_first() -> list[object]:
    """Make ours the first of the filters, and give these.

    `warnings` need not be told (`_filters_mutated`): that only makes it forget which warnings were shown, and an ignored
    warning is not remembered as shown.
    """
    filters = cast("list[object]", warnings.filters)
    if not filters or filters[0] is not _FILTER:
        _remove_filter(filters)
        filters.insert(0, _FILTER)
    return filters


@final
class _Settings:
    """Settings of the process while any thread infers. A warning filter of ours is the first one, and C++ does not mark its
    once-per-process warnings as given, so that the run still gives them: another thread may get such a warning once more.

    In between both are as they were: programs read the filters, and entries guard them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inferring = 0
        self._before = False
        self._filters: list[list[object]] = []  # those that ours was put into: programs replace the list

    def enter(self) -> None:
        """Count a thread that begins to infer; the first one changes the settings."""
        with self._lock:
            filters = _put_filter_first()
            # By identity: lists with equal filters are equal.
            if not any(one is filters for one in self._filters):
                self._filters.append(filters)
            if not self._inferring:
                self._before = torch._C._get_warnAlways()
                torch._C._set_warnAlways(True)
            # last: what is raised before, as where no frame is left, leaves nothing to undo but a filter that matches nothing
            self._inferring += 1

    def leave(self) -> None:
        """Count a thread that has finished; the last one restores the settings."""
        with self._lock:
            self._inferring -= 1
            if not self._inferring:
                self._restore()

    def _restore(self) -> None:
        torch._C._set_warnAlways(self._before)
        current = cast("list[object]", warnings.filters)  # a copy of one of them, perhaps
        for filters in (*self._filters, current):
            _remove_filter(filters)
        self._filters.clear()

    def start_over(self) -> None:
        """Start anew in a forked child, where no other thread runs: a fresh lock, and the count of this thread alone."""
        self._lock = threading.Lock()
        if self._inferring and not _DEPTH.value:
            self._restore()
        # It counts threads, not the nested inferences of one.
        self._inferring = min(_DEPTH.value, 1)


_SETTINGS: Final = _Settings()
os.register_at_fork(after_in_child=_SETTINGS.start_over)


@final
class _Silence(threading.local):
    """The context manager; it is reentrant."""

    hooks = False

    def __enter__(self) -> None:
        if not _DEPTH.value:
            _SETTINGS.enter()
            # where torch itself traces, the default hooks on saved tensors are left for the run
            self.hooks = torch._C._autograd._saved_tensors_hooks_set_tracing(True)
        _DEPTH.value += 1

    def __exit__(self, *raised: object) -> None:
        _DEPTH.value -= 1
        if not _DEPTH.value:
            torch._C._autograd._saved_tensors_hooks_set_tracing(self.hooks)
            _SETTINGS.leave()

    def take_warned(self) -> bool:
        """Whether there was a warning since this was asked last."""
        found, _DEPTH.has_warned = _DEPTH.has_warned, False
        return found


SILENCE: Final = _Silence()
