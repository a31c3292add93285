"""The records of what happened: each says itself what `explain` says of it."""

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
