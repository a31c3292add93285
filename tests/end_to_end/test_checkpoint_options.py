"""Options of `torch.utils.checkpoint.checkpoint` that say how it computes again, not what."""

import pytest
from tests.end_to_end.support import check_source

PROGRAM = """
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(){more})
def f(x): return checkpoint(model, x, use_reentrant=False, {options}).sin()
def args(): return (torch.ones(2, 3, requires_grad=True),)
"""


@pytest.mark.parametrize("more", ["", ", nn.Dropout(0.5)"])
@pytest.mark.parametrize(
    "options",
    [
        "determinism_check='none'",
        "determinism_check='default'",
        "early_stop=False",
        "early_stop=True, debug=False",
    ],
)
def test_an_option_of_the_second_run_is_captured(options, more):
    check_source(PROGRAM.format(options=options, more=more), breaks=0)


@pytest.mark.parametrize("options", ["debug=True", "determinism_check='unknown'"])
def test_any_other_runs_natively(options):
    report = check_source(PROGRAM.format(options=options, more=""), backward="unknown" not in options)
    assert report.breaks
