"""Posterior, least squares and Adam against dense linear algebra written out value by value."""

import pytest
import torch

from smore.data import Block
from smore.decoder import Basis, Decoder, FilterNetwork
from smore.inference import (
    LatentPrior,
    NormalEquations,
    adam,
    least_squares,
    normal_equations,
    posterior,
)

SNAPSHOTS, CHANNELS, DIM, POINTS = 5, 2, 4, 17
NOISE = torch.tensor([0.3, 0.05], dtype=torch.float64)


class Cosines(Decoder):
    """u(x) = 1 + Σ z_k cos(π k x): modes that are nearly orthogonal on a uniform mesh."""

    coordinate_dim, latent_dim = 1, DIM

    def basis(self, coords):
        orders = torch.arange(DIM, dtype=coords.dtype)
        return Basis(torch.ones_like(coords[:, 0]), torch.cos(torch.pi * coords * orders))

    def change_gauge(self, matrix, shift):
        raise AssertionError("nobody asks")


def random_decoder():
    return FilterNetwork(1, DIM, 8, 2, generator=torch.Generator().manual_seed(0)).double()


def random_prior():
    generator = torch.Generator().manual_seed(1)
    size = CHANNELS * DIM
    mean = torch.randn(size, dtype=torch.float64, generator=generator)
    return LatentPrior(mean, torch.randn(size, size, dtype=torch.float64, generator=generator))


def masks(kind):
    """(points, snapshots · channels), or None when everything is observed."""
    seen = torch.rand(POINTS, SNAPSHOTS, CHANNELS, generator=torch.Generator().manual_seed(2))
    observed = seen < 0.6
    if kind == "full":
        return None
    if kind == "one channel":
        observed[..., 1] = False
    if kind == "few points":  # fewer than there are unknowns
        observed[3:] = False
    if kind == "nothing":
        observed[:] = False
    return observed.flatten(1)


def random_block(kind="full", coords=None):
    generator = torch.Generator().manual_seed(3)
    if coords is None:
        coords = torch.rand(POINTS, 1, dtype=torch.float64, generator=generator)
    columns = (POINTS, SNAPSHOTS * CHANNELS)
    return Block(
        coords=coords,
        weights=torch.ones(POINTS, dtype=torch.float64),
        values=torch.randn(columns, dtype=torch.float64, generator=generator),
        snapshots=torch.arange(SNAPSHOTS),
        num_channels=CHANNELS,
    ).with_mask(masks(kind))


def stacked(decoder, block, snapshot):
    """One snapshot's problem H α ≈ y, a row for each observed value, and the noise of each row."""
    basis = decoder.basis(block.coords).detach()
    rows, targets, noise = [], [], []
    for channel in range(CHANNELS):
        column = snapshot * CHANNELS + channel
        for point in range(POINTS):
            if block.observed is None or block.observed[point, column]:
                row = torch.zeros(CHANNELS * DIM, dtype=torch.float64)
                row[channel * DIM : (channel + 1) * DIM] = basis.modes[point]
                rows.append(row)
                targets.append(float(block.values[point, column] - basis.offset[point]))
                noise.append(float(NOISE[channel]))
    design = torch.stack(rows) if rows else torch.zeros(0, CHANNELS * DIM, dtype=torch.float64)
    targets, noise = (torch.tensor(values, dtype=torch.float64) for values in (targets, noise))
    return design, targets, noise


def one_problem(decoder, block):
    (equations,) = normal_equations(decoder, [block])
    return equations


KINDS = ["full", "masked", "one channel", "few points", "nothing"]


@pytest.mark.parametrize("kind", KINDS)
def test_posterior_is_gaussian_conditioning(kind):
    """μ + Σ Hᵀ (H Σ Hᵀ + R)⁻¹ (y - H μ) and Σ - Σ Hᵀ (H Σ Hᵀ + R)⁻¹ H Σ."""
    decoder, prior, block = random_decoder(), random_prior(), random_block(kind)
    found = posterior(one_problem(decoder, block), prior, NOISE)
    for snapshot in range(SNAPSHOTS):
        design, targets, noise = stacked(decoder, block, snapshot)
        spread = design @ prior.covariance @ design.T + noise.diag()
        gain = prior.covariance @ design.T @ torch.linalg.inv(spread)
        expected = prior.mean + gain @ (targets - design @ prior.mean)
        torch.testing.assert_close(found.mean[snapshot].flatten(), expected, rtol=1e-9, atol=1e-10)
        torch.testing.assert_close(
            found.covariance.expand(SNAPSHOTS, -1, -1)[snapshot],
            prior.covariance - gain @ design @ prior.covariance,
            rtol=1e-9,
            atol=1e-10,
        )
        # Every value that is observed exactly would determine one direction.
        used = torch.linalg.solve(spread, design @ prior.covariance @ design.T).trace()
        assert float(found.determined[snapshot]) == pytest.approx(float(used), abs=1e-8)
        if len(targets):
            marginal = torch.distributions.MultivariateNormal(design @ prior.mean, spread)
            likely = float(marginal.log_prob(targets))
        else:
            likely = 0.0
        assert float(found.log_evidence[snapshot]) == pytest.approx(likely, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", ["full", "masked", "few points"])
def test_what_an_estimated_prior_leaves_open_is_larger_than_it_says(kind):
    """Of C = F S Fᵀ the part F S² Fᵀ grows by n (n - 1) / (n - q - 1)², the rest is noise."""
    equations, known = one_problem(random_decoder(), random_block(kind)), random_prior()
    certain = posterior(equations, known, NOISE)
    found = posterior(equations, LatentPrior(known.mean, known.factor, count=20), NOISE)
    torch.testing.assert_close(found.mean, certain.mean)
    covariances = certain.covariance.expand(SNAPSHOTS, -1, -1)
    for snapshot, covariance in enumerate(covariances):
        inverse = torch.linalg.inv(known.factor)
        share = inverse @ covariance @ inverse.T
        growth = 20 * 19 / (20 - float(certain.determined[snapshot]) - 1) ** 2
        open_part = known.factor @ share @ share @ known.factor.T
        torch.testing.assert_close(
            found.covariance.expand(SNAPSHOTS, -1, -1)[snapshot],
            covariance + (growth - 1) * open_part,
        )


def test_no_observations_leave_the_prior():
    prior = random_prior()
    found = posterior(one_problem(random_decoder(), random_block("nothing")), prior, NOISE)
    torch.testing.assert_close(found.mean.flatten(1), prior.mean.expand(SNAPSHOTS, -1))
    torch.testing.assert_close(found.covariance, prior.covariance[None])  # all share it


def test_directions_without_prior_variance_keep_the_prior_mean():
    prior = random_prior()
    factor = prior.factor.clone()
    factor[2] = 0.0
    found = posterior(
        one_problem(random_decoder(), random_block()), LatentPrior(prior.mean, factor), NOISE
    )
    torch.testing.assert_close(
        found.mean.flatten(1)[:, 2], prior.mean[2].expand(SNAPSHOTS), rtol=0, atol=1e-12
    )
    assert float(found.covariance[..., 2, :].abs().max()) < 1e-12


@pytest.mark.parametrize("kind", ["full", "masked"])
def test_a_flat_prior_gives_least_squares(kind):
    decoder = random_decoder()
    equations = one_problem(decoder, random_block(kind))
    wide = torch.eye(CHANNELS * DIM, dtype=torch.float64)
    errors = []
    for width in (1e2, 1e4):
        prior = LatentPrior(random_prior().mean, width * wide)
        mean = posterior(equations, prior, NOISE).mean
        errors.append(float((mean - least_squares(equations)).norm()))
    assert errors[1] < 1e-3
    assert errors[1] == pytest.approx(errors[0] / 1e4, rel=0.05)  # the prior's precision


def test_another_observation_never_adds_variance():
    """Posterior covariances of nested observations decrease in the order of matrices."""
    decoder, prior = random_decoder(), random_prior()
    before = prior.covariance.expand(SNAPSHOTS, -1, -1)
    shape = (POINTS, SNAPSHOTS * CHANNELS)
    order = torch.rand(shape, generator=torch.Generator().manual_seed(4))
    for share in (0.1, 0.3, 0.6, 1.0):
        block = random_block("masked")
        block.observed.copy_(order < share)
        covariance = posterior(one_problem(decoder, block), prior, NOISE).covariance
        drop = torch.linalg.eigvalsh(before - covariance)
        assert float(drop.min()) > -1e-10
        assert float(torch.linalg.eigvalsh(covariance).min()) > -1e-10
        before = covariance


@pytest.mark.parametrize("kind", ["full", "masked", "one channel", "few points", "nothing"])
def test_least_squares_is_the_smallest_minimiser(kind):
    """The pseudo-inverse solution: of all codes with the least residual, the shortest."""
    decoder, block = random_decoder(), random_block(kind)
    fitted = least_squares(one_problem(decoder, block))
    for snapshot in range(SNAPSHOTS):
        design, targets, _ = stacked(decoder, block, snapshot)
        if len(design):
            expected = torch.linalg.lstsq(design, targets[:, None], driver="gelsd").solution[:, 0]
        else:
            expected = torch.zeros(CHANNELS * DIM, dtype=torch.float64)
        torch.testing.assert_close(fitted[snapshot].flatten(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [1e-10, 1.0, 1e10])
def test_least_squares_leaves_out_what_is_seen_a_millionth_as_well_as_the_rest(size):
    """Modes of lengths 1, 1.2e-6 and 0.8e-6, all of the same shape otherwise, of any size."""
    lengths = size * torch.tensor([1.0, 1.2e-6, 0.8e-6], dtype=torch.float64)
    ones = torch.ones(1, 1, dtype=torch.float64)
    equations = NormalEquations(
        snapshots=torch.tensor([0]),
        gram=lengths.square().diag()[None],
        pattern=torch.zeros(1, 1, dtype=torch.int64),
        moment=lengths.view(1, 1, 3),
        energy=3 * ones,
        count=3 * ones,
    )
    found = least_squares(equations)[0, 0]
    torch.testing.assert_close(found * lengths, torch.tensor([1.0, 1.0, 0.0]).double())


@pytest.mark.parametrize("rate", [0.3, 3.0])  # steadily down; with iterates worse than before
@pytest.mark.parametrize("kind", ["full", "masked"])
def test_adam_is_adam_on_the_mean_squared_misfit_and_keeps_the_best_iterate(kind, rate):
    decoder, block, num_steps = random_decoder(), random_block(kind), 12
    codes = torch.zeros(SNAPSHOTS, CHANNELS * DIM, dtype=torch.float64, requires_grad=True)
    problems = [stacked(decoder, block, snapshot) for snapshot in range(SNAPSHOTS)]
    number = sum(len(targets) for _, targets, _ in problems)
    optimizer = torch.optim.Adam([codes], lr=rate)
    best, lowest = codes.detach().clone(), [float("inf")] * SNAPSHOTS
    for _ in range(num_steps + 1):
        misfits = [
            (design @ codes[snapshot] - targets).square().sum()
            for snapshot, (design, targets, _) in enumerate(problems)
        ]
        for snapshot, misfit in enumerate(misfits):
            if misfit.item() < lowest[snapshot]:
                lowest[snapshot] = misfit.item()
                best[snapshot] = codes[snapshot].detach()
        optimizer.zero_grad()
        (sum(misfits) / number).backward()
        optimizer.step()
    fitted = adam(one_problem(decoder, block), num_steps, rate)
    torch.testing.assert_close(fitted.flatten(1), best, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("rate", [1e-2, 1.0, 100.0])
def test_adam_never_beats_least_squares_and_never_gets_worse(rate):
    equations = one_problem(random_decoder(), random_block("masked"))

    def misfit(codes):
        return equations.squared_residual(codes).sum(-1)

    least = misfit(least_squares(equations))
    before = misfit(torch.zeros(SNAPSHOTS, CHANNELS, DIM, dtype=torch.float64))
    for num_steps in (1, 2, 5, 20, 60):
        now = misfit(adam(equations, num_steps, rate))
        assert (now >= least - 1e-9).all()
        assert (now <= before + 1e-12).all()
        before = now


def test_adam_reaches_least_squares_where_the_modes_are_independent():
    mesh = (torch.arange(POINTS, dtype=torch.float64)[:, None] + 0.5) / POINTS
    equations = one_problem(Cosines(), random_block(coords=mesh))
    torch.testing.assert_close(
        adam(equations, 1500, 1e-2), least_squares(equations), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("keeps", ["best", "last"])
def test_adam_stays_at_zero_where_nothing_is_observed(keeps):
    equations = one_problem(random_decoder(), random_block("nothing"))
    assert not adam(equations, 5, 0.1, keeps).any()


def test_adam_may_keep_the_last_iterate_instead_of_the_best():
    """After exactly so many steps, also where the one before was better."""
    decoder, block, rate, num_steps = random_decoder(), random_block("masked"), 3.0, 12
    codes = torch.zeros(SNAPSHOTS, CHANNELS * DIM, dtype=torch.float64, requires_grad=True)
    problems = [stacked(decoder, block, snapshot) for snapshot in range(SNAPSHOTS)]
    number = sum(len(targets) for _, targets, _ in problems)
    optimizer = torch.optim.Adam([codes], lr=rate)
    for _ in range(num_steps):
        optimizer.zero_grad()
        (
            sum(
                (design @ code - targets).square().sum()
                for code, (design, targets, _) in zip(codes, problems, strict=True)
            )
            / number
        ).backward()
        optimizer.step()
    equations = one_problem(decoder, block)
    found = adam(equations, num_steps, rate, keeps="last").flatten(1)
    torch.testing.assert_close(found, codes.detach(), rtol=1e-8, atol=1e-9)
    assert not torch.equal(found, adam(equations, num_steps, rate).flatten(1))
