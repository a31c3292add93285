"""Common architectures as people write them themselves."""

from typing import Any, Final

import torch
from tests.quality.models import Model
from torch import nn
from torch.nn import functional

_IMAGES: Final = ((2, 16), (3, 16), (2, 24), (1, 16), (2, 32))
_ROWS: Final = ((4,), (6,), (2,), (1,), (9,))
_SEQUENCES: Final = ((2, 6), (3, 6), (2, 9), (1, 6), (4, 12))


def images(batch: int, size: int) -> dict[str, Any]:
    """Images."""
    return {"x": torch.randn(batch, 3, size, size)}


def rows(batch: int) -> dict[str, Any]:
    """Vectors."""
    return {"x": torch.randn(batch, 8)}


def vectors(batch: int, length: int) -> dict[str, Any]:
    """Sequences of vectors."""
    return {"x": torch.randn(batch, length, 16)}


class Residual(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inner, outer, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outer),
            nn.ReLU(inplace=True),
            nn.Conv2d(outer, outer, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outer),
        )
        self.around = nn.Conv2d(inner, outer, 1, stride) if stride > 1 or inner != outer else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.body(x) + self.around(x), inplace=True)


class ResNet(nn.Module):
    """Three stages of residual blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 1, 1)
        self.stages = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 16, 1))
        self.head = nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.stages(self.stem(x))
        found: torch.Tensor = self.head(functional.adaptive_avg_pool2d(y, 1).flatten(1))
        return found


class UNet(nn.Module):
    """Down, up, and connections between."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in ((3, 8), (8, 16), (16, 32)))
        self.up = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in ((32, 16), (16, 8)))
        self.merge = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in ((32, 16), (16, 8)))
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for index, layer in enumerate(self.down):
            x = functional.silu(layer(x))
            if index < len(self.down) - 1:
                kept.append(x)
                x = functional.max_pool2d(x, 2)
        for up, merge in zip(self.up, self.merge, strict=True):
            x = functional.silu(merge(torch.cat([up(x), kept.pop()], 1)))
        found: torch.Tensor = self.out(x)
        return found


class DLRM(nn.Module):
    """Embeddings and dense features, their products, a small network."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(size, 8, mode="sum") for size in (10, 20, 30))
        self.bottom = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(8 + 6, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, dense: torch.Tensor, sparse: list[torch.Tensor], offsets: torch.Tensor) -> torch.Tensor:
        x = self.bottom(dense)
        parts = [x, *(table(each, offsets) for table, each in zip(self.tables, sparse, strict=True))]
        stacked = torch.stack(parts, 1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        row, column = torch.tril_indices(4, 4, -1)
        return torch.sigmoid(self.top(torch.cat([x, products[:, row, column]], 1)))


class VAE(nn.Module):
    """A variational autoencoder with its loss."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 12), nn.Linear(6, 8)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        mean, log_variance = self.encoder(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        again = self.decoder(z)
        divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(-1).mean()
        return {"again": again, "loss": functional.mse_loss(again, x) + divergence}


class GAN(nn.Module):
    """Both losses of a generator and a discriminator."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = nn.Sequential(
            nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8), nn.Tanh()
        )
        self.discriminator = nn.Sequential(
            nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Dropout(0.1), nn.Linear(16, 1)
        )

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        fake = self.generator(torch.randn(x.shape[0], 4, device=x.device))
        real, ones = self.discriminator(x), torch.ones(x.size(0), 1)
        loss = functional.binary_cross_entropy_with_logits
        of_discriminator = loss(real, ones) + loss(self.discriminator(fake.detach()), torch.zeros_like(ones))
        return of_discriminator, loss(self.discriminator(fake), ones)


class PPO(nn.Module):
    """The clipped loss of a policy with a continuous action."""

    def __init__(self) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2))
        self.critic = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
        self.log_std = nn.Parameter(torch.zeros(2))

    def forward(
        self, x: torch.Tensor, actions: torch.Tensor, old: torch.Tensor, returns: torch.Tensor
    ) -> torch.Tensor:
        policy = torch.distributions.Normal(
            self.actor(x), self.log_std.exp().expand(x.shape[0], 2), validate_args=False
        )
        log_probability = policy.log_prob(actions).sum(-1)
        value = self.critic(x).squeeze(-1)
        advantage = returns - value.detach()
        ratio = (log_probability - old).exp()
        clipped = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
        loss: torch.Tensor = (
            -clipped.mean() + 0.5 * (returns - value).pow(2).mean() - 0.01 * policy.entropy().mean()
        )
        return loss


class Categorical(nn.Module):
    """Log-probabilities of sampled discrete actions."""

    def __init__(self) -> None:
        super().__init__()
        self.policy = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = torch.distributions.Categorical(logits=self.policy(x), validate_args=False)
        action = chosen.sample()
        return action, chosen.log_prob(action)


class Experts(nn.Module):
    """Rows are sent to the best two of four experts by masks."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 4)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, chosen = torch.topk(self.gate(x).softmax(-1), 2)
        y = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            where = (chosen == index).float() * weights
            y = y + where.sum(-1, keepdim=True) * expert(x)
        return y


class Mixer(nn.Module):
    """An MLP mixer over eight tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.ModuleList(
            nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)) for _ in range(2)
        )
        self.channels = nn.ModuleList(
            nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4)) for _ in range(2)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(4) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.unsqueeze(-1).expand(-1, -1, 4)
        for index, (over_tokens, over_channels) in enumerate(zip(self.tokens, self.channels, strict=True)):
            y = y + over_tokens(self.norms[2 * index](y).transpose(1, 2)).transpose(1, 2)
            y = y + over_channels(self.norms[2 * index + 1](y))
        return y.mean(1)


class Field(nn.Module):
    """A radiance field: positions in frequencies, then a network, then weights along a ray."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        points = x[:, None, :3] + torch.linspace(0, 1, 6)[None, :, None] * x[:, None, 3:6]
        scaled = points[..., None] * 2.0 ** torch.arange(4)
        raw = self.body(torch.cat([scaled.sin(), scaled.cos()], -1).flatten(-2))
        density = functional.softplus(raw[..., 3])
        alpha = 1 - torch.exp(-density / 6)
        passed = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], -1), -1)[:, :-1]
        return ((alpha * passed)[..., None] * raw[..., :3].sigmoid()).sum(1)


class Recurrence(nn.Module):
    """A linear recurrence over time, step by step."""

    def __init__(self) -> None:
        super().__init__()
        self.decay = nn.Parameter(torch.rand(16))
        self.inside, self.outside = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state, outputs = x.new_zeros(x.shape[0], 16), []
        for step in range(x.shape[1]):
            state = state * self.decay.sigmoid() + self.inside(x[:, step])
            outputs.append(self.outside(state))
        return torch.stack(outputs, dim=1)


class Translator(nn.Module):
    """`nn.Transformer` with masks."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Transformer(16, 2, 1, 1, 32, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        found: torch.Tensor = self.body(x, x, tgt_mask=mask, tgt_is_causal=True)
        return found


def sparse_rows(batch: int) -> dict[str, Any]:
    """Dense features and three bags of indices."""
    return {
        "dense": torch.randn(batch, 4),
        "sparse": [torch.randint(0, size, (2 * batch,)) for size in (10, 20, 30)],
        "offsets": torch.arange(batch) * 2,
    }


def steps(batch: int) -> dict[str, Any]:
    """What a policy saw, did and got."""
    return {
        **rows(batch),
        "actions": torch.randn(batch, 2),
        "old": torch.randn(batch),
        "returns": torch.randn(batch),
    }


MODELS: Final = {
    "resnet": Model(ResNet, images, _IMAGES),
    "unet": Model(UNet, images, _IMAGES),
    "recommendation": Model(DLRM, sparse_rows, _ROWS),
    "variational autoencoder": Model(VAE, rows, _ROWS),
    "adversarial": Model(GAN, rows, ((4,), (6,), (2,), (3,), (9,))),
    "policy": Model(PPO, steps, _ROWS),
    "discrete policy": Model(Categorical, rows, _ROWS),
    "experts": Model(Experts, rows, _ROWS),
    "mixer": Model(Mixer, rows, _ROWS),
    "radiance field": Model(Field, rows, _ROWS),
    "linear recurrence": Model(Recurrence, vectors, _SEQUENCES),
    "nn.Transformer": Model(Translator, vectors, _SEQUENCES),
}
