"""Signals that come while a trace runs: their handlers wait, run once, and are those of the program again."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from framesmith.graph.environment.postponed_signals import POSTPONED, signals_handled, signals_postponed


class Late(Exception):
    pass


def raise_late(*_: object) -> None:
    raise Late


@pytest.fixture
def handle() -> Iterator[Callable[[Callable[..., None]], None]]:
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda handler: signal.signal(signal.SIGUSR1, handler)
    signal.signal(signal.SIGUSR1, before)


def test_a_handler_waits_for_the_end(handle):
    seen: list[object] = []
    handle(lambda number, frame: seen.append((number, frame is not None)))
    with signals_postponed():
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        assert not seen
    assert seen == [(signal.SIGUSR1, True)]
    assert not POSTPONED.pending


def test_a_handler_runs_where_it_is_delivered(handle):
    seen: list[object] = []
    handle(lambda *_: seen.append(1))
    with signals_postponed():
        signal.raise_signal(signal.SIGUSR1)
        POSTPONED.deliver()
        assert seen == [1]
    assert seen == [1]


def test_one_that_raises_leaves_the_handlers_of_the_program(handle):
    handle(raise_late)
    interrupt = signal.getsignal(signal.SIGINT)
    with pytest.raises(Late) as raised, signals_postponed():
        try:
            raise KeyError("of the trace")
        finally:
            signal.raise_signal(signal.SIGUSR1)
    assert raised.value.__context__ is None
    assert signal.getsignal(signal.SIGUSR1) is raise_late
    assert signal.getsignal(signal.SIGINT) is interrupt


def test_where_the_program_waits_its_handlers_run_at_once(handle):
    handle(raise_late)
    with signals_postponed():
        with signals_postponed(), signals_handled():
            assert signal.getsignal(signal.SIGUSR1) is raise_late
            with pytest.raises(Late):
                signal.raise_signal(signal.SIGUSR1)
        assert signal.getsignal(signal.SIGUSR1) is not raise_late
    with signals_handled(), pytest.raises(Late):
        signal.raise_signal(signal.SIGUSR1)


def test_a_handler_that_the_program_sets_meanwhile_stays(handle):
    with signals_postponed():
        handle(raise_late)
    assert signal.getsignal(signal.SIGUSR1) is raise_late


def test_nothing_waits_longer_than_two_seconds(handle):
    handle(raise_late)
    began = time.monotonic()
    with pytest.raises(Late), signals_postponed():
        signal.raise_signal(signal.SIGUSR1)
        while time.monotonic() - began < 30:
            time.sleep(0.01)
    assert time.monotonic() - began < 20
    assert signal.getsignal(signal.SIGUSR1) is raise_late


def test_another_thread_changes_no_handler(handle):
    handle(raise_late)
    found: list[object] = []

    def beside() -> None:
        with signals_postponed():
            found.append(signal.getsignal(signal.SIGUSR1))

    thread = threading.Thread(target=beside)
    thread.start()
    thread.join()
    assert found == [raise_late]


def test_a_child_of_another_thread_has_the_handlers_of_the_program(handle):
    handle(raise_late)
    codes: list[int] = []

    def fork() -> None:
        child = os.fork()
        if not child:
            os._exit(0 if signal.getsignal(signal.SIGUSR1) is raise_late else 1)
        codes.append(os.waitpid(child, 0)[1])

    with signals_postponed():
        thread = threading.Thread(target=fork)
        thread.start()
        thread.join()
    assert codes == [0]
