"""All rows and wrapping rules: importing this module fills the tables. A table of contents, no logic."""

from typing import Final

import framesmith.variables.builtin_types.cells
import framesmith.variables.builtin_types.constants
import framesmith.variables.builtin_types.deques
import framesmith.variables.builtin_types.dict_entries
import framesmith.variables.builtin_types.dict_iterators
import framesmith.variables.builtin_types.dict_methods
import framesmith.variables.builtin_types.dict_order
import framesmith.variables.builtin_types.dict_views
import framesmith.variables.builtin_types.dicts
import framesmith.variables.builtin_types.existing_iterators
import framesmith.variables.builtin_types.iterator_chains
import framesmith.variables.builtin_types.iterators
import framesmith.variables.builtin_types.itertools_combining
import framesmith.variables.builtin_types.itertools_sharing
import framesmith.variables.builtin_types.itertools_types
import framesmith.variables.builtin_types.list_methods
import framesmith.variables.builtin_types.lists
import framesmith.variables.builtin_types.literals
import framesmith.variables.builtin_types.namespaces
import framesmith.variables.builtin_types.ordered_attributes
import framesmith.variables.builtin_types.ranges
import framesmith.variables.builtin_types.sequences
import framesmith.variables.builtin_types.set_items
import framesmith.variables.builtin_types.set_iterators
import framesmith.variables.builtin_types.set_methods
import framesmith.variables.builtin_types.set_recipes
import framesmith.variables.builtin_types.sets
import framesmith.variables.builtin_types.slices
import framesmith.variables.builtin_types.tuples
import framesmith.variables.builtin_types.unspecialized_keys
import framesmith.variables.builtin_types.unspecialized_values
import framesmith.variables.callables.attribute_functions
import framesmith.variables.callables.builtin_functions
import framesmith.variables.callables.builtin_methods
import framesmith.variables.callables.cached_functions
import framesmith.variables.callables.call_iterators
import framesmith.variables.callables.compiled
import framesmith.variables.callables.constructors
import framesmith.variables.callables.deferred_text
import framesmith.variables.callables.functions
import framesmith.variables.callables.functools_rows
import framesmith.variables.callables.generators
import framesmith.variables.callables.identity_numbers
import framesmith.variables.callables.itertools_rows
import framesmith.variables.callables.methods
import framesmith.variables.callables.operator_calls
import framesmith.variables.callables.operator_objects
import framesmith.variables.callables.operator_rows
import framesmith.variables.callables.partials
import framesmith.variables.callables.polyfill_functions
import framesmith.variables.callables.polyfill_rows
import framesmith.variables.callables.pure_rows
import framesmith.variables.callables.reductions
import framesmith.variables.callables.slot_rows
import framesmith.variables.callables.text_rows
import framesmith.variables.callables.type_functions
import framesmith.variables.callables.type_texts
import framesmith.variables.graph_nodes.arguments
import framesmith.variables.graph_nodes.graph_values
import framesmith.variables.graph_nodes.results
import framesmith.variables.higher_order.autograd_functions
import framesmith.variables.higher_order.bodies
import framesmith.variables.higher_order.checkpointing
import framesmith.variables.higher_order.conditionals
import framesmith.variables.nn.nn_modules
import framesmith.variables.numpy_values.numpy_arrays
import framesmith.variables.numpy_values.numpy_scalars
import framesmith.variables.objects.attribute_errors
import framesmith.variables.objects.builtin_bases
import framesmith.variables.objects.classes
import framesmith.variables.objects.construction
import framesmith.variables.objects.copying
import framesmith.variables.objects.dataclasses
import framesmith.variables.objects.descriptors
import framesmith.variables.objects.enums
import framesmith.variables.objects.exception_chains
import framesmith.variables.objects.exceptions
import framesmith.variables.objects.instance_writing
import framesmith.variables.objects.instances
import framesmith.variables.objects.interpreter_rows
import framesmith.variables.objects.lookup
import framesmith.variables.objects.native_enums
import framesmith.variables.objects.object_methods
import framesmith.variables.objects.python_modules
import framesmith.variables.objects.simple_namespaces
import framesmith.variables.objects.special_methods
import framesmith.variables.objects.super_objects
import framesmith.variables.objects.tracebacks
import framesmith.variables.objects.typing_objects
import framesmith.variables.objects.weak_references
import framesmith.variables.polyfills.bisect
import framesmith.variables.polyfills.collections
import framesmith.variables.polyfills.dataclasses
import framesmith.variables.polyfills.functools
import framesmith.variables.polyfills.heapq
import framesmith.variables.polyfills.operators
import framesmith.variables.polyfills.reductions
import framesmith.variables.symbolic_numbers.computed_numbers
import framesmith.variables.symbolic_numbers.number_inputs
import framesmith.variables.symbolic_numbers.symbolic
import framesmith.variables.tensors.tensor_attributes
import framesmith.variables.tensors.tensor_inputs
import framesmith.variables.tensors.tensor_methods
import framesmith.variables.tensors.tensors
import framesmith.variables.torch_contexts.modes
import framesmith.variables.torch_contexts.native_contexts
import framesmith.variables.torch_functions.disabled
import framesmith.variables.torch_functions.folded
import framesmith.variables.torch_functions.function_modules
import framesmith.variables.torch_functions.functions
import framesmith.variables.torch_functions.graph_calls
import framesmith.variables.torch_functions.grouped_tensors
import framesmith.variables.torch_functions.method_rows
import framesmith.variables.torch_functions.recipes
import framesmith.variables.torch_functions.type_questions

FAMILIES: Final = (
    framesmith.variables.builtin_types,
    framesmith.variables.callables,
    framesmith.variables.objects,
    framesmith.variables.polyfills,
    framesmith.variables.graph_nodes,
    framesmith.variables.higher_order,
    framesmith.variables.nn,
    framesmith.variables.numpy_values,
    framesmith.variables.symbolic_numbers,
    framesmith.variables.tensors,
    framesmith.variables.torch_contexts,
    framesmith.variables.torch_functions,
)
