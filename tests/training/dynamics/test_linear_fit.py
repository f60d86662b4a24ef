"""Closed-form linear dynamics against systems that are known."""

import numpy as np
import pytest
import torch
from scipy.linalg import block_diag, expm

from smore.data import Normalization, Trajectories, fit_coordinate_map, make_blocks
from smore.data.timeline import Timeline
from smore.dynamics import LinearDynamics
from smore.errors import HiddenFrequencyWarning
from smore.training.decoder.compression import compress
from smore.training.dynamics.linear import (
    CrossValidation,
    IrregularTransitions,
    Ridge,
    Rollouts,
    Transitions,
    assign_folds,
    fit_generator,
    hidden_share,
    real_generator,
)
from smore.training.leaving_out.bases import LeftOutBases

STEP = 0.3


def rotation(frequency, damping=0.0):
    return np.array([[-damping, -frequency], [frequency, -damping]])


GENERATORS = {
    "rotations": block_diag(rotation(1.0), rotation(2.5, 0.1)),
    "decay": np.diag([-0.1, -1.0, -3.0]),
    "growth and a constant": np.diag([0.2, 0.0]),
    "not normal": np.array([[-1.0, 30.0], [0.0, -2.0]]),
    "a Jordan block": np.array([[-1.0, 1.0], [0.0, -1.0]]),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_the_generator_of_a_flow_is_found(name):
    generator = GENERATORS[name]
    flow = torch.as_tensor(expm(STEP * generator))
    found, change = real_generator(flow, STEP)
    assert change < 1e-6
    np.testing.assert_allclose(found.numpy(), generator, atol=1e-5 * np.abs(generator).max())


def test_negative_eigenvalues_are_paired_and_the_change_is_told():
    """-0.5 and -0.6 have no real logarithm apart; together they turn half around per step."""
    matrix = torch.diag(torch.tensor([-0.5, -0.6, 0.9], dtype=torch.float64))
    generator, change = real_generator(matrix, STEP)
    flow = expm(STEP * generator.numpy())
    np.testing.assert_allclose(
        np.sort(np.linalg.eigvals(flow).real), [-(0.3**0.5), -(0.3**0.5), 0.9]
    )
    assert 0 < change < 0.1
    assert change == pytest.approx(np.linalg.norm(flow - matrix.numpy()) / matrix.norm().item())


def test_a_lone_negative_eigenvalue_is_made_small():
    matrix = torch.diag(torch.tensor([-0.3, 0.9], dtype=torch.float64))
    generator, change = real_generator(matrix, STEP)
    assert np.isfinite(generator.numpy()).all()
    assert change == pytest.approx(0.3 / np.hypot(0.3, 0.9), rel=1e-3)


def trajectories(matrix, noise=0.0, num_sequences=12, length=8):
    random = np.random.default_rng(0)
    dim = len(matrix)
    states = [random.normal(size=(num_sequences, dim))]
    for _ in range(length - 1):
        states.append(states[-1] @ matrix.T)
    latents = np.stack(states, axis=1)
    latents = latents + noise * random.normal(size=latents.shape)
    data = Trajectories.from_arrays(
        latents[:, :, None, :], np.arange(dim * 2.0).reshape(dim, 2), STEP * np.arange(length)
    )
    return torch.as_tensor(latents), Timeline.of(data)


def cross_validated(latents, timeline, groups):
    folds = assign_folds(groups)
    ridge = CrossValidation(latents, timeline, folds, STEP, None, 0.0).best_ridge()
    return Transitions(latents, timeline, folds).fit(ridge), ridge


def test_a_known_map_is_recovered_from_its_trajectories():
    matrix = expm(STEP * GENERATORS["rotations"])
    latents, timeline = trajectories(matrix)
    found, _ = cross_validated(latents, timeline, torch.arange(12))
    np.testing.assert_allclose(found.numpy(), matrix, atol=1e-7)


def test_the_ridge_helps_where_data_are_few_and_noisy():
    matrix = expm(STEP * block_diag(*[rotation(0.2 * k, 0.05) for k in range(1, 9)]))
    latents, timeline = trajectories(matrix, noise=0.3, num_sequences=5)
    transitions = Transitions(latents, timeline, torch.arange(5))
    found, ridge = cross_validated(latents, timeline, torch.arange(5))
    assert ridge.size > 0
    plain = np.linalg.norm(transitions.fit(Ridge()).numpy() - matrix)
    assert np.linalg.norm(found.numpy() - matrix) < plain


def test_sequences_of_one_trajectory_are_left_out_together():
    groups = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3])
    folds = assign_folds(groups)
    for group in range(4):
        assert len(torch.unique(folds[groups == group])) == 1


def test_refinement_takes_the_bias_of_noise_out_of_the_damping():
    """A one-step fit to noisy states decays too fast; whole rollouts say how fast it really is."""
    truth = block_diag(rotation(0.6, 0.02), rotation(0.9, 0.02))
    latents, timeline = trajectories(expm(STEP * truth), noise=0.3, num_sequences=400, length=20)
    dynamics = LinearDynamics(4).double()
    findings = fit_generator(dynamics, latents, timeline, torch.arange(400))
    assert findings["refinement"] > 0
    transitions = Transitions(latents, timeline, torch.arange(400))
    one_step, _ = real_generator(transitions.fit(Ridge()), STEP)
    refined = np.abs(dynamics.linear.detach().numpy() - truth).max()
    assert refined < 0.3 * np.abs(one_step.numpy() - truth).max()


def test_exact_data_need_no_refinement():
    latents, timeline = trajectories(expm(STEP * GENERATORS["rotations"]))
    dynamics = LinearDynamics(4).double()
    findings = fit_generator(dynamics, latents, timeline, torch.arange(12), unresolved=1e-10)
    assert findings["refinement"] == 0
    np.testing.assert_allclose(dynamics.linear.detach().numpy(), GENERATORS["rotations"], atol=1e-6)


def test_the_rollout_error_is_that_of_a_loop():
    generator = torch.as_tensor(GENERATORS["rotations"])
    latents, timeline = trajectories(np.eye(4), noise=0.5)
    timeline.valid[3, 5:] = False
    expected, count = 0.0, 0
    for sequence, valid in zip(latents.numpy(), timeline.valid.numpy(), strict=True):
        for number in range(1, int(valid.sum())):
            forecast = expm(STEP * number * generator.numpy()) @ sequence[0]
            expected += ((forecast - sequence[number]) ** 2).sum()
            count += 1
    found = float(Rollouts(latents, timeline.valid, STEP).error(generator))
    assert found == pytest.approx(expected / count)


def test_a_frequency_that_the_step_hides_is_warned_of():
    fast = block_diag(rotation(0.95 * np.pi / STEP), rotation(1.0))
    latents, timeline = trajectories(expm(STEP * fast))
    with pytest.warns(HiddenFrequencyWarning, match="smaller steps"):
        fit_generator(LinearDynamics(4).double(), latents, timeline, torch.arange(12))
    share = hidden_share(torch.as_tensor(fast), latents.flatten(0, 1), STEP)
    expected = latents[..., :2].square().sum() / latents.square().sum()
    assert share == pytest.approx(float(expected), rel=1e-6)
    assert hidden_share(torch.as_tensor(GENERATORS["rotations"]), latents.flatten(0, 1), STEP) == 0


def test_irregular_steps_give_the_generator_too():
    truth = block_diag(rotation(0.5, 0.1), rotation(1.0))
    random = np.random.default_rng(0)
    latents, times = [], []
    for _ in range(20):
        instants = np.concatenate([[0.0], np.cumsum(random.uniform(0.1, 0.4, 15))])
        start = random.normal(size=4)
        latents.append(np.stack([expm(t * truth) @ start for t in instants]))
        times.append(instants)
    data = Trajectories.from_arrays(
        [each[:, None, :] for each in latents], np.arange(8.0).reshape(4, 2), times
    )
    timeline = Timeline.of(data)
    assert not timeline.uniform
    found = IrregularTransitions(torch.as_tensor(np.stack(latents)), timeline).fit(0.0)
    np.testing.assert_allclose(found.numpy(), truth, atol=2e-3)


def test_growth_that_is_an_artefact_is_taken_out_and_growth_that_is_real_is_not():
    """Noise makes undamped rotations grow or decay a little; an instability grows for good."""
    dynamics = LinearDynamics(4).double()
    turning = block_diag(rotation(0.6), rotation(0.9))
    latents, timeline = trajectories(expm(STEP * turning), noise=0.05, num_sequences=40)
    findings = fit_generator(dynamics, latents, timeline, torch.arange(40))
    assert findings["stabilised"] == 1
    assert np.linalg.eigvals(dynamics.linear.detach().numpy()).real.max() < 0
    growing = block_diag(rotation(0.6, -0.3), rotation(0.9))
    latents, timeline = trajectories(expm(STEP * growing), noise=0.01, num_sequences=40)
    findings = fit_generator(dynamics, latents, timeline, torch.arange(40))
    assert findings["stabilised"] == 0
    assert findings["cost_of_stability"] > 0.05
    assert findings["fastest_growth"] == pytest.approx(0.3, abs=0.02)
    # A decoder that misses far more than that would not let anyone notice.
    findings = fit_generator(dynamics, latents, timeline, torch.arange(40), unresolved=1e4)
    assert findings["stabilised"] == 1
    fit_generator(dynamics, latents, timeline, torch.arange(40), stabilise="always")
    assert np.linalg.eigvals(dynamics.linear.detach().numpy()).real.max() < 0


def test_a_basis_without_a_trajectory_knows_nothing_of_it():
    """The latents of a fold are those of the best basis of the others, a literal eigenproblem."""
    rng = np.random.default_rng(0)
    fields = rng.normal(size=(6, 5, 2, 30)) * 0.8 ** np.arange(30)
    data = Trajectories.from_arrays(fields, rng.uniform(size=(30, 2)), np.arange(5.0))
    (block,) = make_blocks(
        data, Normalization.fit(data, "none"), fit_coordinate_map(data), dtype=torch.float64
    )
    timeline = Timeline.of(data)
    bases = LeftOutBases(compress(block, 8), timeline, block.num_channels, 8)
    left_out = torch.tensor([False, True, False, False, False, True])
    found = bases.latents(left_out).view(6, 5, 2, 8)
    others = fields[~left_out.numpy()].reshape(-1, 30)
    directions = np.linalg.svd(others, full_matrices=False)[2][:8]
    expected = fields @ directions.T / 30**0.5
    np.testing.assert_allclose(np.abs(found.numpy()), np.abs(expected), atol=1e-4)
