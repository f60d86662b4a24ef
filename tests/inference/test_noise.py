"""The noise that inference assumes, against its definition written out per snapshot."""

import pytest
import torch

from smore.data import Block
from smore.decoder import FilterNetwork
from smore.inference import (
    estimate_noise,
    least_squares,
    noise_variance,
    normal_equations,
)

SNAPSHOTS, CHANNELS, DIM, POINTS = 40, 2, 4, 60


def decoder():
    return FilterNetwork(1, DIM, 16, 2, generator=torch.Generator().manual_seed(0)).double()


def problem(residual, masked=False):
    """Codes, and a block of fields that miss what they decode to by `residual`."""
    generator = torch.Generator().manual_seed(1)
    coords = torch.rand(POINTS, 1, dtype=torch.float64, generator=generator)
    latents = torch.randn(SNAPSHOTS, CHANNELS, DIM, dtype=torch.float64, generator=generator)
    decoded = decoder().basis(coords).decode(latents.flatten(0, 1)).T.detach()
    missed = residual(decoded.shape, coords, generator)
    observed = torch.rand(decoded.shape, generator=generator) < 0.5 if masked else None
    return latents, Block(
        coords, torch.ones(POINTS), decoded + missed, torch.arange(SNAPSHOTS), CHANNELS
    ).with_mask(observed)


def white(shape, _, generator):
    deviation = torch.tensor([0.1, 0.3], dtype=torch.float64).repeat(SNAPSHOTS)
    return deviation * torch.randn(shape, dtype=torch.float64, generator=generator)


def smooth(shape, coords, generator):
    """A mode of the decoder, as if a code had been missed by a little."""
    missed = torch.randn(shape[1], dtype=torch.float64, generator=generator)
    return decoder().basis(coords).modes.detach()[:, :1] * missed


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("residual", [white, smooth])
def test_the_larger_of_mean_square_and_projected_energy(masked, residual):
    latents, block = problem(residual, masked)
    found = noise_variance(normal_equations(decoder(), [block]), latents)
    modes = decoder().basis(block.coords).detach()
    for channel in range(CHANNELS):
        squares = entries = energy = seen = 0.0
        for snapshot in range(SNAPSHOTS):
            column = snapshot * CHANNELS + channel
            rows = slice(None) if block.observed is None else block.observed[:, column]
            design = modes.modes[rows]
            error = block.values[rows, column] - modes.decode(latents[snapshot, channel])[rows]
            projection = design @ torch.linalg.pinv(design) @ error
            squares += float(error @ error)
            entries += len(error)
            energy += float(projection @ projection)
            seen += int(torch.linalg.matrix_rank(design))
        assert float(found[channel]) == pytest.approx(max(squares / entries, energy / seen))


def test_white_noise_is_recovered():
    latents, block = problem(white)
    found = noise_variance(normal_equations(decoder(), [block]), latents)
    assert found.tolist() == pytest.approx([0.1**2, 0.3**2], rel=0.25)


def test_errors_that_repeat_from_point_to_point_count_for_more():
    """All of such a residual is seen by a fit: its energy is shared by p latents, not N points."""
    latents, block = problem(smooth)
    (equations,) = normal_equations(decoder(), [block])
    mean_square = equations.squared_residual(latents).sum(0) / equations.count.sum(0)
    torch.testing.assert_close(
        noise_variance([equations], latents), mean_square * POINTS / DIM, rtol=1e-6, atol=0
    )


def test_what_no_fit_can_see_is_its_mean_square():
    _, block = problem(white)
    (equations,) = normal_equations(decoder(), [block])
    fitted = least_squares(equations)
    mean_square = equations.squared_residual(fitted).sum(0) / equations.count.sum(0)
    torch.testing.assert_close(noise_variance([equations], fitted), mean_square)


def test_several_blocks_are_one_sample():
    latents, block = problem(white)
    columns = 2 * CHANNELS
    parts = [
        Block(
            block.coords,
            block.weights,
            block.values[:, CHANNELS * start : CHANNELS * start + columns],
            torch.tensor([start, start + 1]),
            CHANNELS,
        )
        for start in range(0, SNAPSHOTS, 2)
    ]
    torch.testing.assert_close(
        noise_variance(normal_equations(decoder(), parts), latents),
        noise_variance(normal_equations(decoder(), [block]), latents),
    )


def observed_with(deviations, num_points=POINTS, masked=False):
    """Normal equations of decoded fields with white noise of known deviation per channel."""
    deviations = torch.tensor(deviations, dtype=torch.float64).repeat(SNAPSHOTS)

    def noise(shape, _, generator):
        return deviations * torch.randn(shape, dtype=torch.float64, generator=generator)

    _, block = problem(noise, masked)
    if num_points < POINTS:
        few = torch.zeros(block.values.shape, dtype=torch.bool)
        few[:num_points] = True
        block = block.with_mask(few)
    return normal_equations(decoder(), [block])


@pytest.mark.parametrize("masked", [False, True])
def test_the_noise_of_instruments_is_found_per_channel(masked):
    least = torch.full((CHANNELS,), 1e-10, dtype=torch.float64)
    found, told = estimate_noise(observed_with([0.1, 0.02], masked=masked), least, least)
    assert told.all()
    torch.testing.assert_close(found.sqrt(), torch.tensor([0.1, 0.02]).double(), rtol=0.1, atol=0)


def test_without_values_to_spare_no_noise_is_seen():
    """DIM values determine DIM latents: what is left over says nothing."""
    least = torch.tensor([1e-3, 1e-4], dtype=torch.float64)
    for num_points in (1, DIM, DIM + 1):
        equations = observed_with([0.5, 0.5], num_points)
        found, told = estimate_noise(equations, least, 2 * least)
        assert torch.equal(found, 2 * least)
        assert not told.any()


def test_the_noise_is_never_below_the_decoders_own_scatter():
    least = torch.tensor([0.5, 0.25], dtype=torch.float64)
    found, _ = estimate_noise(observed_with([0.01, 0.0]), least, 2 * least)
    assert torch.equal(found, least)


def told_from(num_points, num_snapshots):
    """Whether the noise is seen in so many values of so many snapshots."""
    (equations,) = observed_with([0.5, 0.5], num_points)
    least = torch.full((CHANNELS,), 1e-10, dtype=torch.float64)
    _, told = estimate_noise([equations.select(torch.arange(num_snapshots))], least, least)
    return told.tolist()


def test_twenty_spare_values_tell_the_noise_and_no_fewer():
    assert told_from(DIM + 20, 1) == [True, True]
    assert told_from(DIM + 19, 1) == [False, False]


def test_only_snapshots_with_half_as_many_values_again_as_latents_tell_it():
    """Six values of four latents: two to spare, in ten snapshots twenty."""
    assert told_from(6, 10) == [True, True]
    assert told_from(6, 9) == [False, False]
    assert told_from(5, SNAPSHOTS) == [False, False]


def test_the_estimate_divides_by_the_values_that_are_to_spare():
    (equations,) = observed_with([0.1, 0.02], masked=True)
    least = torch.full((CHANNELS,), 1e-10, dtype=torch.float64)
    found, _ = estimate_noise([equations], least, least)
    left = equations.squared_residual(least_squares(equations)).sum(0)
    torch.testing.assert_close(found, left / (equations.count - DIM).sum(0))


def test_a_channel_that_was_not_observed_changes_nothing():
    latents, block = problem(smooth, masked=True)
    block.observed[:, 0] = False
    block = block.with_mask(block.observed)
    without = noise_variance(
        [each.select(torch.arange(1, SNAPSHOTS)) for each in normal_equations(decoder(), [block])],
        latents,
    )
    found = noise_variance(normal_equations(decoder(), [block]), latents)
    assert float(found[0]) == pytest.approx(float(without[0]))
    assert found.isfinite().all()


@pytest.mark.parametrize("size", [1e-5, 1e5])
def test_the_size_of_modes_does_not_matter(size):
    """Nor do modes that see nothing: two of four are combinations of the others."""
    latents, block = problem(smooth)
    small, usual = decoder(), decoder()
    with torch.no_grad():
        for network, factor in ((usual, 1.0), (small, size)):
            for modulation in network.modulations:
                modulation[:, 2:] = modulation[:, :2]
                modulation.mul_(factor)
    least = torch.full((CHANNELS,), 1e-10, dtype=torch.float64)
    expected, found = (normal_equations(each, [block]) for each in (usual, small))
    torch.testing.assert_close(
        noise_variance(found, latents / size), noise_variance(expected, latents)
    )
    told, as_before = (estimate_noise(each, least, least)[0] for each in (found, expected))
    torch.testing.assert_close(told, as_before)
    residual = found[0].squared_residual(least_squares(found[0])).sum(0)
    torch.testing.assert_close(told, residual / (SNAPSHOTS * (POINTS - 2)))  # rank two
