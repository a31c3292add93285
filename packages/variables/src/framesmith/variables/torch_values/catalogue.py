"""Imports every module of this folder that has rows or wrapping rules."""

from typing import Final

from framesmith.variables.torch_values import (
    arguments,
    conditionals,
    folded,
    function_modules,
    functions,
    method_rows,
    modes,
    native_contexts,
    native_enums,
    nn_modules,
    number_inputs,
    recipes,
    symbolic,
    tensor_attributes,
    tensor_inputs,
    type_questions,
)

MODULES: Final = (
    arguments,
    conditionals,
    folded,
    functions,
    method_rows,
    modes,
    native_contexts,
    native_enums,
    function_modules,
    native_enums,
    function_modules,
    nn_modules,
    number_inputs,
    recipes,
    symbolic,
    tensor_attributes,
    tensor_inputs,
    type_questions,
)
