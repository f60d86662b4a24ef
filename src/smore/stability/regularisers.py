"""The Lyapunov-guided penalties on latent dynamics (paper, equations reg_1 and reg_2)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from smore.dynamics import LatentDynamics, LinearDynamics, QuadraticDynamics

# Largest number of entries of the cyclic defect held at once. Up to r = 256 that is all of them.
MAX_ENTRIES = 2**24


def eigenvalue_penalty(dynamics: LatentDynamics) -> Tensor:
    """L_reg,eig = s / (1 + s), s the sum of positive eigenvalues of (W + Wᵀ)/2.

    Zero for dynamics without a linear part of their own.
    """
    if not isinstance(dynamics, LinearDynamics | QuadraticDynamics):
        return torch.zeros(())
    eigenvalues = torch.linalg.eigvalsh((dynamics.linear + dynamics.linear.T) / 2)
    growth = eigenvalues.clamp(min=0).sum()
    return growth / (1 + growth)


def conservation_penalty(dynamics: LatentDynamics, max_entries: int = MAX_ENTRIES) -> Tensor:
    """L_reg,cons = Σ_ijk T_ijk², T_ijk = Q⁽ⁱ⁾_jk + Q⁽ᵏ⁾_ij + Q⁽ʲ⁾_ki, on the symmetric slices.

    Works through blocks of the index i, recomputing each in the backward pass, so that no more than
    `max_entries` entries of T exist at a time. Zero for dynamics without a quadratic term.
    """
    if not isinstance(dynamics, QuadraticDynamics):
        return torch.zeros(())
    block = max(1, max_entries // dynamics.dim**2)
    if block >= dynamics.dim:
        return _squared_defect(dynamics, slice(None))
    total = torch.zeros((), dtype=dynamics.linear.dtype, device=dynamics.linear.device)
    for start in range(0, dynamics.dim, block):
        indices = slice(start, start + block)
        total = total + checkpoint(_squared_defect, dynamics, indices, use_reentrant=False)
    return total


def _squared_defect(dynamics: QuadraticDynamics, indices: slice) -> Tensor:
    """The part of Σ T² with i in `indices`."""
    # Slices are symmetric: Q⁽ᵏ⁾_ij and Q⁽ʲ⁾_ki = Q⁽ʲ⁾_ik are both rows i of some slice.
    rows = dynamics.slice_rows(indices)  # [k, i, j]
    defect = dynamics.slices(indices) + rows.permute(1, 2, 0) + rows.permute(1, 0, 2)
    return defect.square().sum()
