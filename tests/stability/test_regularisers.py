"""The penalties against the paper's formulas, written with loops."""

import pytest
import torch

from smore.dynamics import FullQuadratic, LinearDynamics, LowRankQuadratic, MLPDynamics
from smore.stability import conservation_penalty, eigenvalue_penalty
from smore.stability.regularisers import MAX_ENTRIES

DIM = 5


def dynamics_of(kind):
    generator = torch.Generator().manual_seed(4)
    if kind == "full":
        return FullQuadratic(DIM, generator).double()
    return LowRankQuadratic(DIM, 2, generator).double()


def literal_conservation(dynamics):
    q = dynamics.slices(slice(None))
    total = 0.0
    for i in range(DIM):
        for j in range(DIM):
            for k in range(DIM):
                total = total + (q[i, j, k] + q[k, i, j] + q[j, k, i]) ** 2
    return total


@pytest.mark.parametrize("kind", ["low-rank", "full"])
@pytest.mark.parametrize("max_entries", [2**24, 2 * DIM**2, 1])
def test_conservation_penalty_and_gradient_equal_the_sum_over_all_indices(kind, max_entries):
    dynamics = dynamics_of(kind)
    parameters = [p for name, p in dynamics.named_parameters() if name not in ("linear", "bias")]
    expected = literal_conservation(dynamics)
    penalty = conservation_penalty(dynamics, max_entries)
    torch.testing.assert_close(penalty, expected)
    ours = torch.autograd.grad(penalty, parameters)
    theirs = torch.autograd.grad(expected, parameters)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


def test_entries_that_fit_are_formed_once_and_others_again_in_the_backward_pass(monkeypatch):
    """All at once up to `max_entries`, which by default is r = 256; else so many rows at a time."""
    assert MAX_ENTRIES == 256**3
    dynamics, sizes, original = dynamics_of("full"), [], FullQuadratic.slices

    def slices(self, outputs):
        found = original(self, outputs)
        sizes.append(found.numel())
        return found

    monkeypatch.setattr(FullQuadratic, "slices", slices)
    for max_entries, expected in (
        (DIM**3, [DIM**3]),
        (DIM**3 - 1, 2 * [4 * DIM**2, DIM**2]),
        (2 * DIM**2, 2 * [2 * DIM**2, 2 * DIM**2, DIM**2]),
        (1, 2 * DIM * [DIM**2]),
    ):
        sizes.clear()
        conservation_penalty(dynamics, max_entries).backward()
        assert sorted(sizes) == sorted(expected)


def test_penalty_bounds_the_energy_defect():
    """|Σ y_i yᵀQ⁽ⁱ⁾y| <= √L_reg,cons / 3 ‖y‖³ (paper, equation soft_defect_bound)."""
    dynamics = dynamics_of("low-rank")
    defect = conservation_penalty(dynamics).sqrt().item() / 3
    states = torch.randn(1000, DIM, dtype=torch.float64)
    energy = (states * dynamics.quadratic(states)).sum(-1).abs()
    assert (energy <= defect * states.norm(dim=-1) ** 3 * (1 + 1e-12)).all()


def test_energy_preserving_slices_have_no_penalty():
    dynamics = dynamics_of("full")
    skew = torch.randn(DIM, DIM, DIM, dtype=torch.float64)
    with torch.no_grad():  # Q⁽ⁱ⁾_jk antisymmetric in (i, j): y·Q(y, y) = 0
        dynamics.tensor.copy_(skew - skew.transpose(0, 1))
    assert conservation_penalty(dynamics).item() == pytest.approx(0.0, abs=1e-20)


def test_eigenvalue_penalty_counts_positive_eigenvalues_only():
    dynamics = LinearDynamics(3).double()
    with torch.no_grad():
        dynamics.linear.copy_(torch.diag(torch.tensor([2.0, -5.0, 1.0])))
        dynamics.linear[0, 1] += 7.0  # a skew part does not count
        dynamics.linear[1, 0] -= 7.0
    assert eigenvalue_penalty(dynamics).item() == pytest.approx(3 / 4)
    with torch.no_grad():
        dynamics.linear.copy_(-torch.eye(3))
    assert eigenvalue_penalty(dynamics).item() == 0.0


def test_eigenvalue_penalty_gradient_is_the_projector_on_growing_directions():
    dynamics = LinearDynamics(4, torch.Generator().manual_seed(0)).double()
    (gradient,) = torch.autograd.grad(eigenvalue_penalty(dynamics), [dynamics.linear])
    values, vectors = torch.linalg.eigh((dynamics.linear + dynamics.linear.T).detach() / 2)
    growing = vectors[:, values > 0]
    growth = values.clamp(min=0).sum()
    torch.testing.assert_close(gradient, growing @ growing.T / (1 + growth) ** 2)


def test_dynamics_without_the_structure_have_no_penalty():
    assert eigenvalue_penalty(MLPDynamics(4, 8)).item() == 0.0
    assert conservation_penalty(LinearDynamics(4)).item() == 0.0
