"""What is compiled, called and dropped leaves next to nothing behind, however often: see `benchmarks.growth`."""

import pytest
from benchmarks.growth import CASES, growth

KIBIBYTE = 1024
BOUND = 1.2


@pytest.mark.parametrize("case", CASES)
def test_a_cycle_leaves_next_to_nothing_behind(case) -> None:
    # other things in the process grow at times; what a cycle leaves behind is there every time
    found = [growth("ours", case, warm=15, cycles=40)]
    while found[-1] >= BOUND * KIBIBYTE and len(found) < 3:
        found.append(growth("ours", case, warm=15, cycles=40))
    assert min(found) < BOUND * KIBIBYTE
