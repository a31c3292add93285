"""Models of diffusers: denoising networks and autoencoders."""

from typing import Any, Final

import diffusers
import torch
from tests.quality.models import Model

_SIZES: Final = ((2, 16), (3, 16), (2, 24), (1, 16), (2, 32))


def latents(channels: int, context: bool) -> Any:
    """Noisy images with a time step, and (`context`) encoded text."""

    def inputs(batch: int, size: int) -> dict[str, Any]:
        given: dict[str, Any] = {
            "sample": torch.randn(batch, channels, size, size),
            "timestep": torch.arange(batch) + 3,
        }
        if context:
            given["encoder_hidden_states"] = torch.randn(batch, 7, 16)
        return given

    return inputs


def unet_2d() -> torch.nn.Module:
    """An unconditional UNet."""
    return diffusers.UNet2DModel(
        sample_size=16,
        in_channels=3,
        out_channels=3,
        layers_per_block=1,
        block_out_channels=(8, 16),
        norm_num_groups=4,
        attention_head_dim=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )


def unet_conditional() -> torch.nn.Module:
    """The UNet of stable diffusion."""
    return diffusers.UNet2DConditionModel(
        sample_size=16,
        in_channels=4,
        out_channels=4,
        layers_per_block=1,
        block_out_channels=(8, 16),
        norm_num_groups=4,
        attention_head_dim=4,
        cross_attention_dim=16,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )


def autoencoder() -> torch.nn.Module:
    """The variational autoencoder of stable diffusion."""
    return diffusers.AutoencoderKL(
        in_channels=3,
        out_channels=3,
        latent_channels=4,
        block_out_channels=(8, 16),
        norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )


def transformer() -> torch.nn.Module:
    """A diffusion transformer (DiT)."""
    return diffusers.DiTTransformer2DModel(
        num_attention_heads=2,
        attention_head_dim=8,
        in_channels=4,
        num_layers=2,
        sample_size=16,
        patch_size=2,
        norm_num_groups=4,
    )


MODELS: Final = {
    "unet": Model(unet_2d, latents(3, context=False), _SIZES),
    "unet with text": Model(unet_conditional, latents(4, context=True), _SIZES),
    "autoencoder": Model(
        autoencoder, lambda batch, size: {"sample": torch.randn(batch, 3, size, size)}, _SIZES
    ),
    "diffusion transformer": Model(
        transformer,
        lambda batch, size: {
            "hidden_states": torch.randn(batch, 4, size, size),
            "timestep": torch.arange(batch) + 3,
            "class_labels": torch.arange(batch),
        },
        ((2, 16), (3, 16), (1, 16), (4, 16), (5, 16)),
    ),
}
