"""The records of what happened: each says itself what `explain` says of it."""

import logging
import threading

import torch

from framesmith import frontend


def f(x):
    y = x + 1
    print("hi")
    return y * 2


def test_a_break_is_printed_as_explain_prints_it() -> None:
    report = frontend.explain(f)(torch.ones(3))
    text = str(report.breaks[0])
    assert text.replace("break at", "break 1 at", 1) in str(report)
    assert text.startswith(f"break at {__file__}:") and text.endswith('print("hi")')


def test_an_entry_is_printed_as_explain_prints_it() -> None:
    report = frontend.explain(f)(torch.ones(3))
    assert str(report.entries[0]).replace("entry of", "entry 1,", 1) in str(report)
    assert "y: Tensor" in str(report.entries[1])


def test_another_thread_compiles_while_the_lock_of_logging_is_taken():
    """An interruption in `logging.getLogger` leaves it taken."""
    compiled = frontend.compile(lambda x: x + 1, backend="eager")
    for sizes in (1, 2, 3):  # torch, too, sets up loggers of its own at first
        compiled(torch.ones(sizes))
    results = []
    thread = threading.Thread(target=lambda: results.append(compiled(torch.ones(1, dtype=torch.int64))))
    with logging._lock:
        thread.start()
        thread.join(20)
        assert results
    thread.join()
