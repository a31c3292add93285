"""The models that need no further package, against eager over five shapes; the others run in the nox session `models`."""

import pytest
import torch
from tests.quality.model_runs import difference, ours
from tests.quality.models import catalogue, is_for_judging

MODELS = catalogue(["own", "recurrent"])
#: Graphs of the first shape, where there is not one: packing, the recurrence over what is packed, and padding run natively.
IN_PIECES = {"recurrent/packed": 0}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_equal_to_eager_and_captured_as_well_as_before(name) -> None:
    found = ours(MODELS[name])
    assert (found["wrong"], found["first"]) == ([], IN_PIECES.get(name, 1)), found["reasons"]


def test_both_halves_have_models() -> None:
    assert {is_for_judging(name) for name in MODELS} == {True, False}


@pytest.mark.parametrize("other", [torch.ones(3), torch.full((2,), 1.1), None])
def test_a_difference_is_found(other) -> None:
    assert difference([torch.ones(2)], [other]) is not None and difference([other], [other]) is None
