"""Language models of transformers that predict the next token: attention, experts, state spaces."""

from functools import partial
from typing import Any, Final

import transformers as hf
from tests.quality.models import Model
from tests.quality.models.encoders import SHAPES, SMALL, from_config, tokens

_KEY_VALUE: Final = {
    **SMALL,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def plain(batch: int, length: int) -> dict[str, Any]:
    """Tokens, without the cache of keys and values."""
    return {"input_ids": tokens(batch, length), "use_cache": False}


def with_loss(batch: int, length: int) -> dict[str, Any]:
    """Tokens that are their own labels."""
    ids = tokens(batch, length)
    return {"input_ids": ids, "labels": ids, "use_cache": False}


def decoder(config: Any, inputs: Any = plain, **settings: Any) -> Model:
    """A causal language model of this configuration."""
    return Model(
        partial(from_config, config(**settings), hf.AutoModelForCausalLM.from_config), inputs, SHAPES
    )


_GPT: Final = {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}

MODELS: Final = {
    "gpt2": decoder(hf.GPT2Config, **_GPT),
    "gpt2 with loss": decoder(hf.GPT2Config, with_loss, **_GPT),
    "gpt-j": decoder(hf.GPTJConfig, **_GPT, rotary_dim=4),
    "gpt-neo": decoder(
        hf.GPTNeoConfig,
        vocab_size=99,
        hidden_size=32,
        num_layers=2,
        num_heads=4,
        max_position_embeddings=64,
        attention_types=[[["global", "local"], 1]],
        window_size=4,
    ),
    "gpt-neox": decoder(hf.GPTNeoXConfig, **SMALL),
    "opt": decoder(
        hf.OPTConfig,
        vocab_size=99,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        ffn_dim=48,
        max_position_embeddings=64,
        word_embed_proj_dim=32,
    ),
    "bloom": decoder(hf.BloomConfig, vocab_size=99, hidden_size=32, n_layer=2, n_head=4),
    "falcon": decoder(
        hf.FalconConfig, vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4
    ),
    "llama": decoder(hf.LlamaConfig, **_KEY_VALUE),
    "llama with loss": decoder(hf.LlamaConfig, with_loss, **_KEY_VALUE),
    "mistral": decoder(hf.MistralConfig, **_KEY_VALUE, sliding_window=4),
    "qwen2": decoder(hf.Qwen2Config, **_KEY_VALUE),
    "qwen3": decoder(hf.Qwen3Config, **_KEY_VALUE, head_dim=8),
    "gemma": decoder(hf.GemmaConfig, **_KEY_VALUE, head_dim=8),
    "gemma2": decoder(hf.Gemma2Config, **_KEY_VALUE, head_dim=8, sliding_window=4),
    "phi": decoder(hf.PhiConfig, **SMALL),
    "phi3": decoder(hf.Phi3Config, **_KEY_VALUE),
    "stablelm": decoder(hf.StableLmConfig, **_KEY_VALUE),
    "starcoder2": decoder(hf.Starcoder2Config, **_KEY_VALUE),
    "olmo": decoder(hf.OlmoConfig, **_KEY_VALUE),
    "cohere": decoder(hf.CohereConfig, **_KEY_VALUE),
    "granite": decoder(hf.GraniteConfig, **_KEY_VALUE),
    "mixtral": decoder(hf.MixtralConfig, **_KEY_VALUE, num_local_experts=4, num_experts_per_tok=2),
    "qwen2 with experts": decoder(
        hf.Qwen2MoeConfig,
        **_KEY_VALUE,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=16,
        shared_expert_intermediate_size=16,
    ),
    "olmo with experts": decoder(hf.OlmoeConfig, **_KEY_VALUE, num_experts=4, num_experts_per_tok=2),
    "mamba": decoder(hf.MambaConfig, vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=4),
    "mamba2": decoder(
        hf.Mamba2Config,
        vocab_size=99,
        hidden_size=32,
        num_hidden_layers=2,
        state_size=8,
        num_heads=8,
        head_dim=8,
        n_groups=1,
        chunk_size=8,
    ),
    "xglm": decoder(hf.XGLMConfig, vocab_size=99, d_model=32, ffn_dim=48, num_layers=2, attention_heads=4),
    "biogpt": decoder(hf.BioGptConfig, **SMALL),
    "codegen": decoder(hf.CodeGenConfig, **_GPT, n_ctx=64, rotary_dim=4),
}
