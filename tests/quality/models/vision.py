"""Vision models of transformers: classification, segmentation, pairs of image and text."""

from functools import partial
from typing import Any, Final

import torch
import transformers as hf
from tests.quality.models import Model
from tests.quality.models.encoders import from_config, tokens

_BATCHES: Final = ((2, 32), (3, 32), (1, 32), (4, 32), (5, 32))
_SIZES: Final = ((2, 64), (3, 64), (2, 96), (1, 64), (2, 128))
_PATCHES: Final = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "image_size": 32,
    "patch_size": 8,
}


def pixels(batch: int, size: int) -> dict[str, Any]:
    """Images."""
    return {"pixel_values": torch.randn(batch, 3, size, size)}


def of_patches(config: Any, **more: Any) -> Model:
    """A transformer over patches, for one size of images."""
    return Model(partial(from_config, config(**{**_PATCHES, **more})), pixels, _BATCHES)


def convolutional(config: Any, **settings: Any) -> Model:
    """A network that takes images of any size."""
    return Model(partial(from_config, config(**settings)), pixels, _SIZES)


def clip() -> torch.nn.Module:
    """A small CLIP."""
    text = {
        "vocab_size": 99,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "eos_token_id": 98,
    }
    return hf.CLIPModel(hf.CLIPConfig(text_config=text, vision_config=dict(_PATCHES), projection_dim=16))


MODELS: Final = {
    "vit": of_patches(hf.ViTConfig),
    "deit": of_patches(hf.DeiTConfig),
    "beit": of_patches(hf.BeitConfig),
    "dinov2": of_patches(hf.Dinov2Config),
    "vit mae": of_patches(
        hf.ViTMAEConfig, decoder_hidden_size=16, decoder_num_hidden_layers=1, decoder_num_attention_heads=2
    ),
    "swin": Model(
        partial(
            from_config,
            hf.SwinConfig(
                image_size=32, patch_size=4, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4
            ),
        ),
        pixels,
        _BATCHES,
    ),
    "resnet": convolutional(
        hf.ResNetConfig, embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic"
    ),
    "regnet": convolutional(
        hf.RegNetConfig, embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], groups_width=4
    ),
    "convnext": convolutional(hf.ConvNextConfig, hidden_sizes=[8, 16], depths=[1, 1], num_stages=2),
    "convnextv2": convolutional(hf.ConvNextV2Config, hidden_sizes=[8, 16], depths=[1, 1], num_stages=2),
    "mobilenet": convolutional(hf.MobileNetV2Config, depth_multiplier=0.25),
    "segformer": convolutional(
        hf.SegformerConfig,
        num_encoder_blocks=2,
        depths=[1, 1],
        sr_ratios=[4, 2],
        hidden_sizes=[8, 16],
        patch_sizes=[7, 3],
        strides=[4, 2],
        num_attention_heads=[1, 2],
        mlp_ratios=[2, 2],
    ),
    "poolformer": convolutional(
        hf.PoolFormerConfig,
        depths=[1, 1],
        hidden_sizes=[8, 16],
        num_encoder_blocks=2,
        patch_sizes=[7, 3],
        strides=[4, 2],
        padding=[2, 1],
    ),
    "clip": Model(
        clip,
        lambda batch, length: {
            "input_ids": tokens(batch, length),
            "pixel_values": torch.randn(batch, 3, 32, 32),
        },
        ((2, 8), (3, 8), (2, 13), (1, 8), (4, 21)),
        lambda result: result.logits_per_image,
    ),
}
