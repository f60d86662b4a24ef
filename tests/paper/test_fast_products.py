"""Products by oneDNN are products; what they are used for cannot tell."""

import subprocess
import sys

import pytest
import torch

from smore_paper.fast_products import _pays, _product

WAYS = {
    "plain": lambda a: a,
    "transposed": lambda a: a.T.contiguous().T,
    "rows with gaps": lambda a: torch.nn.functional.pad(a, (0, 3))[:, : a.shape[1]],
    "expanded": lambda a: a[:1].expand(a.shape),
}


@pytest.mark.parametrize("left", WAYS)
@pytest.mark.parametrize("right", WAYS)
def test_products_are_those_of_double_precision(left, right):
    random = torch.Generator().manual_seed(0)
    a = WAYS[left](torch.randn(40, 50, generator=random))
    b = WAYS[right](torch.randn(50, 60, generator=random))
    exact = a.double() @ b.double()
    assert float((_product(a, b) - exact).norm() / exact.norm()) < 1e-6


def test_other_precisions_and_small_matrices_are_left_to_torch():
    a, small = torch.randn(40, 50, dtype=torch.float64), torch.randn(3, 3)
    assert torch.equal(_product(a, a.T), a @ a.T)
    assert torch.equal(_product(small, small), small @ small)


@pytest.mark.skipif(not _pays(), reason="MKL is as fast on this processor")
def test_a_process_multiplies_and_differentiates_as_before():
    """In a process of its own: there is no way back."""
    code = """
import torch
from smore_paper.fast_products import are_products_fast, use_fast_products
x = torch.randn(60, 3000, requires_grad=True)
y = torch.randn(3000, 80)
(before,) = torch.autograd.grad((x @ y).square().sum(), x)
assert not are_products_fast() and use_fast_products() and use_fast_products()
(after,) = torch.autograd.grad((x @ y).square().sum(), x)
assert are_products_fast() and 0 < (before - after).norm() < 1e-5 * before.norm()
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
