"""Covariances of errors from few trajectories, and from many."""

from __future__ import annotations

import torch

from smore.training.leaving_out._shrinking import shrunk_covariance

DIM = 30


def _errors(num_trajectories, seed, steps=10):
    """Errors that hardly change along a trajectory, of sizes that fall, correlated."""
    random = torch.Generator().manual_seed(seed)
    mixing = torch.randn(DIM, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    sizes = torch.logspace(0, -2, DIM, dtype=torch.float64)[:, None]
    root = sizes * (torch.eye(DIM, dtype=torch.float64) + 0.05 * mixing)
    shared = torch.randn(num_trajectories, 1, DIM, dtype=torch.float64, generator=random)
    own = torch.randn(num_trajectories, steps, DIM, dtype=torch.float64, generator=random)
    errors = ((0.9**0.5 * shared + 0.1**0.5 * own) @ root.T).flatten(0, 1)
    return errors, torch.arange(num_trajectories).repeat_interleave(steps)


def _surprise(covariance, errors):
    """Mean square of whitened errors: 1 if they are as large as they were said to be."""
    root = torch.linalg.cholesky(covariance)
    return float(torch.linalg.solve_triangular(root, errors.T, upper=False).square().mean())


def test_new_trajectories_surprise_less():
    (errors, origins), (new, _) = _errors(12, 2), _errors(400, 3)
    sample = errors.T @ errors / len(errors)
    shrunk = shrunk_covariance(errors, origins)
    assert _surprise(sample, new) > 8
    assert _surprise(shrunk, new) < 3
    torch.testing.assert_close(shrunk.diagonal(), sample.diagonal(), rtol=1e-7, atol=0)


def test_of_many_trajectories_the_sample_is_believed():
    (errors, origins), (new, _) = _errors(2000, 2, steps=2), _errors(400, 3)
    sample = errors.T @ errors / len(errors)
    shrunk = shrunk_covariance(errors, origins)
    assert (shrunk - sample).norm() < 0.03 * sample.norm()
    assert 0.9 < _surprise(shrunk, new) < 1.1


def test_where_nothing_is_wrong_nothing_is_made_up():
    assert not shrunk_covariance(torch.zeros(40, DIM).double(), torch.arange(40)).any()
    one = torch.ones(1, 3, dtype=torch.float64)
    assert torch.equal(shrunk_covariance(one, torch.zeros(1)), one.T @ one)


def test_latents_that_never_err_are_no_obstacle():
    errors, origins = _errors(20, 5)
    errors[:, 3] = 0
    found = shrunk_covariance(errors, origins)
    assert torch.isfinite(found).all()
    assert float(found[3, 3]) < 1e-11 * float(found.diagonal().mean())
