"""2,000 random systems: no claim that is not deserved, and few refusals of what is stable.

Unstable ones are easy to miss, stable ones easy to refuse. Whatever is claimed is checked against
rollouts of the map it is claimed for.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy.linalg import block_diag, expm

from side_by_side import side_by_side
from smore.dynamics import (
    FullConservative,
    FullQuadratic,
    LatentDynamics,
    LinearDynamics,
    MLPDynamics,
    step_map,
)
from smore.stability.certificate import Certificate
from smore.stability.certify import certify_dynamics
from smore.stability.stepping import Stepping

COUNT = 250


def linear(matrix):
    dynamics = LinearDynamics(len(matrix)).double()
    with torch.no_grad():
        dynamics.linear.copy_(torch.as_tensor(matrix))
    return dynamics


def turn(frequency, growth=0.0):
    return np.array([[growth, -frequency], [frequency, growth]])


def basis(rng, dim, stretch=1.0):
    """A well-conditioned change of coordinates, or a badly conditioned one."""
    left, right = (np.linalg.qr(rng.normal(size=(dim, dim)))[0] for _ in range(2))
    return left @ np.diag(np.exp(stretch * rng.uniform(-1, 1, size=dim))) @ right


def in_coordinates(rng, matrix, stretch=1.0):
    change = basis(rng, len(matrix), stretch)
    return change @ matrix @ np.linalg.inv(change)


def stable_part(rng):
    blocks = [turn(rng.uniform(0.2, 3), -rng.uniform(0.01, 1)) for _ in range(rng.integers(1, 4))]
    return block_diag(*blocks, *(-rng.uniform(0.01, 2, size=(rng.integers(0, 3), 1, 1))))


def states_of(rng, dim, count=20):
    return rng.normal(size=(count, dim))


def certify(dynamics, states, step=0.5, method="exact", substeps=1):
    return certify_dynamics(dynamics, states, Stepping(step, method, substeps))


@dataclass(frozen=True, eq=False)
class Claimed:
    """A certificate, and states whose rollouts must keep its bound."""

    certificate: Certificate
    dynamics: LatentDynamics
    states: np.ndarray
    stepping: Stepping
    num_steps: int = 100

    def check(self, path):
        """Covered ones among paths (states, steps + 1, r) stay below what was stated."""
        covered = self.certificate.covers(self.states)
        bound = self.certificate.bound(
            self.certificate.distance(self.states[covered]), self.num_steps
        )
        distance = self.certificate.distance(path[covered])
        assert (distance <= bound * (1 + 1e-12) + 1e-300).all()


def claim(dynamics, states, step=0.5, method="exact", substeps=1, num_steps=100):
    stepping = Stepping(step, method, substeps)
    return Claimed(
        certify_dynamics(dynamics, states, stepping), dynamics, states, stepping, num_steps
    )


def check_bounds(claims):
    """Rollouts of covered states stay below what was stated, at every step."""
    alike = defaultdict(list)
    for each in claims:
        linear = isinstance(each.dynamics, LinearDynamics)
        alike[each if linear else (each.states.shape, each.stepping, each.num_steps)].append(each)
    for same in alike.values():
        linear = isinstance(same[0].dynamics, LinearDynamics)
        paths = [powers(*same)] if linear else together(same)
        for each, path in zip(same, paths, strict=True):
            each.check(path)


def together(claims):
    states = np.stack([each.states for each in claims])
    first = claims[0]
    systems = [each.dynamics for each in claims]
    return side_by_side(systems, states, first.stepping, first.num_steps)


def powers(claimed):
    """A linear map is a matrix, which takes all states a step further."""
    stepping, dim = claimed.stepping, claimed.dynamics.dim
    steps = torch.full((dim, 1), stepping.step, dtype=torch.float64)
    advance = step_map(claimed.dynamics, steps, method=stepping.method, substeps=stepping.substeps)
    matrix = advance(torch.eye(dim, dtype=torch.float64), 0).detach().numpy()
    path = [claimed.states]
    for _ in range(claimed.num_steps):
        path.append(path[-1] @ matrix)
    return np.stack(path, axis=1)


# Unstable, and easy to miss


def a_tiny_growth_is_not_missed(seed):
    """An eigenvalue with real part 1e-10 of the norm."""
    rng = np.random.default_rng(seed)
    stable = stable_part(rng)
    size = np.linalg.norm(stable, 2)
    growth = 1e-10 * size * rng.uniform(1, 10)
    unstable = block_diag(stable, turn(rng.uniform(0, 3), growth) if seed % 2 else [[growth]])
    matrix = in_coordinates(rng, unstable, stretch=rng.uniform(0, 2))
    certificate = certify(linear(matrix), states_of(rng, len(matrix)))
    assert not certificate.claims.certified
    assert certificate.claims.map_factor is None


def a_defective_eigenvalue_on_the_axis_is_refused(seed):
    """States grow linearly in time although no eigenvalue has a positive real part."""
    rng = np.random.default_rng(seed)
    rotation = turn(rng.uniform(0.2, 3))
    jordan = np.block([[rotation, np.eye(2)], [np.zeros((2, 2)), rotation]])
    unstable = block_diag(jordan if seed % 2 else [[0.0, 1.0], [0.0, 0.0]], stable_part(rng))
    matrix = in_coordinates(rng, unstable, stretch=rng.uniform(0, 1))
    certificate = certify(linear(matrix), states_of(rng, len(matrix)))
    assert not certificate.claims.certified
    assert certificate.claims.map_factor is None


def a_stable_ode_with_an_unstable_step_is_refused(seed):
    rng = np.random.default_rng(seed)
    fast = [[-rng.uniform(2.8, 5)]] if seed % 2 else turn(rng.uniform(2.83, 4), -1e-3)
    matrix = in_coordinates(rng, block_diag(fast, 0.3 * stable_part(rng)), 0.5)
    dynamics, states = linear(matrix), states_of(rng, len(matrix))
    certificate = certify(dynamics, states, step=1.0, method="rk4")
    assert not certificate.claims.certified
    assert "map" in certificate.claims.reason
    certificate = certify(dynamics, states, step=1.0, method="exact")
    assert certificate.claims.certified


def quadratic(rng, dim, defect):
    """A dissipative system whose quadratic term conserves energy up to a defect."""
    skew = rng.normal(size=(dim, dim, dim))
    skew = skew - skew.transpose(1, 0, 2)
    slices = (skew + skew.transpose(0, 2, 1)) / 2 + defect * rng.normal(size=(dim, dim, dim))
    dynamics = FullQuadratic(dim).double()
    with torch.no_grad():
        dynamics.tensor.copy_(torch.as_tensor(slices))
        dynamics.linear.copy_(
            torch.as_tensor(turn_free(rng, dim) - np.diag(rng.uniform(0.5, 2, dim)))
        )
        dynamics.bias.copy_(torch.as_tensor(0.02 * rng.normal(size=dim)))
    return dynamics


def turn_free(rng, dim):
    matrix = rng.normal(size=(dim, dim))
    return (matrix - matrix.T) / 2


def a_cyclic_defect_gets_local_claims_only(seed):
    """Far out the defect wins and states blow up; inside the certified ball they do not."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(2, 6))
    dynamics = quadratic(rng, dim, defect=10 ** rng.uniform(-2, 0))
    near = 0.05 * states_of(rng, dim)
    certificate = certify(dynamics, near, step=0.05, method="rk4", substeps=4)
    claims = certificate.claims
    assert claims.defect > 0
    if claims.map_factor is None:
        assert not claims.certified
        return None
    assert claims.radius is not None
    directions = states_of(rng, dim)
    edge = claims.radius * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    edge = certificate.centre + edge * rng.uniform(0.5, 1, size=(20, 1))
    assert not certificate.covers(certificate.centre + 1.01 * (edge - certificate.centre) * 2).any()
    states = np.concatenate([edge, near])
    return Claimed(certificate, dynamics, states, Stepping(0.05, "rk4", 4))


# Stable, and easy to refuse


def strong_transient_growth_with_a_stable_spectrum(seed):
    rng = np.random.default_rng(seed)
    stable = stable_part(rng)
    above = np.triu(rng.normal(size=stable.shape), 2) * 10 ** rng.uniform(0, 2)
    matrix = in_coordinates(rng, stable + above, stretch=rng.uniform(0, 1))
    return claim(linear(matrix), states_of(rng, len(matrix)))


def marginal_rotations(seed):
    rng = np.random.default_rng(seed)
    turns = block_diag(*(turn(rng.uniform(0.1, 3)) for _ in range(rng.integers(1, 6))))
    matrix = in_coordinates(rng, turns, stretch=rng.uniform(0, 1.5))
    claimed = claim(linear(matrix), states_of(rng, len(matrix)), num_steps=1000)
    assert not claimed.certificate.claims.certified  # rounding may add up for ever
    return claimed


def conservative_terms_of_large_norm(seed):
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(2, 9))
    dynamics = FullConservative(dim, dissipative=True).double()
    with torch.no_grad():
        dynamics.upper.copy_(torch.as_tensor(rng.normal(size=dynamics.upper.shape)))
        dynamics.upper.mul_(10 ** rng.uniform(0, 6))
        dynamics.bias.copy_(torch.as_tensor(rng.normal(size=dim)))
    dynamics.set_linear(torch.as_tensor(rng.normal(size=(dim, dim))), margin=rng.uniform(0.01, 1))
    return claim(dynamics, 10 * states_of(rng, dim), step=1.0, method="strang", substeps=2)


def stable_runge_kutta_maps(seed):
    rng = np.random.default_rng(seed)
    matrix = in_coordinates(rng, stable_part(rng), stretch=rng.uniform(0, 2))
    return claim(linear(matrix), states_of(rng, len(matrix)), step=0.5, method="rk4-38")


UNSTABLE = [
    a_tiny_growth_is_not_missed,
    a_defective_eigenvalue_on_the_axis_is_refused,
    a_stable_ode_with_an_unstable_step_is_refused,
    a_cyclic_defect_gets_local_claims_only,
]
STABLE = {
    strong_transient_growth_with_a_stable_spectrum: "certified",
    marginal_rotations: "bounded",
    conservative_terms_of_large_norm: "certified",
    stable_runge_kutta_maps: "certified",
}


@pytest.mark.parametrize("check", UNSTABLE, ids=lambda check: check.__name__)
def test_no_claim_is_made_that_is_not_deserved(check):
    claims = [check(seed) for seed in range(COUNT)]
    check_bounds(each for each in claims if each is not None)


@pytest.mark.parametrize("build", STABLE, ids=lambda build: build.__name__)
def test_few_stable_systems_are_refused(build):
    claims = [build(seed) for seed in range(COUNT)]
    check_bounds(claims)
    verdicts = [each.certificate.claims.verdict for each in claims]
    assert np.mean([verdict == STABLE[build] for verdict in verdicts]) >= 0.95


# What a certificate says


def test_the_iterated_matrix_is_the_one_that_is_certified():
    """Spectral radius and stability function of RK4 at the edge of its region."""
    for growth, stable in ((0.999, True), (1.001, False)):
        dynamics = linear(np.array([[-2.785293563405282 * growth]]))  # RK4's real stability limit
        certificate = certify(dynamics, np.ones((1, 1)), step=1.0, method="rk4")
        assert certificate.claims.certified == stable


def test_bounds_are_sums_of_geometric_series():
    rng = np.random.default_rng(0)
    dynamics = FullConservative(3, dissipative=True).double()
    dynamics.set_linear(torch.as_tensor(turn_free(rng, 3)), margin=0.2)
    with torch.no_grad():
        dynamics.bias.fill_(0.3)
    certificate = certify(dynamics, np.ones((1, 3)), step=0.5, method="strang")
    claims = certificate.claims
    expected = [2.0]
    for _ in range(50):
        expected.append(claims.map_factor * expected[-1] + claims.map_forcing)
    np.testing.assert_allclose(certificate.bound(2.0, 50), expected)
    limit = claims.map_forcing / (1 - claims.map_factor)
    assert 0 < limit < float(dynamics.bias.detach().norm()) / 0.2  # a turning state is pushed less
    assert claims.margin == pytest.approx(0.2)


def test_without_rotation_states_end_within_forcing_over_margin():
    dynamics = FullConservative(3, dissipative=True).double()
    dynamics.set_linear(torch.zeros(3, 3, dtype=torch.float64), margin=0.2)
    with torch.no_grad():
        dynamics.bias.fill_(0.3)
    claims = certify(dynamics, np.ones((1, 3)), step=0.5, method="strang", substeps=3).claims
    limit = claims.map_forcing / (1 - claims.map_factor)
    assert limit == pytest.approx(0.3 * 3**0.5 / 0.2, rel=1e-9)


def test_runge_kutta_on_a_conservative_system_is_certified_only_with_enough_substeps():
    """A certified ODE whose map overflows: the case that PAPER_FACTS warns of."""
    rng = np.random.default_rng(1)
    dynamics = FullConservative(6, dissipative=True).double()
    with torch.no_grad():
        dynamics.upper.copy_(torch.as_tensor(rng.normal(size=dynamics.upper.shape)))
        dynamics.bias.fill_(0.1)
    dynamics.set_linear(torch.as_tensor(turn_free(rng, 6)), margin=0.5)
    states = 2 * states_of(rng, 6)
    coarse = certify(dynamics, states, step=0.25, method="rk4", substeps=1)
    assert not coarse.claims.certified
    assert "substeps would" in coarse.claims.reason
    needed = int(coarse.claims.reason.split("; ")[1].split()[0])
    fine = claim(dynamics, states, step=0.25, method="rk4", substeps=needed, num_steps=20)
    assert fine.certificate.claims.certified
    check_bounds([fine])
    assert not certify(
        dynamics, states, step=0.25, method="rk4", substeps=needed - 1
    ).claims.certified


def test_a_centre_away_from_zero_is_found():
    """Lorenz 1963 makes energy about zero and loses it about (0, 0, rho + sigma)."""
    sigma, rho, beta = 10.0, 28.0, 8.0 / 3.0
    dynamics = FullQuadratic(3).double()
    with torch.no_grad():
        dynamics.tensor.zero_()
        dynamics.tensor[1, 0, 2] = -1.0
        dynamics.tensor[2, 0, 1] = 1.0
        dynamics.linear.copy_(
            torch.tensor([[-sigma, sigma, 0], [rho, -1, 0], [0, 0, -beta]], dtype=torch.float64)
        )
        dynamics.bias.zero_()
    states = 20 * np.random.default_rng(0).normal(size=(50, 3)) + [0, 0, 25]
    claims = certify(dynamics, states, step=0.01, method="rk4", substeps=4).claims
    assert claims.margin is None or claims.margin > 0
    names = {condition.name: condition for condition in claims.conditions}
    assert names["the linear part loses energy"].holds
    assert names["the linear part loses energy"].value <= 1.0 + 1e-6


def test_dynamics_without_theory_get_none():
    certificate = certify(MLPDynamics(3, 4).double(), np.ones((2, 3)), method="rk4")
    assert not certificate.claims.certified
    assert np.isinf(certificate.bound(1.0, 3)).all()
    assert "NOT CERTIFIED" in certificate.text()


def test_growth_in_time_is_that_of_the_exponential():
    """The claim about the ODE, against the exponential itself."""
    rng = np.random.default_rng(3)
    matrix = in_coordinates(rng, stable_part(rng))
    certificate = certify(linear(matrix), states_of(rng, len(matrix)))
    state = rng.normal(size=len(matrix))
    start = certificate.distance(state)
    for time in (0.1, 1.0, 10.0):
        later = certificate.distance(expm(time * matrix) @ state)
        assert later <= np.exp(-certificate.claims.margin * time) * start * (1 + 1e-9)
