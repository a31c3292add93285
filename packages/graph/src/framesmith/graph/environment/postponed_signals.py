"""Handlers of signals run between two steps of a trace, not in the midst of one.

Python runs a handler between any two instructions, of torch's and ours as well. One that raises, as Ctrl-C does, would leave what
a step has only begun: fake mode in force for the rest of the program, say, or a mode that torch's C++ finds in its way, which ends
the process. So while a trace runs, the main thread's handlers are replaced by one that takes note, and the interpreter calls them
where nothing is half done. A step may take long, and a backend minutes: after two seconds the handler runs wherever the thread is,
and what that leaves behind is put back (`dispatch_state`).
"""

import _thread
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, TypeAlias, cast, final

Handler: TypeAlias = Callable[[int, FrameType | None], object]

_PATIENCE: Final = 2.0
"""Seconds for which a signal waits at most."""

_NUMBERS: Final = tuple(sorted(signal.valid_signals()))


@final
class _PostponedSignals:
    """The handlers that are replaced, and the signals that have come meanwhile. All of it is the main thread's."""

    def __init__(self) -> None:
        self.pending: list[int] = []
        """Signals whose handlers have not run yet. The interpreter asks between two steps, so it stays the same list."""
        self._impatient: set[int] = set()  # those that have waited long enough
        self._timers: list[threading.Timer] = []
        self._handlers: dict[int, Handler] = {}
        self._thread: int | None = None  # that which traces; None: no handler is replaced
        self._lock = threading.Lock()  # held where a handler is about to be called after all, or is put back
        # one object, by which it is known as ours
        self._note: Handler = self._take_note

    def begin(self) -> bool:
        """Replace the handlers. False where nothing is to be done: in another thread, in a trace within a trace."""
        own = threading.get_ident()
        if self._thread is not None or own != threading.main_thread().ident:
            return False
        try:
            self._replace()
            self._thread = own
        except BaseException:  # of one that was not replaced yet
            self._thread = None
            self._put_back()
            raise
        return True

    def _replace(self) -> None:
        for number in _NUMBERS:
            handler = signal.getsignal(number)
            # ours: an interrupt came while it was taken off
            if handler is not self._note and callable(handler) and not _does_nothing(handler):
                self._handlers[number] = cast(Handler, handler)
                signal.signal(number, self._note)

    def end(self) -> None:
        """Put the handlers back."""
        with self._lock:
            try:
                self._put_back()
            finally:
                self._thread = None

    def _put_back(self) -> None:
        try:
            for number, handler in self._handlers.items():
                if signal.getsignal(number) is self._note:
                    signal.signal(number, handler)
        except BaseException:  # of one that was back
            self._put_back()
            raise

    def is_begun(self) -> bool:
        """Whether this thread's handlers are replaced."""
        return self._thread == threading.get_ident()

    def deliver(self) -> None:
        """Run the handlers whose signals have come; raises what one of them raises."""
        frame = sys._getframe(1)
        while self._timers:
            self._timers.pop().cancel()
        while self.pending:
            number = self.pending.pop(0)
            self._impatient.discard(number)
            self._handlers[number](number, frame)

    def release(self) -> None:
        """Let go of the program's handlers, once they are back and have run."""
        self._handlers.clear()

    def start_over(self) -> None:
        """In a forked child: the thread that traces may not be there."""
        if self._thread is not None and self._thread != threading.get_ident():
            self._lock = threading.Lock()
            self.pending.clear()
            self.end()

    def _take_note(self, number: int, frame: FrameType | None) -> None:
        if self._thread is None or number in self._impatient:
            self._impatient.discard(number)
            if number in self.pending:
                self.pending.remove(number)
            self._handlers[number](number, frame)
        elif number not in self.pending:
            self.pending.append(number)
            timer = threading.Timer(_PATIENCE, self._insist, (number,))
            timer.daemon = True
            self._timers.append(timer)
            timer.start()

    def _insist(self, number: int) -> None:
        """In another thread, some time after the signal has come."""
        with self._lock:
            if number in self.pending:
                self._impatient.add(number)
                _send_again(number)


def _send_again(number: int) -> None:
    """To the main thread, out of whose system calls a true signal leads."""
    main = threading.main_thread().ident
    if sys.platform == "win32" or main is None:
        _thread.interrupt_main(signal.Signals(number))
    else:
        signal.pthread_kill(main, number)


def _does_nothing(handler: object) -> bool:
    """Whether the handler is none, or is that of asyncio, which hears of signals through a socket."""
    return (
        isinstance(handler, signal.Handlers) or getattr(handler, "__module__", None) == "asyncio.unix_events"
    )


POSTPONED: Final = _PostponedSignals()
os.register_at_fork(after_in_child=POSTPONED.start_over)


@contextmanager
def signals_postponed() -> Iterator[None]:
    """Inside, signals wait for `POSTPONED.deliver`, which the end of the block calls as well."""
    if not POSTPONED.begin():
        yield
        return
    try:
        yield
    finally:
        POSTPONED.end()
        _deliver_alone()


def _deliver_alone() -> None:
    """Deliver, with no word of an exception of ours in whose handling it happens."""
    current = sys.exception()
    try:
        POSTPONED.deliver()
        POSTPONED.release()
    except BaseException as error:
        if error.__context__ is current:
            error.__context__ = None
        raise


@contextmanager
def signals_handled() -> Iterator[None]:
    """Inside `signals_postponed`: the handlers of the program, for what only waits."""
    if not POSTPONED.is_begun():
        yield
        return
    POSTPONED.end()
    try:
        POSTPONED.deliver()
        yield
    finally:
        POSTPONED.begin()
