"""The prior is the Gaussian with the mean and covariance of the training latents."""

import pytest
import torch

from smore.inference import LatentPrior
from smore.inference.prior import VARIANCE_FLOOR


def draw(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def sample_with(mean, covariance, num=50):
    """Latents whose sample mean and covariance are exactly these."""
    draws = draw(num, len(mean))
    draws -= draws.mean(0)
    white = draws @ torch.linalg.inv(torch.linalg.cholesky(draws.T @ draws / num)).T
    return mean + white @ torch.linalg.cholesky(covariance).T


def test_fit_recovers_mean_and_covariance():
    root = draw(4, 4)
    covariance = root @ root.T + 0.1 * torch.eye(4, dtype=torch.float64)
    mean = torch.tensor([100.0, -3.0, 0.0, 1e-3], dtype=torch.float64)
    prior = LatentPrior.fit(sample_with(mean, covariance))
    torch.testing.assert_close(prior.mean, mean)
    torch.testing.assert_close(prior.covariance, covariance, rtol=1e-8, atol=1e-8)


def test_single_precision_latents_are_summed_in_double():
    latents = (draw(1000, 3) + 1000.0).float()
    prior = LatentPrior.fit(latents)
    expected = torch.cov(latents.double().T, correction=0)
    assert prior.factor.dtype == torch.float64
    torch.testing.assert_close(prior.covariance, expected, rtol=1e-9, atol=1e-9)


def test_directions_that_never_moved_keep_a_little_variance():
    """Fewer latents than dimensions: the rest gets the floor and no more."""
    latents = draw(3, 6)
    variances = torch.linalg.eigvalsh(LatentPrior.fit(latents).covariance)
    total = (latents - latents.mean(0)).square().sum() / 3
    floor = float(VARIANCE_FLOOR * total / 6)
    assert variances[:4].tolist() == pytest.approx([floor] * 4, rel=1e-3)
    assert float(variances[4:].sum()) == pytest.approx(float(total))


def test_latents_that_are_all_the_same_insist_on_their_mean():
    prior = LatentPrior.fit(torch.full((5, 3), 2.0))
    assert prior.mean.tolist() == [2.0, 2.0, 2.0]
    assert not prior.covariance.any()


def test_an_estimated_prior_underestimates_by_what_new_samples_show():
    """Predict one part of Gaussian states from another, by covariances of few samples."""
    generator = torch.Generator().manual_seed(0)
    size, seen, samples, trials = 12, 8, 40, 400
    root = torch.randn(size, size, dtype=torch.float64, generator=generator)
    stated = actual = 0.0
    for _ in range(trials):
        states = torch.randn(samples + 50, size, dtype=torch.float64, generator=generator) @ root.T
        prior = LatentPrior.fit(states[:samples])
        cross, own = prior.covariance[seen:, :seen], prior.covariance[:seen, :seen]
        weights = torch.linalg.solve(own, cross.T).T
        stated += float((prior.covariance[seen:, seen:] - weights @ cross.T).trace())
        new = states[samples:] - prior.mean
        actual += float((new[:, seen:] - new[:, :seen] @ weights.T).square().sum(1).mean())
    factor = prior.underestimate(torch.tensor([float(seen)], dtype=torch.float64))
    assert float(factor[0]) == pytest.approx(actual / stated, rel=0.1)
    assert float(factor[0]) > 1.5


def test_a_known_prior_is_taken_at_its_word():
    prior = LatentPrior(torch.zeros(2).double(), torch.eye(2).double())
    assert torch.equal(prior.underestimate(torch.tensor([0.0, 1.5])), torch.ones(2))


def test_the_floor_is_a_ten_billionth_of_the_mean_variance():
    latents = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])  # variances 1 and 0
    assert LatentPrior.fit(latents).covariance.diagonal().tolist() == pytest.approx([1.0, 0.5e-10])


def test_the_factor_of_an_estimated_prior_follows_its_formula():
    """n (n - 1) / (n - q - 1)², with n - q - 1 not below 1: n samples know no more."""
    prior = LatentPrior(torch.zeros(2).double(), torch.eye(2).double(), count=10)
    found = prior.underestimate(torch.tensor([0.0, 3.0, 8.0, 9.5], dtype=torch.float64))
    assert found.tolist() == pytest.approx([90 / 81, 90 / 36, 90.0, 90.0])


def test_the_factor_never_makes_a_prior_narrower():
    for count in (1, 2):
        prior = LatentPrior(torch.zeros(2).double(), torch.eye(2).double(), count=count)
        assert (prior.underestimate(torch.tensor([0.0, 1.0])) >= 1).all()
