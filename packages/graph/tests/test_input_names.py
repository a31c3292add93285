"""Names of inputs, by where they come from. That torch.compile gives the same ones: `tests/quality/test_names.py`."""

import sys

import pytest

from framesmith.graph.inputs.input_names import CompiledFunction, placeholder_name
from framesmith.guards.sources import Attribute, InstanceItem, Item, Local, Pinned
from framesmith.guards.sources.tensors import Gradient, TensorSize

HERE_COMPILED = CompiledFunction(__name__)
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
    assert placeholder_name(source, HERE_COMPILED) == name


def test_a_long_text_is_cut():
    source = Item(HERE, "x" * 400)
    assert placeholder_name(source, HERE_COMPILED) == f"g_{'x' * 400}_"
    assert len(placeholder_name(TensorSize(source, 0), HERE_COMPILED)) < 80


class Module:
    def plain(this, x, y=None, *, z=None):
        pass

    def rest(self, x, *more, z=None, **others):
        pass

    def wrapper(*all, **words):
        pass


@pytest.mark.parametrize(
    ("method", "source", "name"),
    [
        ("plain", Attribute(SELF, "scale"), "l_this_scale"),
        ("plain", Item(Local("args"), 1), "l_y_"),
        ("plain", Item(Local("args"), 7), "l_args_7_"),  # binding it raises
        ("plain", Item(Item(Local("kwargs"), "z"), 0), "l_z_0_"),
        ("rest", Item(Local("args"), 0), "l_x_"),
        ("rest", Item(Local("args"), 2), "l_more_1_"),
        ("rest", Item(Local("kwargs"), "z"), "l_z_"),
        ("rest", Item(Local("kwargs"), "w"), "l_others_w_"),
        ("wrapper", SELF, "l_all_0_"),
        ("wrapper", Item(Local("args"), 0), "l_all_1_"),
        ("wrapper", Item(Local("kwargs"), "mask"), "l_words_mask_"),
        ("plain", Local("x"), "l_x_"),
    ],
)
def test_inputs_of_a_module_are_named_after_the_parameters_of_forward(method, source, name):
    assert placeholder_name(source, CompiledFunction(forward=vars(Module)[method].__code__)) == name


def test_a_name_is_the_same_after_others_of_its_base():
    bias = Item(WEIGHT.base, "bias")
    known = {}
    names = [placeholder_name(one, HERE_COMPILED, known) for one in (WEIGHT, bias, WEIGHT.base, LAYERS)]
    assert names == [placeholder_name(one, HERE_COMPILED) for one in (WEIGHT, bias, WEIGHT.base, LAYERS)]
