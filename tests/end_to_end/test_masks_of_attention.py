"""Masks of `nn.TransformerEncoder`: none, of either type, with warnings and errors as in eager; none of it is left in the graph."""

import warnings

import pytest
import torch
from torch import nn

from framesmith import frontend

LATER = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
FLOATS = torch.zeros(5, 5).masked_fill(LATER, float("-inf"))
PADDING = torch.tensor([[0, 0, 0, 0, 1], [0, 0, 0, 1, 1]], dtype=torch.bool)
MASKS = {
    "none": {},
    "bool": {"mask": LATER},
    "float": {"mask": FLOATS},
    "padding": {"src_key_padding_mask": PADDING},
    "of two types": {"mask": FLOATS, "src_key_padding_mask": PADDING},
    "causal": {"mask": LATER, "is_causal": True},
    "of integers": {"mask": LATER.int()},
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_masks(name, training, backend):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).train(training)
    x = torch.randn(2, 5, 8)
    compiled = frontend.compile(lambda x, given: model(x, **given), backend=backend)

    def run(function):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                result = function()
            except AssertionError as error:
                result = str(error)
        return result, [(str(one.message), one.category, one.filename) for one in seen]

    for _ in range(2):
        expected, warned = run(lambda: model(x, **MASKS[name]))
        found, also_warned = run(lambda: compiled(x, MASKS[name]))
        assert also_warned == warned
        if isinstance(expected, str):
            assert found == expected
        else:
            torch.testing.assert_close(found, expected, equal_nan=True)


def test_a_mask_that_is_not_there_is_no_operation():
    graphs = []
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    frontend.compile(layer, backend=lambda module, _: graphs.append(module.graph) or module.forward)(
        torch.randn(2, 5, 8)
    )
    names = {getattr(node.target, "__name__", "") for node in graphs[0].nodes}
    assert names.isdisjoint({"_canonical_mask", "_none_or_dtype"})
