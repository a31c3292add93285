"""Detection and tagging models give the boxes, tags and losses of eager, whatever the number of results is."""

import pytest
import torch
from tests.end_to_end.compare import Comparison
from tests.end_to_end.detection_programs import PROGRAMS, priors
from torch.utils._pytree import tree_map_only

from framesmith import frontend


@pytest.mark.parametrize(("backend", "captures"), [("eager", False), ("eager", True), ("aot_eager", False)])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_results_are_those_of_eager(program, backend, captures):
    compiled, arguments = frontend.compile(program, backend=backend), PROGRAMS[program]
    settings = {"capture_scalar_outputs": captures, "capture_dynamic_output_shape_ops": captures}
    for number in (0, 1, 2):
        with frontend.config.patch(**settings):
            found = compiled(*arguments(number))
        # AOTAutograd leaves notes on results of varying size
        found = tree_map_only(torch.Tensor, torch.clone, found)
        expected = tree_map_only(torch.Tensor, torch.clone, program(*arguments(number)))
        Comparison(rtol=1e-5, atol=1e-5).same(expected, found, f"{program.__name__}({number})")


def test_a_program_of_known_sizes_is_captured_whole():
    compiled = frontend.compile(priors, backend="eager", fullgraph=True)
    for number in (0, 1, 2, 3):
        assert torch.allclose(compiled(*PROGRAMS[priors](number)), priors(*PROGRAMS[priors](number)))
