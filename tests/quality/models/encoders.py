"""Text encoders of transformers."""

from functools import partial
from typing import Any, Final

import torch
import transformers as hf
from tests.quality.models import Model

SHAPES: Final = ((2, 8), (3, 8), (2, 13), (1, 8), (4, 21))
SMALL: Final = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}


def tokens(batch: int, length: int, vocabulary: int = 99) -> torch.Tensor:
    """Random tokens, none of them padding."""
    return torch.randint(3, vocabulary, (batch, length))


def masked(batch: int, length: int) -> dict[str, Any]:
    """Tokens with a mask that leaves out the end of the last row."""
    mask = torch.ones(batch, length, dtype=torch.long)
    mask[-1, length // 2 :] = 0
    return {"input_ids": tokens(batch, length), "attention_mask": mask}


def from_config(config: Any, kind: Any = None) -> torch.nn.Module:
    """The model of a configuration, with random weights."""
    return kind(config) if kind is not None else hf.AutoModel.from_config(config)


def encoder(config: Any, kind: Any = None, **more: Any) -> Model:
    """A text encoder that takes tokens and a mask."""
    return Model(partial(from_config, config(**{**SMALL, **more}), kind), masked, SHAPES)


MODELS: Final = {
    "bert": encoder(hf.BertConfig),
    "bert for classification": encoder(hf.BertConfig, hf.BertForSequenceClassification),
    "bert for masked tokens": encoder(hf.BertConfig, hf.BertForMaskedLM),
    "roberta": encoder(hf.RobertaConfig),
    "albert": encoder(hf.AlbertConfig, embedding_size=16),
    "electra": encoder(hf.ElectraConfig, embedding_size=16),
    "mpnet": encoder(hf.MPNetConfig),
    "deberta": encoder(hf.DebertaV2Config, relative_attention=True, pos_att_type=["p2c", "c2p"]),
    "distilbert": Model(
        partial(
            from_config, hf.DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=48)
        ),
        masked,
        SHAPES,
    ),
    "fnet": Model(
        partial(
            from_config, hf.FNetConfig(**{key: SMALL[key] for key in SMALL if key != "num_attention_heads"})
        ),
        lambda batch, length: {"input_ids": tokens(batch, length)},
        SHAPES,
    ),
    "funnel": Model(
        partial(
            from_config,
            hf.FunnelConfig(vocab_size=99, block_sizes=[1, 1], d_model=32, n_head=4, d_head=8, d_inner=48),
            hf.FunnelBaseModel,
        ),
        masked,
        SHAPES,
    ),
    "xlnet": Model(
        partial(from_config, hf.XLNetConfig(vocab_size=99, d_model=32, n_layer=2, n_head=4, d_inner=48)),
        masked,
        SHAPES,
    ),
    "longformer": Model(
        partial(from_config, hf.LongformerConfig(**SMALL, attention_window=[4, 4])),
        masked,
        ((2, 8), (3, 8), (2, 16), (1, 8), (4, 24)),
    ),
    "big bird": Model(
        partial(
            from_config,
            hf.BigBirdConfig(**{**SMALL, "max_position_embeddings": 256}, block_size=4, num_random_blocks=1),
        ),
        lambda batch, length: {"input_ids": tokens(batch, length)},
        ((2, 96), (3, 96), (2, 128), (1, 96), (2, 160)),
    ),
    "modern bert": Model(
        partial(
            from_config,
            hf.ModernBertConfig(
                **{**SMALL, "pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2},
                bos_token_id=1,
                eos_token_id=2,
            ),
        ),
        masked,
        SHAPES,
    ),
    "mobilebert": encoder(
        hf.MobileBertConfig,
        embedding_size=16,
        intra_bottleneck_size=16,
        true_hidden_size=16,
        num_feedforward_networks=2,
    ),
    "squeezebert": encoder(hf.SqueezeBertConfig, embedding_size=32),
    "rembert": encoder(hf.RemBertConfig, input_embedding_size=16, output_embedding_size=16),
}
