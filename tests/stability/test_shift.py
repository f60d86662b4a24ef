"""Shifts against loops, finite differences, a general solver and the Lorenz system."""

import math
import time

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from scipy.special import logsumexp

from oracles import shifted_system as oracle
from oracles.semidefinite import best_shift_sdp
from smore.dynamics import FullConservative, FullQuadratic, LowRankConservative
from smore.errors import DataError
from smore.stability._shift import (
    GAP,
    GAP_OF_MATRIX,
    LARGEST_PROGRAMME,
    Shifted,
    _Barrier,
    _Family,
    _in_ball,
    _resolution,
    _RoundedExcess,
    best_shift,
    improve_radius,
    shifted_system,
)


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def conserving(dim, seed=0):
    """Symmetric slices without cyclic defect."""
    skew = normal(dim, dim, dim, seed=seed) / math.sqrt(dim)
    skew = skew - skew.transpose(0, 1)
    return (skew + skew.mT) / 2


def free(dim, seed=0):
    """Nothing is special about these operators."""
    slices = normal(dim, dim, dim, seed=seed + 1) / dim
    linear = normal(dim, dim, seed=seed + 2) / math.sqrt(dim)
    return normal(dim, seed=seed + 3), linear, (slices + slices.mT) / 2


def conservative(dim, seed=0):
    bias, linear, _ = free(dim, seed)
    return bias, linear, conserving(dim, seed)


def hidden(dim, seed=0, rates=None):
    """A conservative system that decays at `rates` seen from a shift of norm 2, and that shift.

    Equal rates, the default, make every eigenvalue a leading one there.
    """
    bias, linear, slices = conservative(dim, seed)
    centre = normal(dim, seed=seed + 4)
    centre *= 2 / centre.norm()
    rates = 0.5 * torch.ones(dim, dtype=torch.float64) if rates is None else rates
    linear = (linear - linear.T) - torch.diag(rates)
    return (bias, linear - 2 * slices @ centre, slices), centre


def hopeless(dim, seed=0):
    """The first coordinate grows at rate 0.7 from wherever it is seen."""
    bias, linear, slices = conservative(dim, seed)
    slices[0], slices[:, 0], slices[:, :, 0] = 0, 0, 0
    linear[0, 0] = 0.7
    return bias, linear, slices


def skewed(dim, seed=0):
    """Every eigenvalue of W_s is the leading one."""
    bias, linear, slices = conservative(dim, seed)
    return bias, linear - linear.T - torch.eye(dim), slices


def lorenz(sigma=10.0, rho=28.0, beta=8 / 3):
    linear = torch.tensor([[-sigma, sigma, 0], [rho, -1, 0], [0, 0, -beta]], dtype=torch.float64)
    slices = torch.zeros(3, 3, 3, dtype=torch.float64)
    slices[1, 0, 2] = slices[1, 2, 0] = -0.5
    slices[2, 0, 1] = slices[2, 1, 0] = 0.5
    return torch.zeros(3, dtype=torch.float64), linear, slices


def lorenz_shift():
    return torch.tensor([0.0, 0.0, 38.0], dtype=torch.float64)


def zero_of(operators):
    return shifted_system(*operators, torch.zeros_like(operators[0]))


# What a shift does


def test_forcing_and_growth_equal_the_sums_over_all_indices():
    operators, shift = free(6), normal(6, seed=9)
    arrays = [each.numpy() for each in operators]
    shifted = shifted_system(*operators, shift)
    a_s = oracle.symmetric_linear(*arrays[1:], shift.numpy())
    np.testing.assert_allclose(shifted.forcing, oracle.forcing(*arrays, shift.numpy()))
    np.testing.assert_allclose(_Family.of(*operators[1:]).at(shift), a_s)
    assert shifted.growth == pytest.approx(np.linalg.eigvalsh(a_s).max())
    assert shifted.margin == -shifted.growth


@pytest.mark.parametrize("build", [FullQuadratic, FullConservative, LowRankConservative])
def test_shifted_operators_give_the_same_vector_field(build):
    generator = torch.Generator().manual_seed(0)
    extra = (3,) if build is LowRankConservative else ()
    dynamics = build(5, *extra, generator=generator).double()
    with torch.no_grad():
        for parameter in dynamics.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    slices = dynamics.slices(slice(None)).detach()
    shift, offset = normal(5, seed=1), normal(5, seed=2)
    shifted = shifted_system(dynamics.bias, dynamics.linear, slices, shift)
    a = oracle.shifted_linear(dynamics.linear.detach().numpy(), slices.numpy(), shift.numpy())
    moved = shifted.forcing + torch.from_numpy(a) @ offset + slices @ offset @ offset
    torch.testing.assert_close(moved, dynamics(shift + offset).detach())


def test_energy_changes_no_faster_than_forcing_growth_and_defect_allow():
    operators, shift = free(5), normal(5, seed=9)
    bias, linear, slices = operators
    shifted = shifted_system(*operators, shift)
    defect = oracle.energy_defect(slices.numpy())
    for offset in 3 * normal(500, 5, seed=3):
        state, size = shift + offset, offset.norm()
        power = offset @ (bias + linear @ state + slices @ state @ state)
        bound = shifted.forcing.norm() * size + shifted.growth * size**2 + defect * size**3
        assert power <= bound * (1 + 1e-12)


def test_conserving_slices_have_no_cyclic_defect():
    assert oracle.energy_defect(conserving(5).numpy()) < 1e-14
    assert oracle.energy_defect(free(5)[2].numpy()) > 0.1


def test_there_is_no_radius_without_a_margin():
    assert Shifted(torch.zeros(1), torch.zeros(1), growth=0.0).radius == math.inf
    assert Shifted(torch.zeros(1), torch.full((1,), 6.0), growth=-3.0).radius == 2.0


def test_single_precision_operators_that_require_gradients_are_welcome():
    dynamics = FullQuadratic(4, torch.Generator().manual_seed(0))
    slices = dynamics.slices(slice(None))
    found = best_shift(dynamics.bias, dynamics.linear, slices, radius=1.0)
    assert found.shift.dtype == found.forcing.dtype == torch.float64
    assert not found.forcing.requires_grad


# The growth as a function of the shift


@pytest.mark.parametrize("build", [free, conservative])
def test_growth_is_convex_along_segments(build):
    operators = build(6)
    for seed in range(20):
        ends = 3 * normal(2, 6, seed=seed)
        growths = [shifted_system(*operators, end).growth for end in ends]
        for share in (0.1, 0.5, 0.8):
            between = shifted_system(*operators, (1 - share) * ends[0] + share * ends[1]).growth
            assert between <= (1 - share) * growths[0] + share * growths[1] + 1e-12


def test_gradient_of_the_growth_equals_finite_differences():
    _, linear, slices = free(6)
    family, shift = _Family.of(linear, slices), normal(6, seed=9)
    leading = torch.linalg.eigh(family.at(shift)).eigenvectors[:, -1]
    gradient = family.gradient(torch.outer(leading, leading))
    for direction, slope in zip(torch.eye(6, dtype=torch.float64), gradient, strict=True):
        step = 1e-5 * direction
        difference = (family.growth(shift + step) - family.growth(shift - step)) / 2e-5
        assert slope.item() == pytest.approx(difference, rel=1e-6, abs=1e-9)


def test_rounded_excess_is_an_upper_bound_with_the_gradient_of_finite_differences():
    operators, centre = hidden(6)
    reached = shifted_system(*operators, centre)
    objective = _RoundedExcess(*operators, _Family.of(*operators[1:]), reached, rounding=0.1)
    point = (centre + 0.1 * normal(6, seed=9)).numpy()
    value, gradient = objective(point)
    there = shifted_system(*operators, torch.from_numpy(point))
    assert value >= there.forcing.norm().item() + reached.radius * there.growth
    for direction, slope in zip(np.eye(6), gradient, strict=True):
        ahead, behind = (objective(point + sign * 1e-5 * direction)[0] for sign in (1, -1))
        assert slope == pytest.approx((ahead - behind) / 2e-5, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("rounding", [0.1, 1e-3])
def test_kinks_are_rounded_off_over_fractions_of_forcing_and_margin(rounding):
    """√(‖d‖² + ε²) + ρ τ log Σ exp(λ/τ), with ε of the forcing and τ of margin / log(r + 1)."""
    operators, centre = hidden(6)
    bias, linear, slices = (each.numpy() for each in operators)
    reached = shifted_system(*operators, 1.1 * centre)
    assert reached.margin > 0
    assert abs(reached.margin - 1) > 0.1
    assert abs(reached.forcing.norm() - 1) > 0.1
    objective = _RoundedExcess(*operators, _Family.of(*operators[1:]), reached, rounding)
    point = (centre + 0.1 * normal(6, seed=9)).numpy()
    forcing = np.linalg.norm(oracle.forcing(bias, linear, slices, point))
    rates = np.linalg.eigvalsh(oracle.symmetric_linear(linear, slices, point))
    width = rounding * reached.margin / math.log(7)
    growth = width * logsumexp(rates / width)
    rounded = math.hypot(forcing, rounding * float(reached.forcing.norm()))
    assert objective(point)[0] == pytest.approx(rounded + reached.radius * growth, rel=1e-10)


# The barrier


def barrier_at(dim=5, radius=2.0, sharpness=3.0, seed=0):
    """A barrier around a point inside, and s t + barrier as a function of (m, t)."""
    _, linear, slices = free(dim, seed)
    family = _Family.of(linear, slices)
    shift = normal(dim, seed=seed + 20)
    shift *= 0.6 * radius / shift.norm()
    level = family.growth(shift) + 0.7

    def value(point):
        matrix = point[-1] * torch.eye(dim, dtype=torch.float64) - family.at(point[:-1])
        room = radius**2 - point[:-1].square().sum()
        return sharpness * point[-1] - torch.logdet(matrix) - torch.log(room)

    point = torch.cat([shift, torch.tensor([level], dtype=torch.float64)])
    return _Barrier.at(family, shift, level, radius), value, point, sharpness


@pytest.mark.parametrize("seed", range(3))
def test_steps_are_those_of_newton(seed):
    barrier, value, point, sharpness = barrier_at(seed=seed)
    gradient = torch.autograd.functional.jacobian(value, point)
    hessian = torch.autograd.functional.hessian(value, point)
    step, decrement = barrier.newton_step(sharpness)
    expected = -torch.linalg.solve(hessian, gradient)
    torch.testing.assert_close(step, expected, rtol=1e-9, atol=1e-11)
    assert decrement == pytest.approx(math.sqrt(-gradient @ expected))


@pytest.mark.parametrize("length", [1.0, 0.1, 10.0])
@pytest.mark.parametrize("seed", range(6))
def test_line_searches_end_where_the_barrier_is_least(seed, length):
    barrier, value, point, sharpness = barrier_at(seed=seed)
    step = length * barrier.newton_step(sharpness)[0]
    found = barrier.line_search(step, sharpness)
    assert found > 0
    for other in (0.98, 1.02):
        assert value(point + other * found * step) > value(point + found * step)


def test_line_searches_stay_inside_and_go_nowhere_uphill():
    barrier, value, point, sharpness = barrier_at()
    step = barrier.newton_step(sharpness)[0]
    assert barrier.line_search(-step, sharpness) == 0.0
    along = torch.cat([barrier.shift, torch.zeros(1).double()])  # out of the ball
    outward = torch.sign(-torch.autograd.functional.jacobian(value, point) @ along) * along
    length = barrier.line_search(outward, sharpness)
    assert (barrier.shift + length * outward[:-1]).norm() < 2.0


@pytest.mark.parametrize("seed", range(3))
def test_lower_bounds_are_those_of_the_inverse_after_the_step(seed):
    """<Z, W_s> - R ‖(<Z, B_j>)_j‖, Z = X⁻¹ + X⁻¹ D X⁻¹ of trace 1, X = t I - A_s(m)."""
    barrier, _, point, sharpness = barrier_at(seed=seed)
    step, _ = barrier.newton_step(sharpness)
    step = 0.3 * step
    family, eye = barrier.family, torch.eye(5, dtype=torch.float64)
    inverse = torch.linalg.inv(point[-1] * eye - family.at(point[:-1]))
    change = family.at(step[:-1]) - family.constant - step[-1] * eye
    weights = inverse + inverse @ change @ inverse
    weights = weights / weights.trace()
    slope = torch.stack([(weights * each).sum() for each in family.directions]).norm()
    expected = (weights * family.constant).sum() - 2.0 * slope
    assert barrier.lower_bound(step) == pytest.approx(float(expected), rel=1e-9)


def test_a_search_ends_within_a_millionth_or_a_hundred_billionth_of_the_matrix():
    assert (GAP, GAP_OF_MATRIX) == (1e-6, 1e-11)
    matrix = 3.0 * torch.eye(4, dtype=torch.float64)  # of norm 6
    assert _resolution(matrix, 10.0) == pytest.approx(6e-11, abs=0)
    assert _resolution(matrix, 1e6) == pytest.approx(1e-9, abs=0)  # rounding of the largest


# Where the programme would take too long


def test_any_point_is_a_shift_inside_the_ball():
    point = normal(4, seed=1).numpy()
    shift, pulled_back = _in_ball(point, 3.0)
    expected = 3.0 * point / math.sqrt(1 + (point**2).sum())
    np.testing.assert_allclose(shift.numpy(), expected, rtol=1e-12)
    assert _in_ball(1e9 * point, 3.0)[0].norm() == pytest.approx(3.0)
    weights = normal(4, seed=2).numpy()
    found = pulled_back(weights)
    for direction, slope in zip(np.eye(4), found, strict=True):
        ahead, behind = (
            weights @ _in_ball(point + sign * 1e-6 * direction, 3.0)[0].numpy() for sign in (1, -1)
        )
        assert slope == pytest.approx((ahead - behind) / 2e-6, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("build", [free, conservative])
def test_descent_comes_near_the_least_growth(build, unit, monkeypatch):
    bias, linear, slices = build(12)
    operators = (unit * bias, unit * linear, unit * slices)
    least = best_shift(*operators, 3.0)
    gained = zero_of(operators).growth - least.growth
    monkeypatch.setattr("smore.stability._shift.LARGEST_PROGRAMME", 0)
    found = best_shift(*operators, 3.0)
    assert least.growth < found.growth < least.growth + 0.02 * gained


def test_up_to_128_dimensions_the_programme_is_solved(monkeypatch):
    called = []
    for name in ("_least_growth", "_descended_growth"):
        monkeypatch.setattr(
            f"smore.stability._shift.{name}",
            lambda family, *_, name=name: (called.append(name), 0 * family.constant[0])[1],
        )
    for dim in (128, 129):
        zero = torch.zeros(()).double()
        best_shift(zero.expand(dim), torch.eye(dim), zero.expand(dim, dim, dim), 1.0)
    assert called == ["_least_growth", "_descended_growth"]
    assert LARGEST_PROGRAMME == 128


# The best shift


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # to 1e-8 it is, not to 1e-5
@pytest.mark.parametrize("radius", [0.3, 3.0, 100.0])
@pytest.mark.parametrize("dim", [1, 2, 5, 12])
@pytest.mark.parametrize("build", [free, conservative, hopeless, skewed])
def test_best_shift_is_that_of_the_semidefinite_programme(build, dim, radius):
    operators = build(dim)
    found = best_shift(*operators, radius)
    expected = best_shift_sdp(*operators, radius)
    assert found.growth == pytest.approx(expected.growth, rel=1e-5)
    assert found.growth <= zero_of(operators).growth
    assert found.shift.norm() <= radius


@pytest.mark.parametrize("dim", [3, 6, 12, 24])
def test_a_margin_that_only_a_shift_reveals_is_found(dim):
    operators, centre = hidden(dim)
    found = best_shift(*operators, radius=3.0)
    assert zero_of(operators).margin < 0
    assert found.margin == pytest.approx(0.5, rel=1e-5)
    if dim > 3:  # with all eigenvalues leading at the optimum, no other shift is as good
        torch.testing.assert_close(found.shift, centre, rtol=0, atol=1e-4)


def test_a_hidden_margin_outside_the_ball_is_out_of_reach():
    operators, centre = hidden(8)
    near = best_shift(*operators, radius=1.0)
    assert near.shift.norm() == pytest.approx(1.0, rel=1e-4)
    assert near.growth > shifted_system(*operators, centre).growth + 0.1


@pytest.mark.parametrize("dim", [4, 20])
def test_no_margin_is_claimed_where_none_exists(dim):
    found = best_shift(*hopeless(dim), radius=50.0)
    assert found.growth >= 0.7
    assert found.radius == math.inf


def test_equal_rates_that_no_shift_improves_stay_as_they_are():
    found = best_shift(*skewed(10), radius=5.0)
    assert found.growth == pytest.approx(-1.0, rel=1e-12)


@pytest.mark.parametrize("radius", [0.0, 2.0])
def test_linear_dynamics_have_the_growth_of_their_symmetric_part(radius):
    bias, linear, slices = free(5)
    expected = torch.linalg.eigvalsh((linear + linear.T) / 2)[-1].item()
    found = best_shift(bias, linear, 0 * slices, radius)
    assert found.growth == pytest.approx(expected)


def test_dynamics_that_do_nothing_are_no_obstacle():
    found = best_shift(torch.zeros(3), torch.zeros(3, 3), torch.zeros(3, 3, 3), radius=1.0)
    assert found.growth == 0.0
    assert found.shift.norm() == 0.0


@pytest.mark.parametrize("exponent", [-6, 6])
def test_units_of_time_and_state_do_not_matter(exponent):
    bias, linear, slices = conservative(6)
    expected = best_shift(bias, linear, slices, radius=2.0)
    scale = 10.0**exponent
    faster = best_shift(scale * bias, scale * linear, scale * slices, radius=2.0)
    larger = best_shift(scale * bias, linear, slices / scale, radius=2.0 * scale)
    assert faster.growth == pytest.approx(scale * expected.growth, rel=1e-5)
    assert larger.growth == pytest.approx(expected.growth, rel=1e-5)


@pytest.mark.parametrize("radius", [-1.0, math.inf, math.nan])
def test_a_ball_that_is_none_is_refused(radius):
    with pytest.raises(DataError, match="radius"):
        best_shift(*free(3), radius)


def test_seventy_two_dimensions_take_a_moment():
    rates = torch.linspace(0.2, 3.0, 72, dtype=torch.float64)
    operators, centre = hidden(72, rates=rates)
    started = time.perf_counter()
    found = best_shift(*operators, radius=3.0)
    improved = improve_radius(*operators, found)
    assert time.perf_counter() - started < 30
    assert found.margin >= shifted_system(*operators, centre).margin
    assert improved.radius <= found.radius


# Lorenz 1963


def test_lorenz_has_its_known_absorbing_ball():
    shifted = shifted_system(*lorenz(), lorenz_shift())
    assert shifted.margin == pytest.approx(1.0)
    torch.testing.assert_close(shifted.forcing, torch.tensor([0, 0, -8 / 3 * 38]).double())
    assert shifted.radius == pytest.approx(8 / 3 * 38)


def test_no_shift_of_lorenz_has_more_margin_than_the_known_one():
    """A_s has -1 at (y, y) whatever the shift."""
    found = best_shift(*lorenz(), radius=60.0)
    assert zero_of(lorenz()).margin < 0
    assert found.margin == pytest.approx(1.0, rel=1e-5)


def test_lorenz_trajectories_end_up_in_the_smallest_ball_found():
    bias, linear, slices = lorenz()
    ball = improve_radius(bias, linear, slices, best_shift(bias, linear, slices, radius=60.0))

    def field(_, state):
        state = torch.from_numpy(state)
        return (bias + linear @ state + slices @ state @ state).numpy()

    for start in ([1.0, 1.0, 1.0], [-300.0, 200.0, 400.0], [0.0, 500.0, -500.0]):
        solution = solve_ivp(field, (0.0, 15.0), start, rtol=1e-8, t_eval=np.linspace(8, 15, 500))
        distances = np.linalg.norm(solution.y - ball.shift.numpy()[:, None], axis=0)
        assert distances.max() <= ball.radius


# The smallest radius


def test_radius_of_lorenz_is_no_larger_than_on_the_axis_of_known_shifts():
    operators = lorenz()
    start = shifted_system(*operators, lorenz_shift())
    improved = improve_radius(*operators, start)
    heights = torch.linspace(20.0, 50.0, 3001, dtype=torch.float64)
    radii = [shifted_system(*operators, h * lorenz_shift() / 38).radius for h in heights]
    assert improved.radius < 0.995 * start.radius
    assert improved.radius <= min(radii) * (1 + 1e-4)


@pytest.mark.parametrize("dim", [2, 5, 12])
@pytest.mark.parametrize("seed", range(5))
def test_improving_the_radius_never_makes_it_worse(dim, seed):
    rates = 0.2 + 2 * normal(dim, seed=seed).abs()
    operators, centre = hidden(dim, seed, rates)
    starts = [best_shift(*operators, radius=3.0), shifted_system(*operators, centre)]
    for start in starts:
        improved = improve_radius(*operators, start)
        assert improved.radius <= start.radius
        again = shifted_system(*operators, improved.shift)
        assert again.radius == pytest.approx(improved.radius)


@pytest.mark.parametrize("seed", range(3))
def test_no_small_move_improves_the_radius_further(seed):
    rates = 0.2 + 2 * normal(5, seed=seed).abs()
    operators, centre = hidden(5, seed, rates)
    improved = improve_radius(*operators, shifted_system(*operators, centre))
    for size in (1e-1, 1e-2, 1e-3):
        for direction in normal(300, 5, seed=seed):
            moved = improved.shift + size * direction / direction.norm()
            assert shifted_system(*operators, moved).radius >= improved.radius * (1 - 2e-4)


def test_a_stable_equilibrium_has_no_radius_left():
    bias, linear, slices = conservative(4)
    linear = (linear - linear.T) - 3 * torch.eye(4)
    start = shifted_system(bias, linear, slices, torch.zeros(4))
    improved = improve_radius(bias, linear, slices, start)
    assert start.radius > 0.1
    assert improved.radius < 1e-3 * start.radius


def test_without_a_margin_there_is_nothing_to_improve():
    start = zero_of(lorenz())
    assert improve_radius(*lorenz(), start) is start


def test_a_start_at_an_equilibrium_comes_back():
    _, linear, slices = conservative(4)
    linear = (linear - linear.T) - torch.eye(4)
    start = shifted_system(torch.zeros(4), linear, slices, torch.zeros(4))
    assert improve_radius(torch.zeros(4), linear, slices, start) is start
