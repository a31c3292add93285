"""Five Hugging Face architectures from small random configurations: no network, no weights, a second each at most.

transformers is an optional dependency (the extra `demo`); where it is missing, `require` says how to get it.
"""

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

import torch
from torch import nn

if importlib.util.find_spec("transformers") is not None:
    import transformers

VOCABULARY = 128
BATCH, LENGTH = 2, 16

Inputs = dict[str, torch.Tensor]


class MissingTransformers(RuntimeError):
    """The models of the demo come from transformers, which is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "the demo builds its models with transformers, which is not installed; "
            'install it with: pip install "framesmith-frontend[demo]"'
        )


@final
@dataclass(frozen=True, slots=True)
class Architecture:
    """A way to build one model in training mode without dropout, and its keyword inputs."""

    name: str
    build: Callable[[], nn.Module]
    inputs: Callable[[], Inputs]


def require() -> None:
    """Raise MissingTransformers unless transformers can be imported; keep its remarks on tiny configurations out of the output."""
    if importlib.util.find_spec("transformers") is None:
        raise MissingTransformers
    transformers.logging.set_verbosity_error()


def tokens() -> torch.Tensor:
    """Random token numbers, shape (BATCH, LENGTH)."""
    return torch.randint(0, VOCABULARY, (BATCH, LENGTH))


def bert() -> nn.Module:
    """An encoder of two layers, width 64."""
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=128,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model: nn.Module = transformers.BertModel(config)
    return model


def gpt2() -> nn.Module:
    """A decoder of two layers, width 64, with its language-model head."""
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_embd=64,
        n_layer=2,
        n_head=2,
        n_positions=64,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        resid_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
        use_cache=False,
    )
    model: nn.Module = transformers.GPT2LMHeadModel(config)
    return model


def llama() -> nn.Module:
    """A decoder of two layers with rotary positions and grouped keys, width 64, with its head."""
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        use_cache=False,
    )
    model: nn.Module = transformers.LlamaForCausalLM(config)
    return model


def t5() -> nn.Module:
    """An encoder and a decoder of two layers each, width 64, with its head."""
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=64,
        d_kv=32,
        d_ff=128,
        num_layers=2,
        num_heads=2,
        dropout_rate=0.0,
        use_cache=False,
        decoder_start_token_id=0,
    )
    model: nn.Module = transformers.T5ForConditionalGeneration(config)
    return model


def vit() -> nn.Module:
    """An image encoder of two layers over 16 patches, width 64."""
    config = transformers.ViTConfig(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=128,
        image_size=32,
        patch_size=8,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model: nn.Module = transformers.ViTModel(config)
    return model


def mask_tokens() -> Inputs:
    """Tokens with an attention mask that hides the last three of the second row."""
    mask = torch.ones(BATCH, LENGTH, dtype=torch.long)
    mask[1, -3:] = 0
    return {"input_ids": tokens(), "attention_mask": mask}


ARCHITECTURES: Mapping[str, Architecture] = {
    one.name: one
    for one in (
        Architecture("BERT", bert, mask_tokens),
        Architecture("GPT-2", gpt2, lambda: {"input_ids": tokens()}),
        Architecture("Llama", llama, lambda: {"input_ids": tokens()}),
        Architecture("T5", t5, lambda: {"input_ids": tokens(), "decoder_input_ids": tokens()}),
        Architecture("ViT", vit, lambda: {"pixel_values": torch.randn(BATCH, 3, 32, 32)}),
    )
}
