"""Directions that sensors do not see: against the definition, entry by entry."""

import torch

from smore.analysis.unseen import unseen_directions
from smore.inference import LatentPrior

DIM = 5


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def condition(prior, design, noise):
    """Posterior covariance for observations design α + noise."""
    precision = torch.linalg.inv(prior.covariance) + design.T @ design / noise
    return torch.linalg.inv(precision)


def test_what_no_row_touches_is_unseen_and_nothing_else():
    prior = LatentPrior(random(DIM), random(DIM, DIM, seed=1))
    design = random(3, DIM, seed=2)
    shares, directions = unseen_directions(prior, condition(prior, design, 1e-10))
    assert len(shares) == DIM - 3
    torch.testing.assert_close(shares, torch.ones(2, dtype=torch.float64), rtol=0, atol=1e-6)
    # In the metric of the prior the sensors' rows and the unseen directions have nothing in common.
    assert float((design @ directions.T).abs().max()) < 1e-4


def test_directions_have_the_size_and_share_they_claim():
    """vᵀ Σ⁻¹ v = 1, and the posterior variance along v is the stated share of the prior's."""
    prior = LatentPrior(random(DIM), random(DIM, DIM, seed=3))
    covariance = condition(prior, random(2, DIM, seed=4), 2.0)
    shares, directions = unseen_directions(prior, covariance)
    inverse = torch.linalg.inv(prior.covariance)
    energies = []
    for share, direction in zip(shares, directions, strict=True):
        along = inverse @ direction
        torch.testing.assert_close(direction @ along, torch.ones(()).double())
        torch.testing.assert_close(along @ covariance @ along, share)
        energies.append(float(share * direction @ direction))
    assert energies == sorted(energies, reverse=True)


def test_with_everything_observed_nothing_is_unseen():
    prior = LatentPrior(random(DIM), random(DIM, DIM, seed=5))
    shares, directions = unseen_directions(prior, 1e-6 * prior.covariance)
    assert len(shares) == len(directions) == 0


def test_a_direction_is_unseen_while_more_than_half_of_its_variance_is_left():
    prior = LatentPrior(torch.zeros(3).double(), torch.tensor([1.0, 2.0, 3.0]).double().diag())
    left = torch.tensor([0.51, 0.49, 0.9], dtype=torch.float64)
    shares, directions = unseen_directions(prior, prior.covariance * left)
    torch.testing.assert_close(shares, left[[2, 0]])  # most of the field first: 0.9 · 3² > 0.51
    torch.testing.assert_close(
        directions.abs(), torch.tensor([[0.0, 0.0, 3.0], [1.0, 0.0, 0.0]]).double()
    )


def test_exactly_half_is_seen():
    prior = LatentPrior(torch.zeros(2).double(), torch.eye(2).double())
    shares, _ = unseen_directions(prior, 0.5 * torch.eye(2, dtype=torch.float64))
    assert not len(shares)
