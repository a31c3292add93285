"""Functions of `torch.nested` that make jagged tensors of tensors: one node each."""

from typing import Final

from torch.nested._internal import nested_tensor

from framesmith.variables.core.rows import Rows
from framesmith.variables.torch_functions.graph_calls import record_function

ROWS: Final = Rows()

for function in (
    nested_tensor.nested_view_from_values_offsets,
    nested_tensor.nested_view_from_values_offsets_lengths,
    nested_tensor.nested_from_padded,
):
    record_function(ROWS, function)
