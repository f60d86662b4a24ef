"""Errors on left-out trajectories, against fits that really leave them out."""

import numpy as np
import pytest
import torch

from smore.data import Normalization, Pace, Trajectories, fit_coordinate_map, make_blocks
from smore.data.timeline import Timeline
from smore.decoder import Basis, Decoder
from smore.dynamics import LinearDynamics, LowRankQuadratic, step_map
from smore.settings import Settings
from smore.training.decoder.compression import compress
from smore.training.decoder.residual_model import fit_residual_model
from smore.training.dynamics.linear import Ridge, Transitions
from smore.training.leaving_out.bases import LeftOutBases
from smore.training.leaving_out.errors import LeftOutErrors, left_out_errors, model_errors
from smore.training.problem import TrainingProblem

SEQUENCES, LENGTH, POINTS, DIM = 6, 7, 30, 3
LARGEST = 0.5  # decoder coordinate of the end of the mesh


def trajectories(channels=2, sequences=SEQUENCES):
    """Random walks of a few smooth fields, one trajectory per sequence, with some roughness."""
    random = np.random.default_rng(0)
    x = np.linspace(0, 1, POINTS)
    shapes = np.array([np.cos(np.pi * k * x) for k in range(8)]) / (1 + np.arange(8))[:, None]
    walks = random.normal(size=(sequences, LENGTH, channels, 8)).cumsum(axis=1)
    return Trajectories.from_arrays(
        walks @ shapes, times=0.5 * np.arange(LENGTH), coords=x[:, None]
    )


def problem_of(data):
    normalization = Normalization.fit(data, "none")
    return TrainingProblem.of(
        data, normalization, fit_coordinate_map(data), Pace(scale=0.5), dtype=torch.float64
    )


class Fixed(Decoder):
    """Modes given as numbers at the equidistant points of one mesh."""

    coordinate_dim, latent_dim = 1, DIM

    def __init__(self, modes):
        super().__init__()
        self.modes = torch.nn.Parameter(modes)

    def basis(self, coords):
        index = (coords[:, 0] / LARGEST * (len(self.modes) - 1)).round().long()
        return Basis(torch.zeros(len(coords), dtype=coords.dtype), self.modes[index])

    def change_gauge(self, matrix, shift):
        raise AssertionError("nobody asks")


def best_modes(columns):
    """(points, p) of the best basis, of mean square 1."""
    return torch.linalg.svd(columns, full_matrices=False)[0][:, :DIM] * POINTS**0.5


def setting(sequences=SEQUENCES):
    data = trajectories(sequences=sequences)
    problem = problem_of(data)
    block = problem.blocks[0]
    decoder = Fixed(best_modes(block.values))
    bases = LeftOutBases(compress(block, DIM), problem.timeline, block.num_channels, DIM)
    latents = (block.values.T @ decoder.modes.detach() / POINTS).view(-1, 2, DIM)
    return problem, block, decoder, bases, latents


def linear_errors(problem, decoder, bases, latents):
    return left_out_errors(
        problem,
        decoder,
        LinearDynamics(2 * DIM).double(),
        latents,
        Settings(dynamics="koopman"),
        bases=bases,
        left_out=torch.zeros(len(problem.groups), dtype=torch.bool),
        ridge=Ridge(1e-3),
    )


def fitted_without(problem, fields, left_out):
    """SVD basis and ridge regression of all sequences but some: modes, latents and a map."""
    others = [other for other in range(len(fields)) if other not in left_out]
    modes = best_modes(fields[others].flatten(0, 2).T)
    codes = (fields @ modes / POINTS).flatten(2)
    folds = torch.tensor([int(each in left_out) for each in range(len(fields))])
    return modes, codes, Transitions(codes, problem.timeline, folds).fit(Ridge(1e-3), [1])


def test_linear_errors_are_those_of_fits_without_the_trajectory():
    """Field by field: SVD basis and ridge regression of the others, then the step's error."""
    problem, block, decoder, bases, latents = setting()
    found = linear_errors(problem, decoder, bases, latents)
    fields = block.values.T.view(SEQUENCES, LENGTH, 2, POINTS)
    expected = []
    for sequence in range(SEQUENCES):
        modes, codes, matrix = fitted_without(problem, fields, [sequence])
        made = codes[sequence, 1:] - codes[sequence, :-1] @ matrix.T
        missed = made.view(-1, 2, DIM) @ modes.T  # as fields, which any basis can tell
        expected.append((missed @ decoder.modes.detach() / POINTS).flatten(1))
    expected = torch.cat(expected) * (1 - 1 / SEQUENCES) ** 0.5  # the model knows one more
    torch.testing.assert_close(found.steps, expected, rtol=1e-4, atol=1e-5)


def test_how_errors_fall_with_trajectories_is_seen_by_leaving_two_out():
    """A forecast's squared error with seven others over that with six, as a power of the number."""
    count = 8
    problem, block, decoder, bases, latents = setting(count)
    found = linear_errors(problem, decoder, bases, latents)
    fields = block.values.T.view(count, LENGTH, 2, POINTS)

    def error(sequence, left_out):
        _, codes, matrix = fitted_without(problem, fields, left_out)
        state, total = codes[sequence, 0], 0.0
        for truth in codes[sequence, 1:]:
            state = matrix @ state
            total += float((truth - state).square().sum())
        return total

    one = sum(error(each, [each]) for each in range(count))
    two = sum(error(each, [each, (each + 1) % count]) for each in range(count))
    power = np.log(two / one) / np.log(7 / 6)
    assert 0.1 < power < 3  # else this would test nothing
    modes, codes, matrix = fitted_without(problem, fields, [0])
    made = codes[0, 1:] - codes[0, :-1] @ matrix.T
    expected = (made.view(-1, 2, DIM) @ modes.T @ decoder.modes.detach() / POINTS).flatten(1)
    expected *= (7 / 8) ** (power / 2)
    torch.testing.assert_close(found.steps[: LENGTH - 1], expected, rtol=1e-4, atol=1e-5)


def test_the_excess_is_what_left_out_snapshots_miss_more_than_others():
    """Growth of the 90% quantile of |error| over the rms error at its point, squared."""
    _, block, _, bases, _ = setting()
    fields = block.values.T.view(SEQUENCES, LENGTH, 2, POINTS)

    def missed(snapshots, modes):
        return snapshots - snapshots @ modes @ modes.T / POINTS

    inside = missed(fields, best_modes(block.values))
    outside = torch.stack(
        [
            missed(
                fields[sequence],
                best_modes(fields[torch.arange(SEQUENCES) != sequence].flatten(0, 2).T),
            )
            for sequence in range(SEQUENCES)
        ]
    )
    found = bases.excess(torch.arange(SEQUENCES))
    for channel in range(2):
        typical = inside[:, :, channel].square().mean((0, 1)).sqrt()
        sizes = [
            np.quantile((each[:, :, channel] / typical).abs().numpy(), 0.9)
            for each in (outside, inside)
        ]
        assert sizes[0] > sizes[1]
        expected = ((sizes[0] / sizes[1]) ** 2 - 1) * inside[:, :, channel].square().mean()
        assert float(found[channel]) == pytest.approx(float(expected), rel=1e-3)


def test_dynamics_that_left_trajectories_out_are_judged_on_these():
    problem, _, decoder, _, latents = setting()
    dynamics = LowRankQuadratic(2 * DIM, 1).double()
    left_out = torch.arange(SEQUENCES) >= 4
    settings = Settings(dynamics="lrlq")
    found = left_out_errors(
        problem, decoder, dynamics, latents, settings, bases=None, left_out=left_out, ridge=Ridge()
    )
    paths = problem.timeline.gather(latents.flatten(1))[4:]
    advance = step_map(dynamics, problem.timeline.steps[4:], method="rk4-38")
    with torch.no_grad():
        expected = torch.stack(
            [paths[:, k + 1] - advance(paths[:, k], k) for k in range(LENGTH - 1)], dim=1
        )
    torch.testing.assert_close(found.steps, expected.flatten(0, 1))
    assert torch.equal(found.excess, torch.zeros(2, dtype=torch.float64))


def test_an_error_of_the_generator_is_seen_to_go_on():
    """Dynamics that turn too slowly make, at every step, the last error moved on by one step."""
    turn, slow = ([[0.0, -w], [w, 0.0]] for w in (1.0, 0.97))
    truth, dynamics = LinearDynamics(2).double(), LinearDynamics(2).double()
    with torch.no_grad():
        truth.linear.copy_(torch.tensor(turn))
        dynamics.linear.copy_(torch.tensor(slow))
        steps = torch.full((5, 9), 0.3, dtype=torch.float64)
        states = [torch.randn(5, 2, dtype=torch.float64)]
        for _ in range(9):
            states.append(step_map(truth, steps, method="exact")(states[-1], 0))
    times = torch.nn.functional.pad(steps.cumsum(1), (1, 0))
    everything = torch.ones(5, 10, dtype=torch.bool)
    timeline = Timeline(torch.arange(50).view(5, 10), everything, steps, times)
    settings = Settings(dynamics="koopman", integrator="exact")
    zero = torch.zeros(1, dtype=torch.float64)
    states, each = torch.stack(states, dim=1), torch.arange(5)
    found = model_errors(dynamics, states, timeline, settings, zero, each)
    assert found.step_error(0.3).correlation > 0.99


def test_white_errors_are_seen_to_be_forgotten():
    generator = torch.Generator().manual_seed(0)
    steps = torch.randn(2000, 3, dtype=torch.float64, generator=generator)
    pairs = (steps[:-1], steps[1:])
    origins = torch.arange(2000)
    found = LeftOutErrors(steps, pairs, torch.zeros(1), origins).step_error(1.0)
    assert found.correlation < 0.05
    sizes = steps.square().mean(0)
    torch.testing.assert_close(found.covariance.diagonal(), sizes)
    assert (found.covariance - torch.diag(sizes)).abs().max() < 0.05  # they are independent


def test_floor_and_share_of_the_residual_are_found_again():
    """Residuals of variance floor + share · (variance of the field), and nothing but noise."""
    generator = torch.Generator().manual_seed(1)
    random = {"dtype": torch.float64, "generator": generator}
    data = Trajectories.from_arrays(
        np.zeros((40, LENGTH, 2, 200)),
        times=0.5 * np.arange(LENGTH),
        coords=np.linspace(0, 1, 200)[:, None],
    )
    block = make_blocks(
        data, Normalization.fit(data, "none"), fit_coordinate_map(data), dtype=torch.float64
    )[0]
    decoder = Fixed(torch.randn(200, DIM, **random))
    latents = torch.randn(40 * LENGTH, 2, DIM, **random)
    covariance = torch.eye(DIM, dtype=torch.float64).expand(2, DIM, DIM)
    varies = decoder.modes.detach().square().sum(1)
    floor, share = torch.tensor([0.01, 0.0]).double(), torch.tensor([0.0, 0.002]).double()
    variance = (floor[:, None] + share[:, None] * varies).T.repeat(1, 40 * LENGTH)
    decoded = decoder.modes.detach() @ latents.flatten(0, 1).T
    block.values.copy_(decoded + variance.sqrt() * torch.randn(200, 80 * LENGTH, **random))
    found = fit_residual_model(decoder, [block], latents, covariance, chunk_size=64)
    torch.testing.assert_close(found[0], floor, rtol=0.05, atol=2e-4)
    torch.testing.assert_close(found[1], share, rtol=0.05, atol=2e-4)
