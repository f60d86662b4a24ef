"""The sparse-to-rollout certificate against its formulas in loops, and against actual rollouts."""

import itertools
import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from oracles import theorem_bounds as oracle
from smore.analysis._sparse_bound import (
    RolloutRecursion,
    error_bound_curve,
    estimate_recursion,
    limiting_error,
    sparse_error,
)
from smore.decoder import FilterNetwork
from smore.errors import DataError
from smore.inference.observability import observability

LATENT_DIM = 4


def network(seed=0) -> FilterNetwork:
    generator = torch.Generator().manual_seed(seed)
    return FilterNetwork(2, LATENT_DIM, 10, 2, 20.0, generator).double()


def places(num, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(num, 2, generator=generator, dtype=torch.float64) / 2


def recursion_of(a, b_roll):
    return RolloutRecursion(a, b_roll, 1, 1, 1, "made up", proved=False)


def generator():
    return torch.Generator().manual_seed(7)


@pytest.mark.parametrize("num_channels", [1, 3])
@pytest.mark.parametrize("num_sensors", [1, 3, 4, 5, 20])
def test_observability_is_the_smallest_singular_value_of_the_whole_sensor_jacobian(
    num_sensors, num_channels
):
    sensors = places(num_sensors)
    expected = oracle.observability(network(), sensors.numpy(), num_channels)
    assert observability(network(), sensors) == pytest.approx(expected, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("num_sensors", [0, 1, LATENT_DIM - 1])
def test_fewer_sensors_than_latents_observe_nothing(num_sensors):
    assert observability(network(), places(num_sensors)) == 0.0


def test_sensors_in_one_place_observe_nothing():
    assert observability(network(), places(1).repeat(50, 1)) == 0.0


def test_more_sensors_never_see_less():
    sensors = places(60)
    seen = [observability(network(), sensors[:number]) for number in range(61)]
    assert seen[LATENT_DIM] > 0
    assert all(after >= before * (1 - 1e-12) for before, after in itertools.pairwise(seen))


def test_many_sensors_are_seen_in_pieces():
    sensors = places(10_000)
    with torch.no_grad():
        modes = network().basis(sensors).modes
    expected = torch.linalg.svdvals(modes)[-1].item()
    assert observability(network(), sensors) == pytest.approx(expected, rel=1e-10)


def test_observability_keeps_the_digits_a_gram_matrix_would_lose():
    """A mode 1e-10 times as large as the others has a squared singular value below round-off."""
    decoder = network()
    with torch.no_grad():
        for modulation in decoder.modulations:
            modulation[:, 0] *= 1e-10
    sensors = places(200)
    with torch.no_grad():
        modes = decoder.basis(sensors).modes
        others = torch.linalg.qr(modes[:, 1:]).Q
        mode = modes[:, 0] - others @ (others.T @ modes[:, 0])
    assert observability(decoder, sensors) == pytest.approx(mode.norm().item(), rel=1e-5)


def test_observability_is_found_in_double_precision_whatever_the_decoder_has():
    decoder = network().float()
    sensors = places(30)
    assert observability(decoder, sensors) == observability(decoder.double(), sensors)


@given(*(st.floats(0, 1e6) for _ in range(3)), st.floats(1e-6, 1e6))
def test_sparse_error_of_the_largest_residuals_is_the_papers(beyond, noise, gap, seen):
    expected = oracle.sparse_error(seen, beyond, noise, gap)
    assert sparse_error(seen, beyond + noise + gap, beyond + noise) == pytest.approx(expected)


def test_without_observability_the_error_is_unbounded():
    assert sparse_error(0.0, 0.0, 0.0) == math.inf
    assert sparse_error(0.0, 1.0, 0.1) == math.inf


def test_any_state_is_within_the_sparse_error_of_any_other():
    """However bad the fit, and whichever state is called ideal."""
    sensors, rng = places(12), np.random.default_rng(0)
    with torch.no_grad():
        modes = network().basis(sensors).modes.numpy()
    seen = observability(network(), sensors)
    for _ in range(200):
        ideal, fit, observed = rng.normal(size=4), rng.normal(size=4), rng.normal(size=12)
        misses = [np.linalg.norm(modes @ state - observed) for state in (fit, ideal)]
        distance = np.linalg.norm(fit - ideal)
        assert distance <= sparse_error(seen, *misses)
    # Along the direction that sensors see least, half-way between two states, it is reached.
    weakest = np.linalg.svd(modes)[2][-1]
    misses = np.linalg.norm(modes @ weakest / 2)
    assert sparse_error(seen, misses, misses) == pytest.approx(1.0)


def test_least_squares_recovers_the_state_within_the_sparse_error():
    sensors, rng = places(12), np.random.default_rng(0)
    with torch.no_grad():
        modes = network().basis(sensors).modes.numpy()
    seen = observability(network(), sensors)
    for _ in range(100):
        truth, beyond, noise = rng.normal(size=4), rng.normal(size=12), rng.normal(size=12)
        fit = np.linalg.lstsq(modes, modes @ truth + beyond + noise, rcond=None)[0]
        observed = modes @ truth + beyond + noise
        bound = sparse_error(
            seen, np.linalg.norm(modes @ fit - observed), np.linalg.norm(beyond + noise)
        )
        assert np.linalg.norm(fit - truth) <= bound
        assert bound <= oracle.sparse_error(
            seen, np.linalg.norm(beyond), np.linalg.norm(noise), 0.0
        )


@given(
    st.floats(0, 2) | st.sampled_from([0.0, 1.0, 1 + 1e-16, 1 - 1e-15, 1 + 1e-12]),
    *(st.floats(0, 100) for _ in range(4)),
    st.integers(0, 40),
)
def test_bound_curve_is_its_formula(a, b_roll, e_sparse, decoder_error, lipschitz, num_steps):
    curve = error_bound_curve(
        recursion_of(a, b_roll), e_sparse, decoder_error, lipschitz, num_steps
    )
    expected = [
        oracle.error_bound(a, b_roll, e_sparse, decoder_error, lipschitz, n)
        for n in range(num_steps + 1)
    ]
    np.testing.assert_allclose(curve, expected, rtol=1e-11)


def test_bound_curve_at_a_equal_one_is_a_straight_line():
    curve = error_bound_curve(recursion_of(1.0, 0.25), 2.0, 0.5, 4.0, 1000)
    np.testing.assert_array_equal(curve, 0.5 + 4.0 * (2.0 + 0.25 * np.arange(1001)))


@pytest.mark.parametrize("a", [1e200, math.inf, 10.0])
def test_bound_curve_overflows_quietly(a):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve = error_bound_curve(recursion_of(a, 1.0), 1.0, 0.5, 2.0, 2000)
    assert curve[0] == 2.5
    assert curve[-1] == math.inf
    assert not np.isnan(curve).any()
    assert (np.diff(curve[np.isfinite(curve)]) > 0).all()


def test_bound_curve_without_observability_forgets_only_what_the_map_forgets():
    assert (
        error_bound_curve(recursion_of(0.5, 1.0), math.inf, 0.1, 2.0, 3).tolist() == [math.inf] * 4
    )
    forgetful = error_bound_curve(recursion_of(0.0, 1.0), math.inf, 0.1, 2.0, 3)
    np.testing.assert_array_equal(forgetful, [math.inf, 2.1, 2.1, 2.1])


def test_bound_curve_reaches_the_limiting_error():
    recursion = recursion_of(0.9, 0.3)
    curve = error_bound_curve(recursion, 5.0, 0.2, 3.0, 500)
    limit = limiting_error(recursion, 0.2, 3.0)
    assert limit == pytest.approx(oracle.limiting_error(0.9, 0.3, 0.2, 3.0))
    assert curve[-1] == pytest.approx(limit, rel=1e-12)


@pytest.mark.parametrize("a", [1.0, 1.5, math.inf])
def test_there_is_no_limit_without_contraction(a):
    assert limiting_error(recursion_of(a, 0.1), 0.2, 3.0) == math.inf


MATRICES = {
    "contraction": 0.8 * np.eye(3),
    "rotation": np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]]),
    "non-normal": np.array([[0.5, 10.0, 0.0], [0.0, 0.5, 10.0], [0.0, 0.0, 0.5]]),
    "growth": np.array([[1.1, 0.2, 0.0], [0.0, 1.05, 0.0], [0.3, 0.0, 0.7]]),
    "nothing": np.zeros((3, 3)),
}


def linear_system(name, defect=0.01, num_sequences=5, length=10, seed=0):
    """The matrix, and trajectories of it with a defect in each step."""
    matrix = torch.tensor(MATRICES[name])
    source = torch.Generator().manual_seed(seed)
    noise = torch.randn(num_sequences, length, 3, generator=source, dtype=torch.float64)
    states = [noise[:, 0]]
    for index in range(1, length):
        states.append(states[-1] @ matrix.T + defect * noise[:, index])
    return matrix, torch.stack(states, dim=1)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("as_matrix", [True, False])
@pytest.mark.parametrize("e_sparse", [0.0, 1e-3, 2.0])
def test_bound_curve_dominates_the_errors_of_linear_rollouts(name, as_matrix, e_sparse):
    matrix, ideal = linear_system(name)

    def step(states):
        return states @ matrix.T

    recursion = estimate_recursion(
        matrix if as_matrix else step, ideal, generator(), name="a linear system"
    )
    curve = error_bound_curve(recursion, e_sparse, 0.0, 1.0, ideal.shape[1] - 1)
    directions = torch.randn(5, 3, generator=generator(), dtype=torch.float64)
    state = ideal[:, 0] + e_sparse * directions / directions.norm(dim=1, keepdim=True)
    for n in range(ideal.shape[1]):
        errors = (state - ideal[:, n]).norm(dim=-1)
        assert float(errors.max()) <= curve[n] * (1 + 1e-9) + 1e-12
        state = step(state)


@pytest.mark.parametrize("name", MATRICES)
def test_growth_of_a_matrix_is_its_spectral_norm_and_found_for_its_map_too(name):
    matrix, ideal = linear_system(name)
    spectral = np.linalg.norm(MATRICES[name], 2)
    exact = estimate_recursion(matrix, ideal, generator(), name="x")
    found = estimate_recursion(lambda states: states @ matrix.T, ideal, generator(), name="x")
    assert exact.a == pytest.approx(spectral, rel=1e-12)
    assert found.a == pytest.approx(spectral, rel=1e-3)
    assert found.a <= spectral * (1 + 1e-9)
    assert found.b_roll == pytest.approx(exact.b_roll, rel=1e-9)
    assert exact.b_roll == pytest.approx(
        oracle.largest_defect(lambda states: states @ matrix.T, ideal)
    )


def nonlinear_step(states):
    """A damped pendulum with a large step: contracts here, expands there."""
    angle, speed, slow = states.unbind(-1)
    return torch.stack([angle + 0.5 * speed, 0.9 * speed - torch.sin(angle), 0.5 * slow**2], dim=-1)


def nonlinear_ideal(defect=0.02):
    source = torch.Generator().manual_seed(3)
    noise = torch.randn(6, 8, 3, generator=source, dtype=torch.float64)
    states = [noise[:, 0] * 0.5]
    for index in range(1, 8):
        states.append(nonlinear_step(states[-1]) + defect * noise[:, index])
    return torch.stack(states, dim=1)


@pytest.mark.parametrize("initial_error", [0.0, 0.3])
def test_the_recursion_holds_for_rollouts_on_the_sample(initial_error):
    ideal = nonlinear_ideal()
    recursion = estimate_recursion(
        nonlinear_step, ideal, generator(), name="x", initial_error=initial_error
    )
    random = torch.randn(ideal.shape, generator=generator(), dtype=torch.float64)[:, 0]
    state = ideal[:, 0] + initial_error * random / random.norm(dim=1, keepdim=True)
    for n in range(ideal.shape[1] - 1):
        before = (state - ideal[:, n]).norm(dim=-1)
        state = nonlinear_step(state)
        after = (state - ideal[:, n + 1]).norm(dim=-1)
        assert (after <= (recursion.a * before + recursion.b_roll) * (1 + 1e-12)).all()


def test_growth_is_no_smaller_than_any_random_perturbation_shows():
    ideal = nonlinear_ideal(defect=1e-6)
    recursion = estimate_recursion(nonlinear_step, ideal, generator(), name="x")
    source = torch.Generator().manual_seed(11)
    perturbations = 1e-5 * torch.randn(200, 3, generator=source, dtype=torch.float64)
    assert recursion.a >= oracle.growth(nonlinear_step, ideal, perturbations) * (1 - 1e-3)
    assert recursion.b_roll == pytest.approx(oracle.largest_defect(nonlinear_step, ideal))


def test_growth_of_a_smooth_map_is_the_largest_norm_of_its_jacobian():
    ideal = nonlinear_ideal(defect=0.0)
    recursion = estimate_recursion(nonlinear_step, ideal, generator(), name="x")
    jacobians = torch.func.vmap(torch.func.jacrev(nonlinear_step))(ideal[:, :-1].flatten(0, 1))
    expected = torch.linalg.matrix_norm(jacobians, 2).max().item()
    assert recursion.a == pytest.approx(expected, rel=1e-3)
    assert recursion.b_roll == 0.0


def test_larger_initial_errors_see_more_of_a_nonlinear_map():
    ideal = 0.01 * nonlinear_ideal()
    cubic = [
        estimate_recursion(
            lambda states: 0.5 * states + states**3,
            ideal,
            generator(),
            name="x",
            initial_error=size,
        ).a
        for size in (0.0, 0.5)
    ]
    assert cubic[1] > cubic[0] + 0.05


def test_a_map_that_overflows_has_no_finite_growth():
    ideal = nonlinear_ideal()
    recursion = estimate_recursion(
        lambda states: torch.exp(1000 * states**2), ideal, generator(), name="x"
    )
    assert recursion.a == math.inf
    assert recursion.b_roll == math.inf


def test_single_precision_maps_are_judged_beyond_their_round_off():
    _, ideal = linear_system("rotation", defect=0.0)
    matrix = torch.tensor(MATRICES["rotation"], dtype=torch.float32)
    recursion = estimate_recursion(
        lambda states: states @ matrix.T, ideal.float(), generator(), name="x"
    )
    assert recursion.a == pytest.approx(1.0, rel=1e-2)
    assert recursion.b_roll < 1e-6


def test_states_that_never_move_still_have_a_growth():
    recursion = estimate_recursion(
        lambda states: 2 * states, torch.zeros(2, 3, 4), generator(), name="x"
    )
    assert recursion.a == pytest.approx(2.0)
    assert recursion.b_roll == 0.0


def test_the_recursion_names_its_sample():
    _, ideal = linear_system("contraction")
    recursion = estimate_recursion(0.8 * torch.eye(3).double(), ideal, generator(), name="waves")
    assert recursion.sample == "waves, 5 sequences, steps 1 to 9"
    assert (recursion.num_pairs, recursion.num_sequences, recursion.horizon) == (45, 5, 9)


@pytest.mark.parametrize("shape", [(0, 3, 2), (4, 1, 2), (4, 2)])
def test_trajectories_without_a_step_are_refused(shape):
    with pytest.raises(DataError, match="at least one step"):
        estimate_recursion(torch.eye(2), torch.zeros(shape), generator(), name="x")


def literal_recursion(step, ideal, source, initial_error):
    """a, state by state and turn by turn: errors of free rollouts, and the directions they turn to.

    Perturbations are as large as these errors, but at least 1e-4 of the spread of the states, or
    1e-4 if there is none; a random direction is turned ten times to where it would grow faster.
    """
    random = torch.randn(ideal.shape, generator=source, dtype=torch.float64)
    cases = []
    for sequence, numbers in zip(ideal, random, strict=True):
        state = sequence[0] + initial_error * numbers[0] / numbers[0].norm()
        for index in range(len(sequence) - 1):
            cases.append((sequence[index], state - sequence[index], numbers[index]))
            state = step(state[None])[0]
    mean = sum(state for state, _, _ in cases) / len(cases)
    spread = (
        sum(float((state - mean).square().sum()) for state, _, _ in cases) / len(cases)
    ) ** 0.5
    smallest, largest = 1e-4 * (spread or 1.0), 0.0

    def growth(state, change):
        return float(
            (step((state + change)[None])[0] - step(state[None])[0]).norm() / change.norm()
        )

    for state, error, numbers in cases:
        if error.norm() > smallest:
            largest = max(largest, growth(state, error))
        size = max(float(error.norm()), smallest)
        change = size * numbers / numbers.norm()
        for _ in range(10):
            largest = max(largest, growth(state, change))
            image = step((state + change)[None])[0] - step(state[None])[0]
            jacobian = torch.autograd.functional.jacobian(
                lambda at: step(at[None])[0], state + change
            )
            pull = jacobian.T @ image
            change = size * pull / pull.norm()
    return largest


def one_sided(states):
    """Grows more to the right than to the left."""
    return 0.3 * torch.exp(states)


def slowly_turning(states):
    """Two directions that grow nearly alike: ten turns do not tell them apart."""
    rates = torch.linspace(1.0, 0.9, states.shape[-1], dtype=torch.float64)
    return rates * states + 0.05 * states.flip(-1) ** 2 - 0.02 * states**3


@pytest.mark.parametrize("step", [nonlinear_step, one_sided, slowly_turning])
@pytest.mark.parametrize("initial_error", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(6))
def test_growth_is_that_of_a_literal_search(step, initial_error, seed):
    source = torch.Generator().manual_seed(seed)
    dim = 3 if step is not one_sided else 1
    ideal = 2.0 + torch.randn(1, 2 + seed % 2, dim, generator=source, dtype=torch.float64)
    expected = literal_recursion(step, ideal, generator(), initial_error)
    found = estimate_recursion(step, ideal, generator(), name="x", initial_error=initial_error)
    assert found.a == pytest.approx(expected, rel=1e-9 if initial_error else 1e-6)


def test_growth_of_a_matrix_leaves_room_for_rounding():
    """Four roundings per dimension."""
    ideal = torch.zeros(1, 2, 16).double()
    matrix = torch.diag(torch.tensor([2.0] + 15 * [0.5])).double()
    recursion = estimate_recursion(matrix, ideal, generator(), name="x")
    assert recursion.a == 2 * (1 + 4 * 16 * 2.0**-52)


def test_one_step_is_enough():
    recursion = estimate_recursion(torch.eye(2), torch.zeros(3, 2, 2), generator(), name="x")
    assert recursion.sample == "x, 3 sequences, step 1"
    assert recursion.horizon == 1
    longer = estimate_recursion(torch.eye(2), torch.zeros(3, 3, 2), generator(), name="x")
    assert longer.sample == "x, 3 sequences, steps 1 to 2"
