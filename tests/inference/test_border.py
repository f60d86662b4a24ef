"""Observations that no state of the model can mean are refused, all others pass."""

from dataclasses import replace

import numpy as np
import pytest

from smore.data import BoxMap, Sequence, SphereMap, Trajectories
from smore.errors import DataError
from smore.inference import border
from smore.inference.border import check_observations

BOX = BoxMap(lower=(0.0, -5.0), upper=(10.0, 5.0))
REGION = SphereMap(south=-10.0, north=30.0, west=170.0, east=210.0)

INSIDE = np.array([[0.0, -5.0], [2.0, 3.0], [10.0, 5.0], [4.0, 1.0]])


def observations(coords, fields=None, geometry="box"):
    """One sequence, or one for each of several `fields` (channels, points); NaN: unobserved."""
    coords = np.asarray(coords, dtype=float)
    if fields is None:
        fields = np.arange(2.0 * len(coords)).reshape(2, -1)
    fields = np.asarray(fields, dtype=float).reshape(-1, 1, 2, len(coords))
    return Trajectories.from_arrays(
        fields, coords, [0.0], channels=["u", "v"], geometry=geometry, missing="mask"
    )


def with_observed(given, observed):
    """`given` with another mask, past the checks of `from_arrays`."""
    sequences = [Sequence(s.times, s.fields, s.mesh, np.asarray(observed)[None]) for s in given]
    return replace(given, sequences=tuple(sequences))


def test_good_observations_pass():
    check_observations(observations(INSIDE), BOX)
    check_observations(observations(INSIDE[:1]), BOX)
    check_observations(observations([[0, 175], [5, -160]], geometry="sphere"), REGION)
    check_observations(observations([[90, 0], [-90, 359]], geometry="sphere"), SphereMap())


def test_a_sequence_without_any_value():
    given = observations(INSIDE, np.zeros((2, 2, 4)))
    nothing = with_observed(given, np.zeros((2, 4), bool))
    mixed = replace(given, sequences=(given.sequences[0], nothing.sequences[1]))
    with pytest.raises(DataError, match=r"value of u, v .* sequence 1 has none; leave it out"):
        check_observations(mixed, BOX)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(value):
    given = observations(INSIDE)
    fields = given.sequences[0].fields.copy()
    fields[0, 1, 2] = value
    sequence = replace(given.sequences[0], source=fields)
    with pytest.raises(
        DataError, match=rf"'v' must be finite .* {value} in sequence 0 at point 2 \(x = 10, y = 5"
    ):
        check_observations(replace(given, sequences=(sequence,)), BOX)
    seen = np.ones((2, 4), bool)
    seen[1, 2] = False
    check_observations(with_observed(replace(given, sequences=(sequence,)), seen), BOX)


@pytest.mark.parametrize("point", [0, 2, 4])
@pytest.mark.parametrize(
    ("where", "message"),
    [
        ((10.11, 0.0), r"'x' is from 0 to 10; .*\(x = 10.11, y = 0\).*units.*order.*leave"),
        ((-0.11, 0.0), r"'x' is from 0 to 10; .*\(x = -0.11, y = 0\)"),
        ((3.0, 5200.0), r"'y' is from -5 to 5; .*\(x = 3, y = 5200\)"),
    ],
)
def test_the_point_outside_is_named(where, message, point):
    coords = np.insert(INSIDE, point, where, axis=0)
    with pytest.raises(DataError, match=message) as refusal:
        check_observations(observations(coords), BOX)
    assert f"sequence 0 has one at point {point} " in str(refusal.value)


def test_the_domain_is_told_with_its_units():
    given = observations(INSIDE + 1000.0)
    space = given.space.model_copy(update={"units": ("km", "km")})
    with pytest.raises(DataError, match=r"'x' is from 0 to 10 km; "):
        check_observations(replace(given, space=space), BOX)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ((40.0, 180.0), r"'latitude' is from -10 to 30 degrees_north; .*latitude = 40, longitude"),
        ((0.0, 100.0), r"'longitude' is from 170 to 210 degrees_east; .*longitude = 100"),
        ((0.0, -140.0), r"'longitude' is from 170 to 210 degrees_east; .*longitude = -140"),
    ],
)
def test_the_point_outside_a_region_of_the_sphere(where, message):
    given = observations([(0.0, 200.0), where], geometry="sphere")
    with pytest.raises(DataError, match=message):
        check_observations(given, REGION)


def test_a_hair_outside_is_inside():
    check_observations(observations([[10.09, -5.09], [-0.09, 5.09]]), BOX)
    check_observations(observations([[30.3, 169.7], [-10.3, -149.7]], geometry="sphere"), REGION)


def test_points_at_which_nothing_is_observed_may_be_anywhere():
    coords = [[1e6, 0.0], [1.0, 1.0], [2.0, 2.0]]
    nan = np.nan
    check_observations(observations(coords, [[nan, 1.0, nan], [nan, nan, 2.0]]), BOX)
    with pytest.raises(DataError, match=r"sequence 1 has one at point 0 \(x = 1e\+06"):
        check_observations(
            observations(
                coords, [[[nan, 1.0, nan], [nan, nan, 2.0]], [[nan, 1.0, 2.0], [3.0, 4.0, 5.0]]]
            ),
            BOX,
        )


def test_two_values_of_one_quantity_are_refused():
    coords = [[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]
    fields = [[1.0, 2.0, 1.0, 2.0], [5.0, 6.5, 5.0, 7.25]]
    with pytest.raises(
        DataError, match=r"of 'v' .*sequence 0 has 6.5 and 7.25 at point 1 \(x = 3, y = 4\); aver"
    ):
        check_observations(observations(coords, fields), BOX)


def test_two_values_are_told_whatever_is_repeated_after_them():
    coords = [[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [3.0, 4.0]]
    fields = [[1.0, 5.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]]
    with pytest.raises(DataError, match=r"of 'u' .*sequence 0 has 1.0 and 5.0 at point 0 "):
        check_observations(observations(coords, fields), BOX)


def test_equal_values_and_different_quantities_may_be_repeated():
    nan = np.nan
    coords = [[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [1.0, 2.0]]
    check_observations(observations(coords, [[1.0, 2.0, 1.0, nan], [nan, 6.0, nan, 9.0]]), BOX)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_two_values_are_found_past_one_that_is_not_observed(order):
    fields = np.array([[1.0, np.nan, 3.0], [0.0, 0.0, 0.0]])[:, order]
    with pytest.raises(DataError, match=r"of 'u' .* has (1.0 and 3.0|3.0 and 1.0) at point"):
        check_observations(observations([[1.0, 2.0]] * 3, fields), BOX)


def test_neighbours_and_the_signs_of_zero():
    """Points are the same when their coordinates are equal, and not when they are close."""
    close = [[1.0, 0.0], [np.nextafter(1.0, 2.0), 0.0], [1.0, 1.0], [2.0, 0.0]]
    check_observations(observations(close), BOX)
    with pytest.raises(DataError, match="average"):
        check_observations(observations([[0.0, 1.0], [-0.0, 1.0]]), BOX)


def test_the_sequence_with_two_values_is_named_among_those_on_the_same_points():
    fields = np.zeros((3, 2, 4))
    fields[2, 0, 3] = 1.0
    given = observations([[1.0, 2.0], [3.0, 4.0], [5.0, 1.0], [3.0, 4.0]], fields)
    assert given.sequences[0].mesh is given.sequences[2].mesh
    with pytest.raises(DataError, match=r"'u' .*sequence 2 has 0.0 and 1.0 at point 1"):
        check_observations(given, BOX)


def test_a_mesh_that_sequences_share_is_sorted_once(monkeypatch):
    sorted_meshes = []
    find_repeats = border._find_repeats
    monkeypatch.setattr(
        border, "_find_repeats", lambda coords: sorted_meshes.append(1) or find_repeats(coords)
    )
    check_observations(observations(INSIDE, np.zeros((5, 2, 4))), BOX)
    assert len(sorted_meshes) == 1
