"""Sensors are placed where they tell most, judged by inverses and determinants written out."""

from itertools import combinations, pairwise

import numpy as np
import pytest
import torch

import waves
from smore.errors import SettingsError
from smore.inference import LatentPrior
from smore.inference.placement import (
    Candidates,
    exchanged,
    extended,
    gains,
    pivoted,
    place_sensors,
)

DIM, CHANNELS = 3, 2


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def problem(seed=0, num=30, noise=(0.1, 0.4), dim=DIM):
    """Modes, a prior that correlates the channels, noise."""
    source = generator(seed)
    size = len(noise) * dim
    modes = torch.randn(num, dim, dtype=torch.float64, generator=source)
    factor = torch.randn(size, size, dtype=torch.float64, generator=source)
    mean = torch.randn(size, dtype=torch.float64, generator=source)
    return modes, LatentPrior(mean, factor), torch.tensor(noise, dtype=torch.float64)


def information(modes, noise, points):
    """Σ_x Σ_k e_k e_kᵀ ⊗ J₀(x)ᵀJ₀(x) / σ_k², term by term."""
    size = len(noise) * modes.shape[1]
    total = torch.zeros(size, size, dtype=torch.float64)
    for point in points:
        for channel, variance in enumerate(noise):
            unit = torch.zeros(len(noise), dtype=torch.float64)
            unit[channel] = 1.0
            mode = modes[int(point)]
            total += torch.kron(torch.outer(unit, unit), torch.outer(mode, mode)) / variance
    return total


def covariance(modes, prior, noise, points):
    return torch.linalg.inv(torch.linalg.inv(prior.covariance) + information(modes, noise, points))


def log_det(modes, prior, noise, points):
    """log det of the posterior precision, less that of the prior: 0 without sensors."""
    factor = prior.factor
    seen = factor.T @ information(modes, noise, points) @ factor
    return float(torch.logdet(torch.eye(len(seen), dtype=torch.float64) + seen))


def field_variance(modes, posterior):
    """Mean over candidates and channels of the variance of the field."""
    dim = modes.shape[1]
    own = posterior.unflatten(0, (-1, dim)).unflatten(2, (-1, dim))
    variances = [
        float(mode @ own[channel, :, channel] @ mode)
        for mode in modes
        for channel in range(len(own))
    ]
    return np.mean(variances)


def parts(modes, prior, noise):
    return Candidates(modes, noise.rsqrt()), prior.factor.unflatten(0, (len(noise), -1))


def flat(root):
    root = root.flatten(0, 1)
    return root @ root.T


def test_sensors_leave_the_covariance_of_the_definition():
    modes, prior, noise = problem()
    candidates, root = parts(modes, prior, noise)
    known, lost = candidates.learn(root, [4, 0, 17, 17])
    expected = covariance(modes, prior, noise, [4, 0, 17, 17])
    torch.testing.assert_close(flat(known), expected)
    torch.testing.assert_close(prior.covariance - flat(lost), expected)


def test_hardly_any_noise_leaves_the_covariance_accurate():
    """A sensor of noise 1e-14 read 30 times, then all others: no negative or lost variance."""
    modes, prior, noise = problem(noise=(1e-14, 1e-14))
    candidates, root = parts(modes, prior, noise)
    known, _ = candidates.learn(root, [0] * 30 + list(range(30)))
    gram = information(modes, torch.ones(CHANNELS), [0] * 30 + list(range(30)))
    # So many sensors that the prior no longer matters.
    torch.testing.assert_close(1e14 * flat(known), torch.linalg.inv(gram), rtol=1e-6, atol=1e-6)


def test_the_gain_of_a_sensor_is_the_growth_of_the_log_determinant():
    modes, prior, noise = problem()
    candidates, root = parts(modes, prior, noise)
    known, _ = candidates.learn(root, [3, 8])
    before = log_det(modes, prior, noise, [3, 8])
    expected = [log_det(modes, prior, noise, [3, 8, x]) - before for x in range(30)]
    assert gains(candidates.information(known)).tolist() == pytest.approx(expected)


def test_more_candidates_than_a_chunk_are_scored_alike(monkeypatch):
    modes, prior, noise = problem()
    candidates, root = parts(modes, prior, noise)
    whole = candidates.information(root)
    monkeypatch.setattr("smore.inference.placement.CHUNK", 7)
    torch.testing.assert_close(candidates.information(root), whole)


def test_errors_are_field_variances_of_the_posterior():
    modes, prior, noise = problem()
    placement = place_sensors(modes, prior, noise, 4, generator=generator())
    expected = field_variance(modes, covariance(modes, prior, noise, placement.points))
    assert placement.expected_error == pytest.approx(expected)
    assert placement.prior_error == pytest.approx(field_variance(modes, prior.covariance))
    source = generator()
    random = [
        field_variance(
            modes, covariance(modes, prior, noise, torch.randperm(30, generator=source)[:4])
        )
        for _ in range(32)
    ]
    assert placement.random_error == pytest.approx(np.mean(random))
    assert placement.best_random_error == pytest.approx(min(random))


def test_observability_is_the_smallest_singular_value_of_the_sensor_modes():
    modes, prior, noise = problem()
    placement = place_sensors(modes, prior, noise, 5, generator=generator())
    smallest = np.linalg.svd(modes[placement.points].numpy(), compute_uv=False)[-1]
    assert placement.observability == pytest.approx(smallest)
    assert place_sensors(modes, prior, noise, 2, generator=generator()).observability == 0
    alike = torch.cat([modes[:, :2], modes[:, :1]], dim=1)
    assert place_sensors(alike, prior, noise, 5, generator=generator()).observability == 0


@pytest.mark.parametrize("noise", [(0.1, 0.4), (1e-6, 1e-6), (3.0,)])
def test_nearly_every_choice_is_the_best_of_all(noise):
    shares = []
    for seed in range(60):
        modes, prior, variances = problem(seed, num=8, noise=noise)
        placement = place_sensors(modes, prior, variances, 3, generator=generator())
        best = max(log_det(modes, prior, variances, each) for each in combinations(range(8), 3))
        shares.append(log_det(modes, prior, variances, placement.points) / best)
    assert max(shares) < 1 + 1e-9
    assert np.mean(np.array(shares) > 0.99) >= 0.95
    assert min(shares) > 0.95


def test_no_single_exchange_is_left_that_would_pay():
    modes, prior, noise = problem(num=40)
    chosen = place_sensors(modes, prior, noise, 6, generator=generator()).points.tolist()
    reached = log_det(modes, prior, noise, chosen)
    for position in range(6):
        for point in set(range(40)) - set(chosen):
            moved = [*chosen[:position], point, *chosen[position + 1 :]]
            assert log_det(modes, prior, noise, moved) < reached + 1e-2 + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_exchanges_go_on_from_any_start_until_none_pays(seed):
    modes, prior, noise = problem(seed, num=30)
    candidates, root = parts(modes, prior, noise)
    chosen = exchanged(candidates, root, list(range(5)))
    assert exchanged(candidates, root, chosen) == chosen
    reached = log_det(modes, prior, noise, chosen)
    for position in range(5):
        for point in set(range(30)) - set(chosen):
            moved = [*chosen[:position], point, *chosen[position + 1 :]]
            assert log_det(modes, prior, noise, moved) < reached + 1e-2 + 1e-9


def test_exchanges_that_never_settle_end_after_ten_rounds(monkeypatch):
    def restless(candidates, root, information, chosen, part):
        chosen[0] += 1

    monkeypatch.setattr("smore.inference.placement._sweep", restless)
    assert exchanged(None, None, [0]) == [10]


@pytest.mark.parametrize(("count", "tables"), [(2, 1), (16, 1), (17, 2), (33, 3)])
def test_up_to_sixteen_sensors_are_visited_with_one_table(monkeypatch, count, tables):
    """All others are those of the eight and fewer directions that a part of them has lost."""
    modes, prior, noise = problem(num=40, noise=(0.1,), dim=20)
    candidates, root = parts(modes, prior, noise)
    settled = exchanged(candidates, root, list(range(count)))
    sizes, information_of = [], Candidates.information

    def counted(self, root):
        sizes.append(root.shape[-1])
        return information_of(self, root)

    monkeypatch.setattr(Candidates, "information", counted)
    assert exchanged(candidates, root, settled) == settled
    assert sizes.count(20) == tables
    assert all(size <= 8 for size in sizes if size != 20)


@pytest.mark.parametrize(("more", "moves"), [(0.009, False), (0.011, True), (1.0, True)])
def test_a_sensor_moves_for_a_hundredth_more_log_det(more, moves):
    """One latent of variance 1 and noise 1: a sensor tells log(1 + J₀²)."""
    told = torch.tensor([1.0, 0.2, 1.0 + more], dtype=torch.float64)
    candidates = Candidates((told.exp() - 1).sqrt()[:, None], torch.ones(1, dtype=torch.float64))
    root = torch.ones(1, 1, 1, dtype=torch.float64)
    assert gains(candidates.information(root)).tolist() == pytest.approx(told.tolist())
    assert exchanged(candidates, root, [0]) == [2 if moves else 0]


@pytest.mark.parametrize("count", [2, 7, 20, 35])
@pytest.mark.parametrize("noise", [1.0, 1e-4, 1e-14])
def test_exchanges_never_lose_what_pivoting_found(noise, count):
    """Also for more sensors than are scored at once, with fewer and with more than modes."""
    for seed in range(5):
        modes, prior, variances = problem(seed, num=120, noise=(noise, noise), dim=8)
        candidates, root = parts(modes, prior, variances)
        start = extended(candidates, root, pivoted(candidates, root, count), count)
        end = exchanged(candidates, root, start)
        assert len(set(end)) == count
        assert _accurate_log_det(modes, prior, variances, end) >= (
            _accurate_log_det(modes, prior, variances, start) - 1e-9
        )


def _accurate_log_det(modes, prior, noise, points):
    """By QR, which does not square the ratio of prior to noise."""
    factor = prior.factor.unflatten(0, (len(noise), -1))
    rows = (modes[points] @ factor / noise.sqrt()[:, None, None]).flatten(0, 1)
    stacked = torch.cat([torch.eye(rows.shape[1], dtype=torch.float64), rows])
    return 2 * float(torch.linalg.qr(stacked, mode="r").R.diagonal().abs().log().sum())


def test_pivoting_stops_where_points_tell_less_than_the_noise():
    modes, prior, noise = problem(noise=(1e-6, 1e-6))
    candidates, root = parts(modes, prior, noise)
    assert len(pivoted(candidates, root, 10)) == DIM
    assert len(pivoted(candidates, root, 2)) == 2
    deaf = Candidates(modes, torch.full((CHANNELS,), 1e-6, dtype=torch.float64))
    assert pivoted(deaf, root, 10) == []
    # As much as the noise is not more than it.
    one = torch.ones(1, 1, dtype=torch.float64)
    assert pivoted(Candidates(one, one[0]), one[None], 1) == []
    assert pivoted(Candidates(1.01 * one, one[0]), one[None], 1) == [0]


def test_pivoting_is_that_of_the_prior_weighted_modes_with_one_channel():
    modes, prior, noise = problem(num=12, noise=(1e-6,))
    candidates, root = parts(modes, prior, noise)
    rows, order = (modes @ prior.factor).numpy(), []
    for _ in range(DIM):
        order.append(int(np.argmax((rows**2).sum(1))))
        direction = rows[order[-1]] / np.linalg.norm(rows[order[-1]])
        rows = rows - np.outer(rows @ direction, direction)
    assert pivoted(candidates, root, DIM) == order


@pytest.fixture(scope="module")
def wave():
    """Modes of the planted waves at many places, and the prior of their states."""
    surrogate = waves.planted(waves.trajectories()).surrogate_
    coords = torch.as_tensor(surrogate.description.coordinate_map(waves.places(400, seed=5)))
    with torch.no_grad():
        modes = surrogate.decoder.basis(coords.float()).modes.double()
    return modes, surrogate.prior


@pytest.mark.parametrize("count", [3, 4, 6, 10])
def test_chosen_sensors_know_waves_better_than_random_ones(wave, count):
    modes, prior = wave
    noise = torch.full((2,), 1e-4, dtype=torch.float64)
    placement = place_sensors(modes, prior, noise, count, generator=generator())
    assert placement.expected_error < placement.random_error < placement.prior_error
    # Waves have 8 degrees of freedom, a sensor reads 2: from 4 sensors on the state is seen in
    # full, and the largest determinant goes with a small error.
    if count >= 4:
        assert placement.expected_error < placement.best_random_error


def test_the_expected_error_of_waves_is_the_one_that_is_met(wave):
    modes, prior = wave
    noise = torch.tensor([1e-2, 4e-2], dtype=torch.float64)
    placement = place_sensors(modes, prior, noise, 4, generator=generator())
    source, num, size = generator(1), 4000, len(prior.mean)
    states = torch.randn(num, size, dtype=torch.float64, generator=source) @ prior.factor.T
    fields = states.unflatten(1, (2, -1)) @ modes.T
    scatter = torch.randn(num, 2, 4, dtype=torch.float64, generator=source)
    values = fields[..., placement.points] + noise.sqrt()[:, None] * scatter
    seen = torch.block_diag(modes[placement.points], modes[placement.points])
    spread = torch.diag(noise.repeat_interleave(4))
    gain = prior.covariance @ seen.T @ torch.linalg.inv(seen @ prior.covariance @ seen.T + spread)
    found = (values.flatten(1) @ gain.T).unflatten(1, (2, -1)) @ modes.T
    assert placement.expected_error == pytest.approx(
        float((found - fields).square().mean()), rel=0.05
    )


def test_more_sensors_never_know_less(wave):
    modes, prior = wave
    noise = torch.full((2,), 1e-3, dtype=torch.float64)
    errors = [
        place_sensors(modes, prior, noise, count, generator=generator()).expected_error
        for count in range(1, 25)
    ]
    assert all(later < 1.05 * earlier for earlier, later in pairwise(errors))
    assert errors[-1] < 1e-2 * errors[0]


def test_sensors_stand_only_where_they_are_allowed():
    modes, prior, noise = problem()
    allowed = torch.zeros(30, dtype=torch.bool)
    allowed[[2, 3, 11, 19, 28]] = True
    placement = place_sensors(modes, prior, noise, 4, allowed=allowed, generator=generator())
    assert set(placement.points.tolist()) < {2, 3, 11, 19, 28}
    # The field is wanted everywhere all the same.
    expected = field_variance(modes, covariance(modes, prior, noise, placement.points))
    assert placement.expected_error == pytest.approx(expected)


def test_all_candidates_may_be_taken():
    modes, prior, noise = problem(num=20)
    placement = place_sensors(modes, prior, noise, 20, generator=generator())
    assert sorted(placement.points.tolist()) == list(range(20))
    assert placement.expected_error == pytest.approx(placement.random_error)


def test_a_seed_decides_everything():
    modes, prior, noise = problem()
    first, again, other = (
        place_sensors(modes, prior, noise, 5, generator=generator(seed)) for seed in (1, 1, 2)
    )
    assert first.points.tolist() == again.points.tolist() == other.points.tolist()
    assert first.random_error == again.random_error != other.random_error


def test_the_most_informative_sensor_comes_first():
    modes, prior, noise = problem()
    points = place_sensors(modes, prior, noise, 5, generator=generator()).points.tolist()
    for position in range(5):
        rivals = [log_det(modes, prior, noise, [*points[:position], x]) for x in points[position:]]
        assert rivals[0] == pytest.approx(max(rivals))


def test_candidates_at_one_place_are_taken_once_while_others_tell_more():
    modes, prior, noise = problem(num=6, noise=(1e-8, 1e-8))
    placement = place_sensors(modes.repeat(3, 1), prior, noise, 3, generator=generator())
    assert len({point % 6 for point in placement.points.tolist()}) == 3
    crowd = place_sensors(modes.repeat(3, 1), prior, noise, 18, generator=generator())
    assert len(set(crowd.points.tolist())) == 18


def test_a_channel_of_infinite_noise_is_not_observed():
    """Same choice and same error as when only the marginal of the other channel existed."""
    modes, prior, _ = problem(noise=(0.1, 0.1))
    deaf = torch.tensor([0.1, torch.inf], dtype=torch.float64)
    both = place_sensors(modes, prior, deaf, 4, generator=generator())
    own = LatentPrior(prior.mean[:DIM], prior.factor[:DIM])
    alone = place_sensors(modes, own, deaf[:1], 4, generator=generator())
    assert both.points.tolist() == alone.points.tolist()
    # The other channel is known as far as the prior ties it to this one.
    expected = field_variance(modes, covariance(modes, prior, deaf, both.points))
    assert both.expected_error == pytest.approx(expected)


def test_the_units_of_a_channel_do_not_matter():
    modes, prior, noise = problem()
    scale = torch.tensor([1.0, 1e3], dtype=torch.float64).repeat_interleave(DIM)
    scaled = LatentPrior(scale * prior.mean, scale[:, None] * prior.factor)
    usual = place_sensors(modes, prior, noise, 5, generator=generator())
    rescaled = place_sensors(
        modes, scaled, noise * torch.tensor([1.0, 1e6]), 5, generator=generator()
    )
    assert usual.points.tolist() == rescaled.points.tolist()


def test_the_gauge_of_the_latents_does_not_matter():
    """z -> T z with J₀ -> J₀ T⁻¹ is the same decoder."""
    modes, prior, noise = problem()
    turn = torch.randn(DIM, DIM, dtype=torch.float64, generator=generator(9))
    both = torch.block_diag(turn, turn)
    turned = LatentPrior(both @ prior.mean, both @ prior.factor)
    usual = place_sensors(modes, prior, noise, 5, generator=generator())
    other = place_sensors(modes @ torch.linalg.inv(turn), turned, noise, 5, generator=generator())
    assert usual.points.tolist() == other.points.tolist()
    assert usual.expected_error == pytest.approx(other.expected_error)


def test_directions_without_prior_variance_do_not_count():
    """A state that lives in a subspace is placed as its coordinates there would be."""
    modes, prior, noise = problem(num=40, noise=(1e-3,), dim=6)
    factor = prior.factor.clone()
    factor[:, 2:] = 0.0
    placement = place_sensors(
        modes, LatentPrior(prior.mean, factor), noise, 5, generator=generator()
    )
    inner = LatentPrior(prior.mean[:2], torch.eye(2, dtype=torch.float64))
    expected = place_sensors(modes @ factor[:, :2], inner, noise, 5, generator=generator())
    assert placement.points.tolist() == expected.points.tolist()
    assert placement.expected_error == pytest.approx(expected.expected_error)


def test_a_prior_without_any_variance_needs_no_sensors():
    modes, prior, noise = problem()
    certain = LatentPrior(prior.mean, torch.zeros_like(prior.factor))
    placement = place_sensors(modes, certain, noise, 3, generator=generator())
    assert len(set(placement.points.tolist())) == 3
    assert placement.expected_error == placement.random_error == placement.prior_error == 0


@pytest.mark.parametrize("count", [0, -1, 31])
def test_a_number_of_sensors_that_does_not_fit_is_refused(count):
    modes, prior, noise = problem()
    with pytest.raises(SettingsError, match=f"from 1 to 30, .* got {count}; "):
        place_sensors(modes, prior, noise, count, generator=generator())


def test_nowhere_to_stand_is_refused():
    modes, prior, noise = problem()
    nowhere = torch.zeros(30, dtype=torch.bool)
    with pytest.raises(SettingsError, match="allow more candidates"):
        place_sensors(modes, prior, noise, 1, allowed=nowhere, generator=generator())


@pytest.mark.parametrize("noise", [(0.0, 1.0), (-1.0, 1.0), (np.nan, 1.0), (np.inf, np.inf)])
def test_noise_that_is_none_is_refused(noise):
    modes, prior, _ = problem()
    with pytest.raises(SettingsError, match="noise variances above 0"):
        place_sensors(modes, prior, torch.tensor(noise), 3, generator=generator())


def test_sensors_that_are_watched_over_time_are_judged_by_all_looks():
    """Expected error and c_S against the posterior covariance and the stacked rows, literally."""
    random = torch.Generator().manual_seed(0)
    modes = torch.randn(30, 4, generator=random, dtype=torch.float64)
    factor = torch.randn(8, 8, generator=random, dtype=torch.float64)
    flow = torch.linalg.matrix_exp(0.5 * torch.randn(8, 8, generator=random, dtype=torch.float64))
    flows = torch.stack([torch.eye(8).double(), flow, flow @ flow])
    noise = torch.tensor([0.1, 0.3], dtype=torch.float64)
    prior = LatentPrior(torch.zeros(8, dtype=torch.float64), factor)
    found = place_sensors(modes, prior, noise, 2, flows=flows, generator=random)
    both = torch.block_diag(modes[found.points], modes[found.points])
    rows = torch.cat([both @ each for each in flows])
    deviations = noise.sqrt().repeat_interleave(2).repeat(3)
    whitened = rows / deviations[:, None]
    covariance = torch.linalg.inv(torch.linalg.inv(prior.covariance) + whitened.T @ whitened)
    everywhere = torch.block_diag(modes, modes)
    errors = [
        ((everywhere @ each) @ covariance * (everywhere @ each)).sum(1).mean() for each in flows
    ]
    assert found.expected_error == pytest.approx(float(sum(errors)) / 3, rel=1e-9)
    assert found.observability == pytest.approx(float(torch.linalg.svdvals(rows)[-1]), rel=1e-9)
    alone = place_sensors(modes, prior, noise, 2, generator=random)
    assert alone.observability == 0.0
