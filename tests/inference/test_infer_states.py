"""Every snapshot gets its own state, wherever its block puts it."""

import math

import pytest
import torch

from smore.data import Block
from smore.decoder import FilterNetwork
from smore.errors import SettingsError
from smore.inference import FIT_METHODS, LatentPrior, adam, infer_states, normal_equations
from smore.inference.cautions import cautions

CHANNELS, DIM = 2, 3
NOISE = torch.tensor([0.1, 0.2], dtype=torch.float64)


@pytest.fixture
def decoder():
    return FilterNetwork(2, DIM, 8, 1, generator=torch.Generator().manual_seed(0)).double()


@pytest.fixture
def prior():
    generator = torch.Generator().manual_seed(1)
    size = CHANNELS * DIM
    return LatentPrior(
        torch.randn(size, dtype=torch.float64, generator=generator),
        torch.randn(size, size, dtype=torch.float64, generator=generator),
    )


def block(snapshots, num_points, masked, seed):
    generator = torch.Generator().manual_seed(seed)
    columns = (num_points, len(snapshots) * CHANNELS)
    return Block(
        coords=torch.rand(num_points, 2, dtype=torch.float64, generator=generator),
        weights=torch.ones(num_points, dtype=torch.float64),
        values=torch.randn(columns, dtype=torch.float64, generator=generator),
        snapshots=torch.tensor(snapshots),
        num_channels=CHANNELS,
    ).with_mask(torch.rand(columns, generator=generator) < 0.7 if masked else None)


def alone(data, position):
    """The block of a single snapshot."""
    columns = slice(position * CHANNELS, (position + 1) * CHANNELS)
    observed = None if data.observed is None else data.observed[:, columns]
    return Block(
        data.coords,
        data.weights,
        data.values[:, columns],
        torch.tensor([0]),
        CHANNELS,
    ).with_mask(observed)


@pytest.mark.parametrize("method", ["posterior", "least-squares"])
def test_a_snapshot_among_others_is_inferred_as_if_alone(decoder, prior, method):
    blocks = [block([4, 0, 2], 9, False, 2), block([3, 1], 12, True, 3)]
    times = torch.arange(5.0)
    together = infer_states(
        normal_equations(decoder, blocks), times, method=method, priors=[prior], noise=NOISE
    )
    assert torch.equal(together.times, times)
    for data in blocks:
        for position, snapshot in enumerate(data.snapshots.tolist()):
            single = infer_states(
                normal_equations(decoder, [alone(data, position)]),
                times[:1],
                method=method,
                priors=[prior],
                noise=NOISE,
            )
            torch.testing.assert_close(together.mean[snapshot], single.mean[0])
            torch.testing.assert_close(together.flat[snapshot], single.mean.flatten())
            torch.testing.assert_close(together.residual[snapshot], single.residual[0])
            assert together.num_values[snapshot] == single.num_values[0]
            if method == "posterior":
                torch.testing.assert_close(together.covariance[snapshot], single.covariance[0])


def test_diagnostics_are_those_of_the_observed_values(decoder, prior):
    data = block([0, 1], 9, True, 4)
    data.observed[:, 3] = False  # the second channel of the second snapshot
    state = infer_states(
        normal_equations(decoder, [data]), torch.zeros(2), priors=[prior], noise=NOISE
    )
    fields = decoder.basis(data.coords).decode(state.mean.flatten(0, 1)).detach()
    for column in range(4):
        seen = [point for point in range(9) if data.observed[point, column]]
        errors = [float(fields[column, point] - data.values[point, column]) ** 2 for point in seen]
        misfit = float(state.residual[column // CHANNELS, column % CHANNELS])
        if seen:
            assert misfit == pytest.approx(sum(errors) / len(seen))
        else:
            assert math.isnan(misfit)
    assert state.num_values.tolist() == [
        int(data.observed[:, :2].sum()),
        int(data.observed[:, 2:].sum()),
    ]


@pytest.mark.parametrize("masked", [False, True])
def test_standard_deviations_are_roots_of_the_diagonal(decoder, prior, masked):
    data = block([1, 0], 9, masked, 5)
    state = infer_states(
        normal_equations(decoder, [data]), torch.zeros(2), priors=[prior], noise=NOISE
    )
    assert state.standard_deviation.shape == state.mean.shape
    covariance = state.covariance.expand(2, -1, -1)
    for number in range(2):
        for entry in range(CHANNELS * DIM):
            deviation = state.standard_deviation[number].flatten()[entry]
            assert float(deviation) == pytest.approx(math.sqrt(covariance[number, entry, entry]))


@pytest.mark.parametrize("method", ["least-squares", "adam"])
def test_only_the_posterior_claims_an_uncertainty(decoder, method):
    state = infer_states(
        normal_equations(decoder, [block([0], 9, False, 6)]), torch.zeros(1), method=method
    )
    assert state.covariance is None
    assert state.standard_deviation is None


def test_an_unknown_method_lists_the_known_ones(decoder):
    with pytest.raises(SettingsError, match=", ".join(FIT_METHODS)):
        infer_states(
            normal_equations(decoder, [block([0], 9, False, 7)]), torch.zeros(1), method="kriging"
        )


def test_of_several_priors_each_snapshot_has_the_likeliest(decoder, prior):
    """One prior is right about the first snapshot, the other about the second."""
    data = block([0, 1], 9, False, 8)
    equations = normal_equations(decoder, [data])
    exact = infer_states(equations, torch.zeros(2), method="least-squares").flat
    narrow = 1e-2 * torch.eye(CHANNELS * DIM, dtype=torch.float64)
    priors = [LatentPrior(each, narrow) for each in exact]
    both = infer_states(equations, torch.zeros(2), priors=priors, noise=NOISE)
    for number, own in enumerate(priors):
        alone = infer_states(equations, torch.zeros(2), priors=[own], noise=NOISE)
        torch.testing.assert_close(both.mean[number], alone.mean[number])
        torch.testing.assert_close(both.covariance_of(number), alone.covariance_of(number))
        torch.testing.assert_close(both.prior_share[number], alone.prior_share[number])


@pytest.mark.parametrize(("num_points", "rests"), [(1, True), (400, False)])
def test_a_state_that_was_hardly_observed_says_so(decoder, num_points, rests):
    prior = LatentPrior(*(f(CHANNELS * DIM, dtype=torch.float64) for f in (torch.zeros, torch.eye)))
    data = block([0], num_points, False, 9)
    data.values.copy_(decoder.basis(data.coords).offset.detach()[:, None].expand_as(data.values))
    state = infer_states(
        normal_equations(decoder, [data]), torch.zeros(1), priors=[prior], noise=1e-6 * NOISE
    )
    assert bool(state.rests_on_prior[0]) is rests
    told = cautions(state, ["u", "v"])
    assert bool(told) is rests
    if rests:
        assert f"{CHANNELS * num_points} observed values" in told[0]
        assert f"of {CHANNELS * DIM} latent directions" in told[0]


def test_adam_takes_the_papers_thousand_steps_of_a_hundredth_unless_told(decoder):
    equations = normal_equations(decoder, [block([0, 1], 9, True, 10)])
    equations[0].gram.mul_(1e-3)  # so flat that every step still pays
    found = infer_states(equations, torch.zeros(2), method="adam")
    assert torch.equal(found.mean, adam(equations[0], 1000, 1e-2))
    assert not torch.equal(found.mean, adam(equations[0], 1001, 1e-2))
    fewer = infer_states(equations, torch.zeros(2), method="adam", num_steps=3, rate=0.1)
    assert torch.equal(fewer.mean, adam(equations[0], 3, 0.1))


def test_snapshots_of_one_block_find_their_rows_in_any_order(decoder, prior):
    """With gaps of their own; two priors, so that each may have another one."""
    priors = [prior, LatentPrior(prior.mean, 0.5 * prior.factor)]

    def inferred(data, num):
        equations = normal_equations(decoder, [data])
        return infer_states(equations, torch.zeros(num), priors=priors, noise=NOISE)

    data = block([2, 0, 1], 5, True, 5)
    together = inferred(data, 3)
    for position, snapshot in enumerate([2, 0, 1]):
        single = inferred(alone(data, position), 1)
        for name in ("mean", "determined", "prior_share", "residual", "num_values"):
            found, expected = getattr(together, name)[snapshot], getattr(single, name)[0]
            torch.testing.assert_close(found, expected, msg=name)
        torch.testing.assert_close(together.covariance_of(snapshot), single.covariance_of(0))


def test_states_that_were_observed_alike_share_one_covariance(decoder, prior):
    equations = normal_equations(decoder, [block([0, 1, 2], 9, False, 5)])
    state = infer_states(equations, torch.zeros(3), priors=[prior, prior], noise=NOISE)
    assert state.covariance.shape == (1, CHANNELS * DIM, CHANNELS * DIM)


@pytest.mark.parametrize("masked", [False, True])
def test_the_prior_share_is_the_variance_left_over_the_variance_before(decoder, prior, masked):
    data = block([1, 0], 2, masked, 5)
    state = infer_states(
        normal_equations(decoder, [data]), torch.zeros(2), priors=[prior], noise=NOISE
    )
    for number in range(2):
        left = float(state.covariance_of(number).trace() / prior.covariance.trace())
        assert 0.01 < left < 1
        assert float(state.prior_share[number]) == pytest.approx(left)


def test_a_state_unlike_all_of_training_is_found_where_values_are_many(decoder):
    """In a direction of which the prior is sure; by few values the prior is believed."""
    size = CHANNELS * DIM
    factor = torch.eye(size, dtype=torch.float64)
    factor[0, 0] = 1e-4
    prior = LatentPrior(torch.zeros(size, dtype=torch.float64), factor)
    truth = torch.full((size,), 0.5, dtype=torch.float64)  # 5,000 deviations in the first one
    missed = {}
    for num_points in (2, 40):
        data = block([0], num_points, False, 9)
        basis = decoder.basis(data.coords).detach()
        data.values.copy_(basis.offset[:, None] + basis.modes @ truth.view(CHANNELS, DIM).T)
        equations = normal_equations(decoder, [data])
        state = infer_states(equations, torch.zeros(1), priors=[prior], noise=1e-6 * NOISE)
        missed[num_points] = float((state.flat[0, 0] - truth[0]).abs())
    assert missed[2] > 0.1
    assert missed[40] < 1e-3


@pytest.mark.usefixtures("two_threads")
def test_many_latents_of_many_patterns_are_inferred_with_two_threads():
    """Where LU of several matrices at once fails, or is wrong (pytorch issue 142815)."""
    generator = torch.Generator().manual_seed(5)
    size = 120
    wide = FilterNetwork(2, size, 16, 1, generator=generator).double()
    prior = LatentPrior(
        torch.zeros(CHANNELS * size, dtype=torch.float64),
        torch.eye(CHANNELS * size, dtype=torch.float64),
    )
    data = block(list(range(12)), 30, True, 6)

    def inferred(blocks, count):
        return infer_states(
            normal_equations(wide, blocks),
            torch.arange(float(count)),
            method="posterior",
            priors=[prior],
            noise=NOISE,
        )

    together = inferred([data], 12)
    for position in range(12):
        single = inferred([alone(data, position)], 1)
        torch.testing.assert_close(together.mean[position], single.mean[0])
        torch.testing.assert_close(together.covariance[position], single.covariance[0])
