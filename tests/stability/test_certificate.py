"""What a certificate says, and that its bounds are the recursion they stand for."""

import itertools
import math

import numpy as np
import pytest
from pydantic import ValidationError

from smore.stability.certificate import HEADLINES, Certificate, Claims


def claims(**changes):
    known = {
        "verdict": "certified",
        "reason": "made up",
        "remedy": None,
        "dynamics": "linear dynamics",
        "metric": "the norm",
        "margin": 0.1,
        "forcing": 0.0,
        "defect": 0.0,
        "radius": None,
        "condition": 1.0,
        "map_factor": 0.9,
        "map_forcing": 0.0,
        "step": 1.0,
        "integrator": "exact",
        "time_unit": "s",
        "training_radius": 2.0,
        "conditions": (),
    }
    return Claims(**(known | changes))


def certificate(dim=2, centre=None, factor=None, **changes):
    return Certificate(
        claims(**changes),
        np.zeros(dim) if centre is None else np.asarray(centre, float),
        np.eye(dim) if factor is None else np.asarray(factor, float),
    )


def recursion(start, factor, forcing, num_steps):
    values = [start]
    for _ in range(num_steps):
        values.append(factor * values[-1] + forcing)
    return values


@pytest.mark.parametrize("factor", [0.0, 1e-20, 0.3, 0.7, 1 - 1e-14, 1.0, 1 + 1e-13, 1.05])
@pytest.mark.parametrize("forcing", [0.0, 0.2])
def test_bounds_are_the_recursion_written_out(factor, forcing):
    found = certificate(map_factor=factor, map_forcing=forcing).bound([0.0, 3.0], 40)
    for row, start in zip(found, (0.0, 3.0), strict=True):
        np.testing.assert_allclose(row, recursion(start, factor, forcing, 40), rtol=1e-12)


def test_bounds_of_a_factor_within_rounding_of_one_keep_their_digits():
    """1 - ρⁿ would be off by a tenth here."""
    excess = 2.0**-50
    found = certificate(map_factor=1 + excess, map_forcing=1.0).bound(0.0, 1000)
    assert found[-1] == pytest.approx(1000 + 1000 * 999 / 2 * excess, rel=1e-14)


def test_bounds_overflow_to_infinity():
    found = certificate(map_factor=10.0, map_forcing=1.0, verdict="bounded").bound(1.0, 400)
    assert found[-1] == math.inf
    assert not np.isnan(found).any()


def test_nothing_proved_bounds_nothing():
    nothing = certificate(map_factor=None, map_forcing=None, verdict="refused")
    assert np.isinf(nothing.bound([1.0, 2.0], 3)).all()
    assert nothing.bound([1.0, 2.0], 3).shape == (2, 4)
    assert nothing.bound(np.ones((2, 3)), 4).shape == (2, 3, 5)
    assert not nothing.covers(np.ones((5, 2))).any()
    assert nothing.covers(np.ones((5, 3, 2))).shape == (5, 3)


@pytest.mark.parametrize("missing", ["map_factor", "map_forcing"])
def test_half_a_claim_bounds_nothing(missing):
    assert np.isinf(certificate(**{missing: None}).bound(1.0, 3)).all()


def test_distances_are_norms_in_the_metric_from_the_centre():
    found = certificate(centre=[1.0, 2.0], factor=[[2.0, 1.0], [0.0, 3.0]])
    assert found.distance([2.0, 1.0]) == pytest.approx(math.hypot(2 * 1 + 1 * -1, 3 * -1))
    assert found.distance(np.ones((4, 3, 2))).shape == (4, 3)


def test_states_up_to_the_radius_are_covered():
    found = certificate(radius=2.0)
    assert found.covers([[2.0, 0.0], [0.0, 2.0000001], [0.1, 0.1]]).tolist() == [True, False, True]
    bounds = found.bound([2.0, 2.1], 3)
    assert np.isfinite(bounds[0]).all()
    assert np.isinf(bounds[1]).all()


def test_bounds_end_where_states_may_leave_what_is_covered():
    """ρ = 1 and κ = 0.5 up to R = 2: from 1 the claim may be used three times, no more."""
    found = certificate(map_factor=1.0, map_forcing=0.5, radius=2.0, verdict="refused")
    assert not found.stays_inside
    assert found.bound(1.0, 5).tolist() == [1.0, 1.5, 2.0, 2.5, math.inf, math.inf]
    assert found.bound(2.5, 1).tolist() == [math.inf, math.inf]


@pytest.mark.parametrize(
    ("factor", "forcing", "stays"),
    [(0.5, 1.0, True), (0.5, 1.01, False), (1.0, 0.0, True), (1.0, 0.1, False)],
)
def test_a_ball_is_kept_if_its_edge_moves_inwards(factor, forcing, stays):
    found = certificate(map_factor=factor, map_forcing=forcing, radius=2.0)
    assert found.stays_inside == stays
    edge = found.bound(2.0, 30)
    assert np.isfinite(edge).all() == stays


def test_the_norm_of_a_state_is_bounded_through_the_inverse_of_the_metric():
    found = certificate(
        centre=[3.0, 4.0], factor=[[0.1, 0.0], [0.0, 5.0]], map_factor=0.5, map_forcing=0.0
    )
    centre, reach = found.norm_bound(10)
    assert centre == pytest.approx(5.0)
    assert reach == pytest.approx(10 * 2.0)  # ‖F⁻¹‖ = 10, training states reach 2
    state = found.centre + np.array([20.0, 0.0])
    assert found.distance(state) == pytest.approx(2.0)


def test_the_norm_bound_takes_the_largest_bound_on_the_way():
    grows = certificate(map_factor=1.0, map_forcing=0.25, verdict="bounded")
    assert grows.norm_bound(8)[1] == pytest.approx(2.0 + 8 * 0.25)
    shrinks = certificate(map_factor=0.5, map_forcing=0.0)
    assert shrinks.norm_bound(8)[1] == pytest.approx(2.0)


@pytest.mark.parametrize("verdict", HEADLINES)
def test_the_verdict_comes_first_and_alone_decides_what_is_certified(verdict):
    found = certificate(verdict=verdict, remedy="something else")
    first, second, *_ = found.text().splitlines()
    assert first == f"{HEADLINES[verdict]}: made up"
    assert second == "try: something else"
    assert found.claims.certified == (verdict == "certified")
    assert found.to_dict()["certified"] == (verdict == "certified")
    assert len({*HEADLINES.values()}) == 3


def test_claims_survive_being_written_and_read():
    told = claims(verdict="bounded", escape_time=3.0)
    assert Claims.model_validate(told.model_dump(mode="json")) == told


@pytest.mark.parametrize(
    ("certified", "dynamics", "verdict"),
    [
        (True, "linear dynamics", "certified"),
        (False, "linear dynamics", "refused"),
        (True, "linear-quadratic dynamics", "refused"),
        (False, "linear-quadratic dynamics", "refused"),
    ],
)
def test_what_version_one_said_holds_where_its_proof_did(certified, dynamics, verdict):
    """Of linear-quadratic dynamics it left out rounding."""
    told = claims(dynamics=dynamics).model_dump(mode="json")
    del told["verdict"], told["escape_time"]
    found = Claims.model_validate(told | {"certified": certified})
    assert found.verdict == verdict
    distrusted = certified and verdict == "refused"
    assert (found.remedy == "fit the model again") == distrusted


def test_nothing_else_is_a_verdict():
    with pytest.raises(ValidationError):
        claims(verdict="probably")
    for wrong in (None, 3, [], "certified"):
        with pytest.raises(ValidationError):
            Claims.model_validate(wrong)


def test_no_two_verdicts_share_an_exit_code():
    from smore.cli.certify import EXIT_CODES, STYLES

    assert set(EXIT_CODES) == set(HEADLINES) == set(STYLES)
    assert EXIT_CODES["certified"] == 0
    assert all(one != two for one, two in itertools.combinations(EXIT_CODES.values(), 2))
