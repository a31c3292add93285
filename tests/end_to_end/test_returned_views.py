"""Views of arguments that are written to, of sizes that vary."""

import pytest
import torch

from framesmith import frontend

PROGRAMS = {
    "view_as": lambda x: (x.mul_(2), x.view_as(x)),
    "view": lambda x: (x.exp_(), x.view(x.shape[0], -1)),
    "reshape": lambda x: (x.add_(1), x.reshape(x.shape)),
    "unflatten": lambda x: (x.add_(1), x.unflatten(0, (2, 2))),
    "slice": lambda x: (x.add_(1), x[1:]),
}


def part():
    return torch.arange(48.0).reshape(8, 6)[::2, 1:4]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_view_shows_the_elements_of_the_argument(name, backend):
    program = PROGRAMS[name]
    compiled = frontend.compile(program, backend=backend, dynamic=True)
    for _ in range(2):
        own = part()
        expected, found = program(part())[1], compiled(own)[1]
        assert found.stride() == expected.stride()
        assert found.storage_offset() == expected.storage_offset()
        torch.testing.assert_close(found, expected)
        own.zero_()
        assert not found.any()
