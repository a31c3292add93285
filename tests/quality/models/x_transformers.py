"""Models of x-transformers: many options of one implementation."""

from typing import Any, Final

import torch
from tests.quality.models import Model
from x_transformers import Decoder, Encoder, TransformerWrapper

_SHAPES: Final = ((2, 8), (3, 8), (2, 13), (1, 8), (4, 21))


def tokens(batch: int, length: int) -> dict[str, Any]:
    """Tokens."""
    return {"x": torch.randint(0, 99, (batch, length))}


def wrapped(layers: Any, **options: Any) -> Model:
    """Tokens through layers with these options."""

    def build() -> torch.nn.Module:
        return TransformerWrapper(
            num_tokens=99, max_seq_len=64, attn_layers=layers(dim=32, depth=2, heads=4, **options)
        )

    return Model(build, tokens, _SHAPES)


MODELS: Final = {
    "encoder": wrapped(Encoder),
    "decoder": wrapped(Decoder),
    "decoder with rotary positions": wrapped(Decoder, rotary_pos_emb=True, ff_glu=True),
    "decoder with alibi": wrapped(Decoder, alibi_pos_bias=True, attn_flash=True),
    "decoder with one key": wrapped(Decoder, attn_one_kv_head=True, use_rmsnorm=True),
    "encoder with relative positions": wrapped(Encoder, rel_pos_bias=True, sandwich_norm=True),
}
