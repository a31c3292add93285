"""What is compiled, called and dropped leaves next to nothing behind, however often: see `benchmarks.growth`."""

import pytest
from benchmarks.growth import CASES, growth

KIBIBYTE = 1024
BOUND = 1.2


@pytest.mark.parametrize("case", CASES)
def test_a_cycle_leaves_next_to_nothing_behind(case) -> None:
    assert growth("ours", case, warm=15, cycles=40) < BOUND * KIBIBYTE
