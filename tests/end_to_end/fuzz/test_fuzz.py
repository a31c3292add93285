"""Random programs behave compiled as they do eagerly. Run for long by the nox session `fuzz`; a few in every run."""

import random

import hypothesis
import pytest
from hypothesis import strategies as st
from tests.end_to_end.breaks.test_matrix import change
from tests.end_to_end.fuzz import wild_runs
from tests.end_to_end.fuzz.statements import Composer
from tests.end_to_end.support import check_source

QUIET = list(hypothesis.HealthCheck)


@pytest.mark.parametrize("seed", range(60))
def test_some_random_programs(seed):
    check_source(Composer(random.Random(seed)).program(), f"random {seed}", change=change)


@pytest.mark.fuzz
@hypothesis.settings(deadline=None, suppress_health_check=QUIET)
@hypothesis.given(st.randoms(use_true_random=False))
def test_many_random_programs(dice):
    source = Composer(dice).program()
    hypothesis.note(source)
    check_source(source, "random", change=change)


@pytest.mark.parametrize("seed", range(25))
def test_some_wild_programs(seed):
    assert wild_runs.difference(wild_runs.source(seed), wild_runs.dynamic_of(seed)) is None
