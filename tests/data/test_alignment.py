"""Observations mean the same to a model however they are ordered, dated or incomplete."""

from dataclasses import replace

import numpy as np
import pytest

from smore.data import Channel, Clock, Space, Trajectories
from smore.data.alignment import align
from smore.errors import DataError, UnitsWarning

CHANNELS = tuple(Channel(name=name) for name in "uvw")
SPACE = Space(names=("x", "y"), units=("km", "km"))
CLOCK = Clock(units="s")


def observations(names, dates=None, points=4, coordinate_names=("x", "y"), missing=False):
    rng = np.random.default_rng(0)
    fields = rng.normal(size=(2, 3, len(names), points))
    if missing:
        fields[0, 1, 0, 2] = np.nan
    times = np.arange(3.0) if dates is None else dates
    return Trajectories.from_arrays(
        fields,
        rng.uniform(size=(points, 2)),
        times,
        channels=names,
        coordinate_names=coordinate_names,
        missing="mask" if missing else "refuse",
    )


@pytest.mark.parametrize("names", [["w", "u"], ["v"], ["w", "v", "u"]])
@pytest.mark.parametrize("missing", [False, True])
def test_channels_go_to_their_places_and_absent_ones_are_unobserved(names, missing):
    given = observations(names, missing=missing)
    aligned = align(given, CHANNELS, SPACE, CLOCK)
    assert aligned.channels == CHANNELS
    for before, after in zip(given, aligned, strict=True):
        for position, channel in enumerate("uvw"):
            if channel not in names:
                assert not after.observed[:, position].any()
                continue
            source = names.index(channel)
            np.testing.assert_array_equal(after.fields[:, position], before.fields[:, source])
            seen = True if before.observed is None else before.observed[:, source]
            np.testing.assert_array_equal(
                after.observed[:, position], np.broadcast_to(seen, after.observed[:, 0].shape)
            )


def test_columns_of_the_coordinates_follow_their_names():
    given = observations(list("uvw"), coordinate_names=("y", "x"))
    aligned = align(given, CHANNELS, SPACE, CLOCK)
    assert aligned.space.names == SPACE.names
    np.testing.assert_array_equal(
        aligned.sequences[0].mesh.coords, given.sequences[0].mesh.coords[:, ::-1]
    )


def test_dates_are_told_on_the_models_clock():
    dates = np.datetime64("2021-03-01T00:00", "us") + np.arange(3) * np.timedelta64(90, "m")
    clock = Clock(kind="datetime", units="s", reference="2021-02-28T22:00:00")
    aligned = align(observations(list("uvw"), dates), CHANNELS, SPACE, clock)
    assert aligned.clock == clock
    for sequence in aligned:
        np.testing.assert_array_equal(sequence.times, 7200.0 + 5400.0 * np.arange(3))


def test_nothing_given_is_modified():
    given = observations(["w", "u"], coordinate_names=("y", "x"))
    before = [(s.fields.copy(), s.times.copy(), s.mesh.coords.copy()) for s in given]
    align(given, CHANNELS, SPACE, CLOCK)
    for sequence, (fields, times, coords) in zip(given, before, strict=True):
        np.testing.assert_array_equal(sequence.fields, fields)
        np.testing.assert_array_equal(sequence.times, times)
        np.testing.assert_array_equal(sequence.mesh.coords, coords)


def test_what_the_model_does_not_know_is_refused_by_name():
    with pytest.raises(DataError, match=r"u, v, w.*p, q"):
        align(observations(["u", "p", "q"]), CHANNELS, SPACE, CLOCK)
    with pytest.raises(DataError, match="z"):
        align(observations(list("uvw"), coordinate_names=("x", "z")), CHANNELS, SPACE, CLOCK)
    dates = np.array(["2021-01-01", "2021-01-02", "2021-01-03"], "M8[s]")
    with pytest.raises(DataError, match=r"number.*datetime"):
        align(observations(list("uvw"), dates), CHANNELS, SPACE, CLOCK)


def test_a_refused_coordinate_is_told_apart_from_those_the_model_expects():
    """The model expects its own names and got those of the data, not the other way round."""
    with pytest.raises(DataError, match=r"expected .*x, y.* got .*a, b"):
        align(observations(list("uvw"), coordinate_names=("a", "b")), CHANNELS, SPACE, CLOCK)


@pytest.mark.parametrize(
    ("name", "other", "factor"),
    [("time", "h", 3600), ("x", "mile", 1.609344), ("u", "feet", 0.3048), ("u", "m**1", 1)],
)
def test_other_units_are_converted_and_said(name, other, factor):
    channels = (Channel(name="u", units="m"), *CHANNELS[1:])
    dataset = observations(list("uvw"), missing=True).to_xarray()
    before = align(Trajectories.from_xarray(dataset, missing="mask"), channels, SPACE, CLOCK)
    dataset[name].attrs["units"] = other
    given = Trajectories.from_xarray(dataset, missing="mask")
    if factor == 1:
        after = align(given, channels, SPACE, CLOCK)
    else:
        with pytest.warns(UnitsWarning, match=f"'{name}'|time is converted from '{other}' to the"):
            after = align(given, channels, SPACE, CLOCK)
    again = align(after, channels, SPACE, CLOCK)
    for one, other_one in zip(after, again, strict=True):
        np.testing.assert_array_equal(one.fields, other_one.fields)
        np.testing.assert_array_equal(one.mesh.coords, other_one.mesh.coords)
        np.testing.assert_array_equal(one.times, other_one.times)
    sizes = {key: factor if key == name else 1 for key in ("time", "x", "u")}
    for one, other_one in zip(before, after, strict=True):
        np.testing.assert_allclose(other_one.times, sizes["time"] * one.times)
        np.testing.assert_allclose(other_one.mesh.coords, one.mesh.coords * [sizes["x"], 1])
        np.testing.assert_allclose(other_one.mesh.weights, sizes["x"] * one.mesh.weights)
        np.testing.assert_allclose(other_one.fields[:, 0], sizes["u"] * one.fields[:, 0])
        np.testing.assert_array_equal(other_one.fields[:, 1:], one.fields[:, 1:])
        assert (one.observed is None) == (other_one.observed is None)


@pytest.mark.parametrize(
    ("name", "other"), [("time", "m"), ("x", "s"), ("u", "K"), ("u", "smoots")]
)
def test_units_that_cannot_be_converted_are_refused(name, other):
    """A metre is not a second; units nobody told are taken as right."""
    channels = (Channel(name="u", units="m"), *CHANNELS[1:])
    dataset = observations(list("uvw")).to_xarray()
    align(Trajectories.from_xarray(dataset), channels, SPACE, CLOCK)
    dataset[name].attrs["units"] = other
    made = replace_units(Trajectories.from_xarray(dataset.drop_attrs()), name, other)
    with pytest.raises(DataError, match=f"'{other}', which cannot be converted"):
        align(made, channels, SPACE, CLOCK)


def replace_units(made, name, units):
    """With units that reading itself would find odd."""
    if name == "time":
        return replace(made, clock=Clock(units=units))
    if name == "x":
        return replace(made, space=Space(names=("x", "y"), units=(units, "")))
    return replace(made, channels=(Channel(name="u", units=units), *CHANNELS[1:]))
