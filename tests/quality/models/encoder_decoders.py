"""Models of transformers that translate one sequence into another."""

from functools import partial
from typing import Any, Final

import transformers as hf
from tests.quality.models import Model
from tests.quality.models.encoders import from_config, tokens

_SHAPES: Final = ((2, 8, 5), (3, 8, 5), (2, 13, 7), (1, 8, 5), (4, 21, 9))
_BART: Final = {
    "vocab_size": 99,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
}
_T5: Final = {
    "vocab_size": 99,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_heads": 4,
    "decoder_start_token_id": 0,
}


def pairs(batch: int, length: int, other: int) -> dict[str, Any]:
    """Tokens for both sides."""
    return {"input_ids": tokens(batch, length), "decoder_input_ids": tokens(batch, other), "use_cache": False}


def labelled(batch: int, length: int, other: int) -> dict[str, Any]:
    """Tokens, and labels from which the decoder's are made."""
    return {"input_ids": tokens(batch, length), "labels": tokens(batch, other), "use_cache": False}


def translator(config: Any, inputs: Any = pairs, **settings: Any) -> Model:
    """A conditional generation model of this configuration."""
    return Model(
        partial(from_config, config(**settings), hf.AutoModelForSeq2SeqLM.from_config), inputs, _SHAPES
    )


MODELS: Final = {
    "t5": translator(hf.T5Config, **_T5),
    "t5 with loss": translator(hf.T5Config, labelled, **_T5),
    "mt5": translator(hf.MT5Config, **_T5),
    "bart": translator(hf.BartConfig, **_BART),
    "bart with loss": translator(hf.BartConfig, labelled, **_BART),
    "pegasus": translator(hf.PegasusConfig, **_BART),
    "marian": translator(hf.MarianConfig, **_BART, pad_token_id=0, decoder_start_token_id=0),
    "m2m100": translator(hf.M2M100Config, **_BART),
    "blenderbot": translator(hf.BlenderbotConfig, **_BART),
    "prophetnet": translator(
        hf.ProphetNetConfig,
        vocab_size=99,
        hidden_size=32,
        num_encoder_layers=2,
        num_decoder_layers=2,
        num_encoder_attention_heads=4,
        num_decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        max_position_embeddings=64,
        ngram=2,
    ),
    "switch": translator(
        hf.SwitchTransformersConfig,
        **_T5,
        num_experts=2,
        num_sparse_encoder_layers=1,
        num_sparse_decoder_layers=1,
    ),
}
