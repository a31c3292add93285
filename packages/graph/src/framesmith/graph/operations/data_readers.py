"""Operations whose C++ code reads the memory of a tensor on the CPU without asking torch's dispatcher.

A fake has no memory: such a read crashes the process or gives an arbitrary number, without an exception. So these
are refused before they run. `tests/sweeps/operators.py` searches for more of them, in child processes;
operations that read through `item()` are not among them, since a fake refuses that by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import torch


@final
@dataclass(frozen=True, slots=True)
class Reader:
    """One operation. It reads the memory of a tensor that is its argument at `position` (its other forms have a list
    there) or given by `keyword`; `reason` says what for."""

    position: int
    keyword: str
    reason: str


_LENGTHS: Final = (
    "the recurrence over a packed sequence takes the length of each step from the memory of batch_sizes"
)
# lstm(data, batch_sizes, hx: list, ...) and gru(data, batch_sizes, hx, ...), where the forms for padded input are
# lstm(input, hx: list, ...) and gru(input, hx, params: list, ...)
_ROWS: Final = (
    (("lstm", "quantized_lstm"), Reader(1, "batch_sizes", _LENGTHS)),
    (("gru", "rnn_tanh", "rnn_relu", "quantized_gru"), Reader(2, "batch_sizes", _LENGTHS)),
)


def _table() -> dict[object, Reader]:
    """Every object by which the operations are called: functions of torch, packets and overloads of `torch.ops`."""
    found: dict[object, Reader] = {}
    for names, reader in _ROWS:
        for name in names:
            function = getattr(torch._C._VariableFunctions, name, None)
            packet = getattr(torch.ops.aten, name, None)
            overloads = () if packet is None else [getattr(packet, one) for one in packet.overloads()]
            found.update((key, reader) for key in (function, packet, *overloads) if key is not None)
    return found


READERS: Final = _table()


def explain_data_read(target: object, args: Sequence[object], kwargs: Mapping[str, object]) -> str | None:
    """Why a call with these fakes would read memory that they do not have; None if it would not."""
    reader = READERS.get(target)
    if reader is None:
        return None
    given = args[reader.position] if len(args) > reader.position else kwargs.get(reader.keyword)
    return reader.reason if isinstance(given, torch.Tensor) else None
