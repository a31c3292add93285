"""Polyfills of the constraints of `torch.distributions` on matrices, whose checks branch on tensors: both sides are computed here."""

import torch
from torch.distributions.constraints import _PositiveDefinite, _PositiveSemidefinite, _Symmetric

_TOLERANCE = 1e-6


def check_symmetric(self: _Symmetric, value: torch.Tensor) -> torch.Tensor:
    """For each matrix, whether it is symmetric; where one is not square, whether it is square."""
    square = _ask(super(_Symmetric, self), value)
    if value.shape[-2] != value.shape[-1] and square.numel() > 0:
        return square
    symmetric = torch.isclose(value, value.mT, atol=_TOLERANCE).all(-2).all(-1)
    return torch.where(square.all(), symmetric, square)


def check_positive_semidefinite(self: _PositiveSemidefinite, value: torch.Tensor) -> torch.Tensor:
    """For each matrix, whether its eigenvalues are at least 0; where one is not symmetric, whether it is symmetric."""
    symmetric = _ask(super(_PositiveSemidefinite, self), value)
    if value.shape[-2] != value.shape[-1]:
        return symmetric
    # Values that are not looked at, as nan, may have no eigenvalues.
    looked_at = torch.where(
        symmetric.all(), value, torch.eye(value.shape[-1], dtype=value.dtype, device=value.device)
    )
    return torch.where(symmetric.all(), torch.linalg.eigvalsh(looked_at).ge(0).all(-1), symmetric)


def check_positive_definite(self: _PositiveDefinite, value: torch.Tensor) -> torch.Tensor:
    """For each matrix, whether it has a Cholesky decomposition; where one is not symmetric, whether it is symmetric."""
    symmetric = _ask(super(_PositiveDefinite, self), value)
    if value.shape[-2] != value.shape[-1]:
        return symmetric
    return torch.where(symmetric.all(), torch.linalg.cholesky_ex(value).info.eq(0), symmetric)


def _ask(constraint: object, value: torch.Tensor) -> torch.Tensor:
    checked: torch.Tensor = getattr(constraint, "check")(value)  # noqa: B009  # torch leaves it without annotations
    return checked
