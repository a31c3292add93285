"""The rows of all modules, family by family: the table of contents. A module that has rows is one line here.

`build` puts them together; the order of the lines decides nothing (`core.registry`).
"""

import functools
from collections.abc import Iterable
from itertools import chain
from typing import Final, TypeAlias

from framesmith.variables.builtin_types import (
    cells,
    constants,
    deque_methods,
    deques,
    dict_methods,
    dict_types,
    dict_views,
    existing_iterators,
    iterator_chains,
    list_methods,
    lists,
    namespaces,
    ranges,
    set_methods,
    set_types,
    slices,
    tuples,
)
from framesmith.variables.callables import (
    attribute_functions,
    builtin_functions,
    builtin_methods,
    cached_functions,
    constructors,
    functions,
    functools_rows,
    generators,
    identity_numbers,
    itertools_rows,
    methods,
    operator_calls,
    operator_objects,
    operator_rows,
    partials,
    polyfill_rows,
    pure_rows,
    reductions,
    slot_rows,
    text_rows,
    type_functions,
)
from framesmith.variables.core.registry import Registry
from framesmith.variables.core.rows import Rows
from framesmith.variables.distributed import (
    collectives,
    distributed_tensors,
    placements,
    process_groups,
)
from framesmith.variables.gradients import (
    backward_calls,
    grad_calls,
    tensor_hooks,
)
from framesmith.variables.graph_nodes import (
    arguments,
)
from framesmith.variables.higher_order import (
    attention,
    autograd_functions,
    checkpointing,
    conditionals,
    loops,
    selective_checkpoints,
    transforms,
    uncaptured_operators,
)
from framesmith.variables.nn import (
    nn_modules,
    parameters,
)
from framesmith.variables.numpy_values import (
    array_calls,
    array_functions,
    numpy_arrays,
    numpy_scalars,
)
from framesmith.variables.objects import (
    builtin_bases,
    classes,
    construction,
    context_variables,
    copying,
    descriptors,
    enums,
    exception_rows,
    exceptions,
    instances,
    interpreter_rows,
    native_enums,
    object_methods,
    properties,
    python_modules,
    simple_namespaces,
    static_attributes,
    super_objects,
    thread_locals,
    typing_objects,
    weak_references,
)
from framesmith.variables.subclasses import (
    default_override,
    dispatch,
    getters,
    mode_stack,
    new_wrappers,
    probing,
    questions,
    subclass_inputs,
    subclass_tensors,
)
from framesmith.variables.symbolic_numbers import (
    changing_scalars,
    math_functions,
    number_inputs,
    symbolic,
)
from framesmith.variables.tensors import (
    memory_questions,
    tensor_attributes,
    tensor_inputs,
    tensors,
)
from framesmith.variables.torch_contexts import (
    cuda_devices,
    device_blocks,
    dual_levels,
    inference,
    kernel_settings,
    modes,
    native_contexts,
    saved_tensor_hooks,
)
from framesmith.variables.torch_functions import (
    assertions,
    deciding_optimizers,
    deep_copies,
    disabled,
    folded,
    function_modules,
    function_rows,
    grouped_tensors,
    jagged_functions,
    known_truths,
    legacy_constructors,
    method_rows,
    recipes,
    script_functions,
    tensor_constructors,
    tensor_numbers,
    type_questions,
)

Family: TypeAlias = tuple[Rows, ...]

BUILTIN_TYPES: Final[Family] = (
    cells.ROWS,
    constants.ROWS,
    deque_methods.ROWS,
    deques.ROWS,
    dict_methods.ROWS,
    dict_types.ROWS,
    dict_views.ROWS,
    existing_iterators.ROWS,
    iterator_chains.ROWS,
    list_methods.ROWS,
    lists.ROWS,
    namespaces.ROWS,
    ranges.ROWS,
    set_methods.ROWS,
    set_types.ROWS,
    slices.ROWS,
    tuples.ROWS,
)
CALLABLES: Final[Family] = (
    attribute_functions.ROWS,
    builtin_functions.ROWS,
    builtin_methods.ROWS,
    cached_functions.ROWS,
    constructors.ROWS,
    functions.ROWS,
    functools_rows.ROWS,
    generators.ROWS,
    identity_numbers.ROWS,
    itertools_rows.ROWS,
    methods.ROWS,
    operator_calls.ROWS,
    operator_objects.ROWS,
    operator_rows.ROWS,
    partials.ROWS,
    polyfill_rows.ROWS,
    pure_rows.ROWS,
    reductions.ROWS,
    slot_rows.ROWS,
    text_rows.ROWS,
    type_functions.ROWS,
)
OBJECTS: Final[Family] = (
    builtin_bases.ROWS,
    classes.ROWS,
    construction.ROWS,
    copying.ROWS,
    descriptors.ROWS,
    enums.ROWS,
    exception_rows.ROWS,
    exceptions.ROWS,
    instances.ROWS,
    interpreter_rows.ROWS,
    native_enums.ROWS,
    object_methods.ROWS,
    properties.ROWS,
    python_modules.ROWS,
    simple_namespaces.ROWS,
    static_attributes.ROWS,
    super_objects.ROWS,
    thread_locals.ROWS,
    typing_objects.ROWS,
    weak_references.ROWS,
    context_variables.ROWS,
)
DISTRIBUTED: Final[Family] = (
    collectives.ROWS,
    distributed_tensors.ROWS,
    placements.ROWS,
    process_groups.ROWS,
)
GRAPH_NODES: Final[Family] = (arguments.ROWS,)
SYMBOLIC_NUMBERS: Final[Family] = (
    math_functions.ROWS,
    changing_scalars.ROWS,
    number_inputs.ROWS,
    symbolic.ROWS,
)
TENSORS: Final[Family] = (
    memory_questions.ROWS,
    tensor_attributes.ROWS,
    tensor_inputs.ROWS,
    tensors.ROWS,
)
TORCH_FUNCTIONS: Final[Family] = (
    deciding_optimizers.ROWS,
    disabled.ROWS,
    assertions.ROWS,
    folded.ROWS,
    jagged_functions.ROWS,
    function_modules.ROWS,
    function_rows.ROWS,
    grouped_tensors.ROWS,
    known_truths.ROWS,
    legacy_constructors.ROWS,
    deep_copies.ROWS,
    method_rows.ROWS,
    recipes.ROWS,
    script_functions.ROWS,
    tensor_constructors.ROWS,
    tensor_numbers.ROWS,
    type_questions.ROWS,
)
TORCH_CONTEXTS: Final[Family] = (
    cuda_devices.ROWS,
    device_blocks.ROWS,
    inference.ROWS,
    kernel_settings.ROWS,
    modes.ROWS,
    dual_levels.ROWS,
    native_contexts.ROWS,
    saved_tensor_hooks.ROWS,
)
GRADIENTS: Final[Family] = (
    backward_calls.ROWS,
    grad_calls.ROWS,
    tensor_hooks.ROWS,
)
HIGHER_ORDER: Final[Family] = (
    attention.ROWS,
    autograd_functions.ROWS,
    checkpointing.ROWS,
    conditionals.ROWS,
    loops.ROWS,
    selective_checkpoints.ROWS,
    transforms.ROWS,
    uncaptured_operators.ROWS,
)
NN: Final[Family] = (nn_modules.ROWS, parameters.ROWS)
NUMPY_VALUES: Final[Family] = (
    array_calls.ROWS,
    array_functions.ROWS,
    numpy_arrays.ROWS,
    numpy_scalars.ROWS,
)
SUBCLASSES: Final[Family] = (
    default_override.ROWS,
    dispatch.ROWS,
    getters.ROWS,
    mode_stack.ROWS,
    probing.ROWS,
    questions.ROWS,
    new_wrappers.ROWS,
    subclass_inputs.ROWS,
    subclass_tensors.ROWS,
)
FAMILIES: Final[tuple[Family, ...]] = (
    BUILTIN_TYPES,
    CALLABLES,
    OBJECTS,
    DISTRIBUTED,
    GRAPH_NODES,
    SYMBOLIC_NUMBERS,
    TENSORS,
    TORCH_FUNCTIONS,
    TORCH_CONTEXTS,
    GRADIENTS,
    HIGHER_ORDER,
    NN,
    NUMPY_VALUES,
    SUBCLASSES,
)


def build(families: Iterable[Iterable[Rows]] = FAMILIES) -> Registry:
    """A registry of these families. Refuses two rows of one priority for one key."""
    return Registry(entry for rows in chain.from_iterable(families) for entry in rows)


@functools.cache
def registry() -> Registry:
    """The registry of all families: one for each process."""
    return build()
