"""`with torch.device(...)` and the like: a block whose torch-function mode adds `device=` to calls that make tensors.

Such a mode does nothing else, so no call asks it while tracing unless another mode is entered as well: the device is added here.
How modes are entered is in `subclasses.mode_stack`.
"""

from collections.abc import Mapping
from typing import Final

import torch
from torch.utils._device import _device_constructors

from framesmith.graph.environment.default_devices import device_of_blocks
from framesmith.variables.callables.polyfill_rows import register_polyfill
from framesmith.variables.core import Constant, PendingCall, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import Row
from framesmith.variables.polyfills import device_blocks

ROWS: Final = Rows()

_UNASKING: Final = (torch.range, torch.empty_quantized, torch.nested.nested_tensor)
"""Functions that torch lists among those to which a block adds a device, and that ask no mode."""

register_polyfill(torch.device.__enter__, device_blocks.enter, ROWS)
register_polyfill(torch.device.__exit__, device_blocks.leave, ROWS)


def call_on_device(
    tx: TraceContext, row: Row, args: list[Tracker], kwargs: Mapping[str, Tracker]
) -> Tracker | PendingCall | None:
    """The call with the device of the innermost block; None where it makes no tensor, or has a device already."""
    # First: most calls make no tensor.
    if row.key not in _device_constructors() or row.key in _UNASKING:
        return None
    overrides = tx.changes.overrides
    device = overrides.default_device()
    around = device_of_blocks()
    if device is None and around is not None and not overrides.asks_modes():
        # That of the caller, in which a backend does not compile; none where torch asks no mode.
        device = torch.device(torch._C._get_default_device()) if overrides.asks_none() else around
    if device is None:
        return None
    given = kwargs.get("device")
    if given is not None and not (isinstance(given, Constant) and given.value is None):
        return None
    return row.function(tx, *args, **{**kwargs, "device": Constant(device)})
