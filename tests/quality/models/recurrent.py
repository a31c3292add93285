"""Recurrent networks: torch's own, cells in a loop, sequences of different lengths."""

from typing import Any, Final

import torch
from tests.quality.models import Model
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

_SHAPES: Final = ((2, 5), (3, 5), (2, 7), (1, 5), (4, 9))


def sequences(batch: int, length: int) -> dict[str, Any]:
    """Sequences of vectors."""
    return {"x": torch.randn(batch, length, 8)}


class Recurrent(nn.Module):
    """A layer of torch's, and a head on the last step."""

    def __init__(self, kind: Any, **settings: Any) -> None:
        super().__init__()
        self.layer = kind(8, 16, batch_first=True, **settings)
        self.head = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.head(self.layer(x)[0][:, -1, :16])
        return found


class Cells(nn.Module):
    """A cell in a Python loop."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.cell = kind(8, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = None
        outputs = []
        for step in x.unbind(1):
            state = self.cell(step, state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(outputs, 1)


class Packed(nn.Module):
    """An LSTM over sequences of different lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(8, 16, batch_first=True, bidirectional=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        found: torch.Tensor = pad_packed_sequence(self.layer(packed)[0], batch_first=True)[0]
        return found


class Seq2Seq(nn.Module):
    """An encoder, and a decoder that attends to it step by step."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.cell = nn.GRU(8, 16, batch_first=True), nn.GRUCell(24, 16)
        self.out = nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        memory, state = self.encoder(x)
        hidden, token, outputs = state[0], x[:, 0], []
        for _ in range(4):
            weights = torch.softmax(torch.einsum("bsh,bh->bs", memory, hidden), -1)
            context = torch.einsum("bs,bsh->bh", weights, memory)
            hidden = self.cell(torch.cat([token, context], -1), hidden)
            token = self.out(hidden)
            outputs.append(token)
        return torch.stack(outputs, 1)


MODELS: Final = {
    "lstm": Model(lambda: Recurrent(nn.LSTM, num_layers=2, dropout=0.1), sequences, _SHAPES),
    "gru": Model(lambda: Recurrent(nn.GRU, bidirectional=True), sequences, _SHAPES),
    "rnn": Model(lambda: Recurrent(nn.RNN), sequences, _SHAPES),
    "lstm cells": Model(lambda: Cells(nn.LSTMCell), sequences, _SHAPES),
    "gru cells": Model(lambda: Cells(nn.GRUCell), sequences, _SHAPES),
    "packed": Model(
        Packed,
        lambda batch, length: {**sequences(batch, length), "lengths": torch.arange(batch) % length + 1},
        _SHAPES,
    ),
    "attention over steps": Model(Seq2Seq, sequences, _SHAPES),
}
