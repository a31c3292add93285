"""Programs on CUDA, compiled and eager: results, printed text, random streams, streams and settings, over several calls.

For a machine with a GPU: `python dev.py cuda`, or `pytest tests/cuda`. Not part of the tests that a change has to pass.
"""

import pytest
import torch
from tests.cuda import kernels, modules, operations, settings, state
from tests.cuda.support import PROGRAMS, outcomes

from framesmith import frontend

assert kernels and modules and operations and settings and state  # their import registers the programs
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gives_eagerly(name: str, backend: str) -> None:
    if backend != "eager" and name in ROUNDED:
        pytest.skip("AOTAutograd takes other kernels, which round otherwise")
    build = PROGRAMS[name]
    outcomes(build, lambda function: function)  # cuDNN draws the seed of its dropout once for a process
    expected = outcomes(build, lambda function: function)
    found = outcomes(build, lambda function: frontend.compile(function, backend=backend))
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        for what, value in one.items():
            assert other[what] == value, f"call {number + 1}: {what}"


ROUNDED = {"convnet", "step_adam", "step_adamw_foreach", "step_nadam", "step_adagrad", "step_adagrad_fused"}
