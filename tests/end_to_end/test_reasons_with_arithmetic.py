"""Why a call is compiled again where numbers were computed: the formula as the program would write it."""

import math

import pytest
import torch

from framesmith import frontend
from framesmith.frontend import api


class Schedule:
    last_epoch = 0


def stepped(x, schedule):
    schedule.last_epoch += 1
    return x + 1 if schedule.last_epoch + 1 <= 4.9 else x - 1


def divided(x, n):
    return x + 1 if (3 * n - 1) / 2 > 14.5 else x + n


def rooted(x, v):
    return x * v if math.sqrt(v) * 2 > 3 else x + 1


@pytest.mark.parametrize(
    ("function", "values", "said"),
    [
        (stepped, [Schedule()] * 6, "schedule.last_epoch + 2 <= 4.9 was True and is False"),
        (divided, [2, 3, 4, 12], "(3 * n - 1) / 2 > 14.5 was False and is True"),
        (rooted, [0.5, 0.6, 0.7, 9.0], "sqrt(v) * 2 > 3 was False and is True"),
    ],
)
def test_a_reason_with_arithmetic_reads_as_the_program(function, values, said) -> None:
    compiled = frontend.compile(function, backend="eager")
    x = torch.ones(3)
    for value in values:
        before = value.last_epoch if isinstance(value, Schedule) else None
        result = compiled(x, value)
        if before is not None:
            value.last_epoch = before
        assert torch.equal(result, function(x, value))
    recompiles = api.session_of(compiled).history.recompiles
    reasons = [reason for reason in recompiles if said in reason]
    assert reasons and not any("<" in one and ">(" in one for one in recompiles)
