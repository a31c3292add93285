"""Speech models of transformers."""

from functools import partial
from typing import Any, Final

import torch
import transformers as hf
from tests.quality.models import Model
from tests.quality.models.encoders import SMALL, from_config, tokens

_WAVES: Final = ((2, 800), (3, 800), (2, 1200), (1, 800), (2, 1600))
_SPEECH: Final = {
    **{
        key: SMALL[key]
        for key in (
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
        )
    },
    "conv_dim": (8, 8),
    "conv_stride": (5, 2),
    "conv_kernel": (10, 3),
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 2,
    "mask_time_prob": 0.0,
}


def waves(batch: int, length: int) -> dict[str, Any]:
    """Raw sound."""
    return {"input_values": torch.randn(batch, length)}


def whisper(batch: int, length: int) -> dict[str, Any]:
    """Features of sound, with tokens."""
    return {
        "input_features": torch.randn(batch, 16, 40),
        "decoder_input_ids": tokens(batch, length),
        "use_cache": False,
    }


MODELS: Final = {
    "wav2vec2": Model(partial(from_config, hf.Wav2Vec2Config(**_SPEECH)), waves, _WAVES),
    "hubert": Model(partial(from_config, hf.HubertConfig(**_SPEECH)), waves, _WAVES),
    "wavlm": Model(partial(from_config, hf.WavLMConfig(**_SPEECH)), waves, _WAVES),
    "whisper": Model(
        partial(
            from_config,
            hf.WhisperConfig(
                vocab_size=99,
                num_mel_bins=16,
                d_model=32,
                encoder_layers=2,
                decoder_layers=2,
                encoder_attention_heads=4,
                decoder_attention_heads=4,
                encoder_ffn_dim=48,
                decoder_ffn_dim=48,
                max_source_positions=20,
                max_target_positions=32,
                pad_token_id=0,
                bos_token_id=1,
                eos_token_id=2,
                decoder_start_token_id=1,
            ),
        ),
        whisper,
        ((2, 5), (3, 5), (2, 7), (1, 5), (4, 9)),
    ),
    "spectrogram transformer": Model(
        partial(
            from_config,
            hf.ASTConfig(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=48,
                patch_size=4,
                max_length=24,
                num_mel_bins=16,
                frequency_stride=4,
                time_stride=4,
            ),
        ),
        lambda batch, length: {"input_values": torch.randn(batch, length, 16)},
        ((2, 24), (3, 24), (1, 24), (4, 24), (5, 24)),
    ),
}
