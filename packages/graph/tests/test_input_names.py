"""Names of inputs, by where they come from. That torch.compile gives the same ones: `tests/quality/test_names.py`."""

import sys

import pytest

from framesmith.graph.inputs.input_names import placeholder_name
from framesmith.guards.sources import Attribute, InstanceItem, Item, Local, Pinned
from framesmith.guards.sources.tensors import Gradient, TensorSize

HERE = Pinned(sys.modules[__name__].__dict__, __name__)
SELF = Local("self")
LAYERS = Item(InstanceItem(SELF, "_modules"), "layers")
WEIGHT = Item(InstanceItem(Item(InstanceItem(LAYERS, "_modules"), "0"), "_parameters"), "weight")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (Local("x"), "l_x_"),
        (Local("__x"), "l_x_"),
        (Local("myValue"), "L_myValue_"),  # the graph writes `l_my_value_`
        (WEIGHT, "l_self_modules_layers_modules_0_parameters_weight_"),
        (Attribute(Local("batch"), "mask"), "l_batch_mask"),
        (Item(Item(Local("args"), 0), "key with blanks"), "l_args_0_key_with_blanks_"),
        (Item(HERE, "table"), "g_table_"),
        (Item(Item(HERE, "table"), 1), "g_table_1_"),
        (Item(Pinned(vars(pytest), "pytest"), "table"), "g_import_pytest_table"),
        (Gradient(Local("x")), "l_x_grad"),
        (TensorSize(Local("x"), 0), "l_x_size_0_"),
    ],
)
def test_names(source, name):
    assert placeholder_name(source, __name__) == name


def test_a_long_text_is_cut():
    source = Item(HERE, "x" * 400)
    assert placeholder_name(source, __name__) == f"g_{'x' * 400}_"
    assert len(placeholder_name(TensorSize(source, 0), __name__)) < 80
