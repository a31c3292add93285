"""Models of public packages and common architectures, small and with random weights: what users compile.

A family is a module with `MODELS`: name -> `Model`. `catalogue()` has those whose packages are installed.
"""

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final
from zlib import crc32

FAMILIES: Final = (
    "encoders",
    "decoders",
    "encoder_decoders",
    "vision",
    "speech",
    "diffusion",
    "graphs",
    "recurrent",
    "x_transformers",
    "own",
)


@final
@dataclass(frozen=True)
class Model:
    """`build()` gives a module; `inputs(*shape)` its keyword arguments for each of `shapes`.

    `result` picks what is compared and differentiated; by default all tensors of the result.
    """

    build: Callable[[], Any]
    inputs: Callable[..., Mapping[str, Any]]
    shapes: Sequence[tuple[int, ...]]
    result: Callable[[Any], Any] = field(default=lambda given: given)


def catalogue(families: Iterable[str] = FAMILIES) -> dict[str, Model]:
    """The models by `family/name`, without the families whose package is not installed."""
    found: dict[str, Model] = {}
    for family in families:
        try:
            module = importlib.import_module(f"{__name__}.{family}")
        except ModuleNotFoundError as missing:
            if str(missing.name).startswith("tests"):
                raise
            continue
        found.update((f"{family}/{name}", model) for name, model in module.MODELS.items())
    return found


def is_for_judging(name: str) -> bool:
    """Whether a model belongs to the half on which nothing is tuned."""
    return crc32(name.encode()) % 2 == 1
