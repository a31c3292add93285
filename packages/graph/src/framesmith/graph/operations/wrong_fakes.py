"""Operations of which torch computes the fake wrongly: other sizes or another dtype than the result has. They are not captured.

Found by comparing fakes with results over torch's own samples of its operators, and by hand. Where only the memory layout differs:
`fakes/real_strides`.
"""

from typing import Final

import torch

_ROWS: Final = {
    "_pack_padded_sequence": "torch gives its fake the sizes of one sequence, and lengths that are no integers",
}


def _table() -> dict[object, str]:
    found: dict[object, str] = {}
    for name, reason in _ROWS.items():
        packet = getattr(torch.ops.aten, name)
        overloads = [getattr(packet, one) for one in packet.overloads()]
        keys = (getattr(torch._C._VariableFunctions, name), packet, *overloads)
        found.update((key, reason) for key in keys)
    return found


WRONG_FAKES: Final = _table()
"""Why the fake is wrong, by each object by which the operation is called."""
