"""Theorem 1's quantities, one index at a time. Every argument and result is a NumPy array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def forcing(bias: NDArray, linear: NDArray, slices: NDArray, shift: NDArray) -> NDArray:
    """d_i = b_i + Σ_j W_ij m_j + Σ_jk m_j Q⁽ⁱ⁾_jk m_k."""
    dim = len(bias)
    d = np.zeros(dim)
    for i in range(dim):
        d[i] = bias[i]
        for j in range(dim):
            d[i] += linear[i, j] * shift[j]
            for k in range(dim):
                d[i] += shift[j] * slices[i, j, k] * shift[k]
    return d


def shifted_linear(linear: NDArray, slices: NDArray, shift: NDArray) -> NDArray:
    """A_ik = W_ik + 2 Σ_j m_j Q⁽ⁱ⁾_jk."""
    dim = len(linear)
    a = np.zeros((dim, dim))
    for i in range(dim):
        for k in range(dim):
            a[i, k] = linear[i, k]
            for j in range(dim):
                a[i, k] += 2 * shift[j] * slices[i, j, k]
    return a


def symmetric_linear(linear: NDArray, slices: NDArray, shift: NDArray) -> NDArray:
    """A_s = (A + Aᵀ)/2."""
    dim = len(linear)
    a = shifted_linear(linear, slices, shift)
    a_s = np.zeros((dim, dim))
    for i in range(dim):
        for k in range(dim):
            a_s[i, k] = (a[i, k] + a[k, i]) / 2
    return a_s


def cyclic_defect(slices: NDArray) -> NDArray:
    """T_ijk = Q⁽ⁱ⁾_jk + Q⁽ᵏ⁾_ij + Q⁽ʲ⁾_ki."""
    dim = len(slices)
    t = np.zeros((dim, dim, dim))
    for i in range(dim):
        for j in range(dim):
            for k in range(dim):
                t[i, j, k] = slices[i, j, k] + slices[k, i, j] + slices[j, k, i]
    return t


def energy_defect(slices: NDArray) -> float:
    """η_Q = ‖T‖_F / 3."""
    total = 0.0
    for entry in cyclic_defect(slices).flat:
        total += float(entry) ** 2
    return total**0.5 / 3
