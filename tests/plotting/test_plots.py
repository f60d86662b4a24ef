"""`model.plot`: what is in the figures, by value."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from PIL import Image

from seasons import LAND, record
from smore import SMORE
from smore.errors import DataError, NotFittedError, SettingsError
from smore.plotting import save_figure
from smore.plotting._overlays import MODEL, TRUTH
from waves import STEP, planted, trajectories

TIMES = STEP * np.arange(1, 8)
KINDS = 4  # truth, forecast, error, standard deviation


@pytest.fixture(scope="module")
def data():
    return trajectories(num_points=150)


@pytest.fixture(scope="module")
def model(data):
    return planted(data)


@pytest.fixture(scope="module")
def on_a_line():
    """Two channels on a line, with dates and land in the second."""
    return SMORE(latent_dim=4).fit(record(), progress=False, missing="mask")


def panels(figure):
    """The panels with a field in colours, in rows."""
    return [axes for axes in figure.axes if axes.collections]


def values(axes):
    return np.asarray(axes.collections[0].get_array())


def lines(axes, colour):
    return [each for each in axes.lines if to_rgba(each.get_color()) == to_rgba(colour)]


def test_all_channels_are_drawn_each_on_its_scale(model, data):
    forecast = model.forecast(data, TIMES)
    figure = model.plot.forecast(forecast)
    assert isinstance(figure, Figure)
    shown = panels(figure)
    assert len(shown) == 2 * 2 * 5  # channels, with standard deviation, times
    assert [part.get_suptitle() for part in figure.subfigs] == ["u (m)", "v (m/s)"]
    for number, name in enumerate("uv"):
        fields, deviations = shown[10 * number : 10 * number + 5], shown[10 * number + 5 :][:5]
        largest = float(np.abs(forecast[name].isel(sequence=0)).max())
        times = [0, 1, 3, 4, 6]  # of seven
        seen = forecast[name].isel(sequence=0, time=times)
        limit = float(np.abs(seen).max())
        assert limit <= largest
        for axes, field in zip(fields, seen.values, strict=True):
            np.testing.assert_allclose(values(axes), field, rtol=1e-6)
            assert axes.collections[0].get_clim() == pytest.approx((-limit, limit))
        assert {axes.collections[0].get_clim()[0] for axes in deviations} == {0.0}
        units = [axes.child_axes[0].get_ylabel() for axes in (fields[-1], deviations[-1])]
        assert units == [("m", "m/s")[number]] * 2


def test_one_channel_is_drawn_where_one_is_asked_for(model, data):
    forecast = model.forecast(data, TIMES)
    figure = model.plot.forecast(forecast, channel="v")
    assert len(panels(figure)) == 2 * 5
    assert [part.get_suptitle() for part in figure.subfigs] == ["v (m/s)"]
    assert len(panels(model.plot.modes(channel=["u"]))) < len(panels(model.plot.modes()))
    assert len(model.plot.sensors(3, channel="u").axes) == 2
    with pytest.raises(SettingsError, match="channels to draw out of u, v, got w"):
        model.plot.forecast(forecast, channel="w")


def test_sensors_are_marked_where_they_were(model, data):
    sparse = data.leading(1).at_points(np.arange(20))
    figure = model.plot.forecast(model.forecast(sparse, TIMES), sparse)
    first, *others = panels(figure)[:5]
    np.testing.assert_array_equal(first.lines[0].get_xydata(), data.sequences[0].mesh.coords[:20])
    assert not any(axes.lines for axes in others)
    # Observed everywhere, dots would hide the field.
    everywhere = model.plot.forecast(model.forecast(data, TIMES), data)
    assert not any(axes.lines for axes in panels(everywhere))


def test_truth_forecast_error_and_error_bar_are_told(model, data):
    figure = model.plot.evaluation(data, sequence=2)
    shown = panels(figure)
    count = 5
    assert len(shown) == 2 * KINDS * count
    truth, forecast, error, _ = (shown[count * k : count * (k + 1)] for k in range(KINDS))
    true = data.sequences[2]
    for number, at in enumerate([0, 1, 2, 3, 5]):  # of six snapshots
        np.testing.assert_allclose(values(truth[number]), true.fields[at, 0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(values(forecast[number]), true.fields[at, 0], atol=1e-4)
        apart = np.abs(values(forecast[number]) - values(truth[number]))
        np.testing.assert_allclose(values(error[number]), apart, atol=1e-6)
        assert f"snapshot {at + 1}" in truth[number].get_title()
    same = model.plot.forecast(
        model.forecast(data, true.times), truth=data, sequence=2, channel="u"
    )
    np.testing.assert_allclose(values(panels(same)[5]), values(forecast[0]), atol=1e-6)


def test_a_truth_that_does_not_fit_is_refused(model, data):
    with pytest.raises(DataError, match=r"no snapshot at 0\.25"):
        model.plot.forecast(model.forecast(data, [0.25]), truth=data)
    elsewhere = model.forecast(data, [STEP], points=[[0.1, 0.1], [0.2, 0.3], [0.5, 0.0]])
    with pytest.raises(DataError, match="other points than the forecast"):
        model.plot.forecast(elsewhere, truth=data)


def test_on_a_line_curves_have_bands_and_pictures_over_time(on_a_line):
    data = record()
    figure = on_a_line.plot.evaluation(data)
    curves = [axes for axes in figure.axes if lines(axes, MODEL)]
    pictures = [axes for axes in figure.axes if axes.child_axes]
    assert (len(curves), len(pictures)) == (2 * 5, 2 * KINDS)
    forecast = on_a_line.forecast(
        data, data.clock.to_values(data.sequences[0].times), missing="mask"
    )
    middle, deviation = (forecast[name].values[0] for name in ("u0", "u0_std"))
    axes = curves[4]  # the last snapshot
    np.testing.assert_allclose(lines(axes, MODEL)[0].get_ydata(), middle[-1], rtol=1e-4)
    np.testing.assert_allclose(
        lines(axes, TRUTH)[0].get_ydata(), data.sequences[0].fields[-1, 0], rtol=1e-6
    )
    band = axes.collections[0].get_paths()[0].vertices
    half = 1.6449 * deviation[-1]
    assert band[:, 1].min() == pytest.approx((middle[-1] - half).min(), rel=1e-3)
    assert band[:, 1].max() == pytest.approx((middle[-1] + half).max(), rel=1e-3)
    # Land is in neither: the truth ends there, and so does the forecast.
    for colour in (MODEL, TRUTH):
        drawn = lines(curves[-1], colour)[0].get_ydata()
        np.testing.assert_array_equal(np.isnan(drawn), np.isnan(forecast["u1"].values[0, -1]))
        assert np.isnan(drawn[LAND]).all()
    # 280 K and its seasons have one sign, departures of the other channel have two or not.
    assert pictures[KINDS].collections[0].get_cmap().name == "viridis"


def test_films_show_all_times(model, data, on_a_line, tmp_path, capsys):
    for each, truth in ((model, data), (on_a_line, record(num_times=7))):
        film = each.plot.evaluation(truth, animate=True)
        save_figure(film, tmp_path / "film.gif")
        length = truth.sequences[0].num_snapshots
        with Image.open(tmp_path / "film.gif") as saved:
            assert saved.n_frames == length
            assert saved.info["loop"] == 0
            first = np.asarray(saved.convert("L"), dtype=float)
            saved.seek(length - 1)
            assert np.abs(np.asarray(saved.convert("L"), dtype=float) - first).max() > 50
        assert f"drawing frames {length}/{length}" in capsys.readouterr().err


def test_frames_are_in_the_colours_of_all_times(model, data):
    film = model.plot.evaluation(data, channel="u", animate=True)
    truth = film._fig.axes[0]
    largest = np.abs(data.sequences[0].fields[:, 0]).max()
    for frame in (0, 5):
        film._func(frame)
        assert len(truth.collections) == 1
        assert truth.collections[0].get_clim() == pytest.approx((-largest, largest), rel=1e-6)
        np.testing.assert_allclose(
            values(truth), data.sequences[0].fields[frame, 0], rtol=1e-5, atol=1e-6
        )


def test_modes_and_certificates_need_nothing_but_the_model(model):
    assert isinstance(model.plot.modes(), Figure)
    assert isinstance(model.plot.certificate(), Figure)
    assert "forecast" in repr(model.plot)
    with pytest.raises(NotFittedError):
        _ = SMORE().plot


def test_many_channels_are_not_all_drawn(data):
    model = planted(data)
    description = model.surrogate_.description
    from smore.plotting.story import MOST_CHANNELS, chosen_channels, left_out

    many = description.model_copy(update={"channels": description.channels * 5})
    assert len(chosen_channels(many, None)) == MOST_CHANNELS
    assert left_out(many, None) == "; the first 6 of 10 channels"
    assert left_out(description, None) == left_out(many, ["u"]) == ""
