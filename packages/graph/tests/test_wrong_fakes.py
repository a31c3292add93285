"""`operations.wrong_fakes`: an operation whose fake is wrong is refused, by each of its names; each row is wrong still."""

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from framesmith.graph.breaks.breaks import GraphBreak
from framesmith.graph.fakes import infer
from framesmith.graph.operations.wrong_fakes import WRONG_FAKES

PACK = torch._C._VariableFunctions._pack_padded_sequence


def test_it_is_refused_by_each_of_its_names():
    assert {PACK, torch.ops.aten._pack_padded_sequence.default} <= WRONG_FAKES.keys()
    for target in WRONG_FAKES:
        with pytest.raises(GraphBreak, match="torch gives its fake"):
            infer.run("call_function", target, (), {})


def test_the_fake_of_a_packed_sequence_is_wrong():
    def pack():
        return PACK(torch.ones(2, 4, 5), torch.tensor([4, 2]), True)

    data, lengths = pack()
    with FakeTensorMode(shape_env=ShapeEnv()):
        fake_data, fake_lengths = pack()
    assert (fake_data.shape[0], fake_lengths.dtype) != (data.shape[0], lengths.dtype)
