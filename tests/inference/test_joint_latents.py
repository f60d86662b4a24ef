"""One code for all channels: against the same problems with everything in one long vector."""

import itertools

import pytest
import torch

from smore.data import Block
from smore.decoder import FilterNetwork
from smore.inference import (
    LatentPrior,
    estimate_noise,
    least_squares,
    noise_variance,
    normal_equations,
    observabilities,
    place_sensors,
    posterior,
)

CHANNELS, DIM, POINTS, SNAPSHOTS = 2, 3, 12, 5


def decoder_of():
    generator = torch.Generator().manual_seed(0)
    return FilterNetwork(2, DIM, 8, 1, 20.0, generator, num_outputs=CHANNELS).double()


def random(*shape, seed=1):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def block_of(gaps):
    block = Block(
        coords=torch.rand(POINTS, 2, generator=torch.Generator().manual_seed(2)).double() / 2,
        weights=torch.ones(POINTS, dtype=torch.float64),
        values=random(POINTS, SNAPSHOTS * CHANNELS),
        snapshots=torch.arange(SNAPSHOTS),
        num_channels=CHANNELS,
    )
    if not gaps:
        return block
    observed = torch.rand(block.values.shape, generator=torch.Generator().manual_seed(3)) < 0.7
    return block.with_mask(observed)


def literal_rows(decoder, block, snapshot):
    """J (rows, p), u - c₀ (rows,) and channel of every observed value of a snapshot."""
    modes, targets, numbers = [], [], []
    for channel, point in itertools.product(range(CHANNELS), range(POINTS)):
        column = snapshot * CHANNELS + channel
        if block.observed is not None and not block.observed[point, column]:
            continue
        place = torch.cat([block.coords[point], torch.tensor([channel]).double()])
        basis = decoder.basis(place[None]).detach()
        modes.append(basis.modes[0])
        targets.append(block.values[point, column] - basis.offset[0])
        numbers.append(channel)
    return torch.stack(modes), torch.stack(targets), torch.tensor(numbers)


@pytest.fixture(params=[False, True], ids=["whole", "gaps"])
def setting(request):
    decoder, block = decoder_of(), block_of(request.param)
    (equations,) = normal_equations(decoder, [block], chunk_size=4)
    return decoder, block, equations


def test_least_squares_is_that_of_all_rows(setting):
    decoder, block, equations = setting
    codes = least_squares(equations)
    assert codes.shape == (SNAPSHOTS, 1, DIM)
    residual = equations.squared_residual(codes)
    for snapshot in range(SNAPSHOTS):
        modes, target, number = literal_rows(decoder, block, snapshot)
        expected = torch.linalg.lstsq(modes, target[:, None]).solution[:, 0]
        torch.testing.assert_close(codes[snapshot, 0], expected)
        missed = (modes @ expected - target).square()
        for channel in range(CHANNELS):
            torch.testing.assert_close(residual[snapshot, channel], missed[number == channel].sum())
            assert equations.count[snapshot, channel] == (number == channel).sum()


def test_the_posterior_weighs_channels_by_their_noise(setting):
    decoder, block, equations = setting
    noise = torch.tensor([0.3, 2.0], dtype=torch.float64)
    root = random(DIM, DIM, seed=5)
    prior = LatentPrior(random(DIM, seed=6), root)
    found = posterior(equations, prior, noise)
    for snapshot in range(SNAPSHOTS):
        modes, target, number = literal_rows(decoder, block, snapshot)
        precision = modes.T @ (modes / noise[number, None]) + torch.linalg.inv(root @ root.T)
        covariance = torch.linalg.inv(precision)
        pull = modes.T @ (target / noise[number]) + torch.linalg.solve(root @ root.T, prior.mean)
        torch.testing.assert_close(found.mean[snapshot, 0], covariance @ pull)
        own = found.covariance[snapshot if len(found.covariance) > 1 else 0]
        torch.testing.assert_close(own, covariance)
        spread = modes @ root @ root.T @ modes.T + torch.diag(noise[number])
        density = torch.distributions.MultivariateNormal(modes @ prior.mean, spread)
        torch.testing.assert_close(found.log_evidence[snapshot], density.log_prob(target))


def test_the_noise_of_a_channel_is_its_share_of_what_is_left(setting):
    _, _, equations = setting
    codes = least_squares(equations)
    residual, count = equations.squared_residual(codes).sum(0), equations.count.sum(0)
    torch.testing.assert_close(noise_variance([equations], codes), residual / count)
    nothing = torch.zeros(CHANNELS, dtype=torch.float64)
    found, told = estimate_noise([equations], nothing, nothing)
    assert told.all()
    # What is left over, all channels together, has as many degrees of freedom as values less codes.
    free = equations.count * (1 - DIM / equations.count.sum(1, keepdim=True))
    torch.testing.assert_close(found, residual / free.sum(0))
    assert float(free.sum()) == pytest.approx(float(count.sum()) - SNAPSHOTS * DIM)


def test_sensors_of_all_channels_see_the_code_together(setting):
    decoder, block, _ = setting
    found = observabilities(decoder, [block])
    assert found.shape == (SNAPSHOTS, 1)
    for snapshot in range(SNAPSHOTS):
        modes, _, _ = literal_rows(decoder, block, snapshot)
        assert float(found[snapshot]) == pytest.approx(float(torch.linalg.svdvals(modes)[-1]))


def test_placed_sensors_are_the_best_of_all_pairs():
    decoder, block = decoder_of(), block_of(False)
    bases = decoder.channel_bases(block.coords, CHANNELS)
    modes = torch.stack([basis.modes.detach() for basis in bases])
    noise = torch.tensor([0.05, 0.3], dtype=torch.float64)
    root = random(DIM, DIM, seed=7)
    found = place_sensors(
        modes,
        LatentPrior(torch.zeros(DIM).double(), root),
        noise,
        2,
        generator=torch.Generator().manual_seed(0),
    )

    def precision(points):
        rows = modes[:, list(points)]
        seen = torch.einsum("ksi,ksj,k->ij", rows, rows, 1 / noise)
        return torch.linalg.inv(root @ root.T) + seen

    def error(points):
        covariance = torch.linalg.inv(precision(points))
        return float(torch.einsum("kxi,ij,kxj->kx", modes, covariance, modes).mean())

    pairs = itertools.combinations(range(POINTS), 2)
    best = max(pairs, key=lambda pair: float(torch.logdet(precision(pair))))
    assert set(found.points.tolist()) == set(best)
    assert found.expected_error == pytest.approx(error(best))
    assert found.prior_error == pytest.approx(error([]))
    stacked = modes[:, list(best)].flatten(0, 1)
    assert found.observability == pytest.approx(float(torch.linalg.svdvals(stacked)[-1]))
