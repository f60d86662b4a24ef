"""The command line as a new user meets it: files in, files out, one line for an error."""

import json
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr


def smore(*arguments, folder, code=0):
    """Run a command in `folder`; returns what it printed on standard output and error."""
    done = subprocess.run(
        [sys.executable, "-m", "smore", "--threads", "1", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def waves(num_sequences, num_times, seed, points=60):
    """Two travelling waves on scattered points, with units."""
    random = np.random.default_rng(seed)
    x, y = np.random.default_rng(0).random((2, points))
    t = 0.1 * np.arange(num_times)
    fields = sum(
        random.normal(size=(num_sequences, 1, 1))
        * np.cos(
            2 * np.pi * (k * x + y)
            - (1 + k) * t[:, None]
            + 6 * random.random((num_sequences, 1, 1))
        )
        for k in (1, 2)
    )
    return xr.Dataset(
        {"height": (("sequence", "time", "point"), 3 + fields, {"units": "m"})},
        coords={"time": ("time", t, {"units": "s"}), "x": ("point", x), "y": ("point", y)},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with data, sensors and a trained model."""
    place = tmp_path_factory.mktemp("user")
    waves(12, 15, 1).to_netcdf(place / "flow.nc")
    waves(4, 15, 2).to_netcdf(place / "test.nc")
    waves(1, 1, 3).isel(sequence=0, point=slice(0, 20)).to_netcdf(place / "sensors.nc")
    waves(1, 80, 4).isel(sequence=0).to_netcdf(place / "long.nc")
    smore("fit", "flow.nc", "-o", "flow.smore", folder=place)
    return place


def test_one_record_is_forecast_from_rolling_origins(folder):
    how = ("--horizon", "30", "--origins", "3")
    printed, _ = smore("evaluate", "flow.smore", "long.nc", *how, "--json", folder=folder)
    scores = json.loads(printed)
    rolling = scores["rolling"]
    assert rolling["num_origins"] == 3
    assert rolling["leads"] == list(range(1, 31))
    assert set(rolling["nmse"]) == {"model", "persistence", "climatology", "dmd"}
    assert rolling["full_nmse"]["model"] < 0.01 * rolling["full_nmse"]["climatology"]
    assert set(rolling["calibration"]["coverage"]) == {"0.5", "0.8", "0.9", "0.95"}
    plain, _ = smore("evaluate", "flow.smore", "test.nc", "--json", folder=folder)
    assert set(scores) == {*json.loads(plain), "rolling"}


def test_calibration_is_told_and_drawn(folder):
    printed, _ = smore(
        "evaluate", "flow.smore", "test.nc", "--calibration", "--figure", "skill.png", folder=folder
    )
    assert "Share of true values inside intervals" in printed
    assert "90% intervals hold" in printed
    assert (folder / "skill.png").stat().st_size > 50_000
    _, error = smore(
        *("evaluate", "flow.smore", "test.nc", "--calibration", "--method", "least-squares"),
        folder=folder,
        code=2,
    )
    assert "only method 'posterior'" in error


def test_a_file_goes_through_fit_and_evaluate(folder):
    printed, _ = smore("evaluate", "flow.smore", "test.nc", "--json", folder=folder)
    scores = json.loads(printed)
    for window in ("in_horizon", "extrapolation", "full", "persistence"):
        assert scores[f"{window}_mse"] > 0
        assert f"{window}_nmse" in scores or window == "in_horizon"
    assert len(scores["per_step_mse"]) == 14
    assert scores["full_mse"] < scores["persistence_mse"]
    assert set(scores["relative_l2"]) == {"height"}


def test_evaluation_for_people_says_what_it_beats(folder):
    printed, _ = smore("evaluate", "flow.smore", "test.nc", "--figure", "figure.png", folder=folder)
    assert "persistence" in printed
    assert "times below" in printed
    assert (folder / "figure.png").stat().st_size > 10_000


def test_a_forecast_comes_back_as_netcdf_with_units(folder):
    asked = ("--times", "0.1:0.5:0.2")
    _, told = smore("forecast", "flow.smore", "sensors.nc", *asked, folder=folder)
    assert "note: fields are at the 60 points of the training mesh; for a map: --points" in told
    forecast = xr.open_dataset(folder / "forecast.nc")
    assert forecast["height"].attrs["units"] == "m"
    np.testing.assert_allclose(forecast["time"], [0.1, 0.3, 0.5])
    assert forecast.sizes["point"] == 60  # the training mesh, not the sensors
    assert np.isfinite(forecast["height"]).all()


def test_a_forecast_at_points_of_a_file(folder):
    _, told = smore(
        *("forecast", "flow.smore", "sensors.nc", "--points", "sensors.nc", "-o", "there.zarr"),
        folder=folder,
    )
    assert "training mesh" not in told
    forecast = xr.open_zarr(folder / "there.zarr", consolidated=False)
    assert forecast.sizes["point"] == 20
    assert forecast.sizes["time"] == 10


def test_a_table_of_sensors_becomes_fields_with_error_bars(folder):
    x, y = np.random.default_rng(0).random((2, 60))
    heights = waves(1, 1, 3)["height"].values[0, 0]
    rows = [f"{a},{b},{h}" for a, b, h in zip(x[:15], y[:15], heights[:15], strict=True)]
    (folder / "sensors.csv").write_text("\n".join(["x,y,height", *rows, f"{x[15]},{y[15]},"]))
    printed, _ = smore(
        *("forecast", "flow.smore", "sensors.csv", "--noise", "height=0.01", "--json"),
        *("-o", "table.nc", "--figure", "table.png"),
        folder=folder,
    )
    told = json.loads(printed)
    assert told["observed_values"] == [15]  # the last one is blank
    assert 0 < told["determined"][0] <= 15
    forecast = xr.open_dataset(folder / "table.nc")
    assert (forecast["height_std"] > 0).all()
    assert forecast["height"].attrs["ancillary_variables"] == "height_std"
    assert (folder / "table.png").stat().st_size > 10_000


def test_a_forecast_tells_what_the_observations_determine(folder):
    printed, _ = smore("forecast", "flow.smore", "sensors.nc", folder=folder)
    for words in ("observed values per sequence", "observability c_S of height", "left open"):
        assert words in printed


def test_too_few_sensors_are_warned_about_in_words(folder):
    (folder / "one.csv").write_text("x,y,height\n0.5,0.5,3.1\n")
    _, warned = smore("forecast", "flow.smore", "one.csv", "-o", "one.nc", folder=folder)
    assert "was not observed but assumed: 1 observed values" in warned


def test_points_may_come_as_a_table_or_as_coordinates_alone(folder):
    (folder / "points.csv").write_text("y,x\n0.25,0.5\n0.5,0.75\n")
    place = xr.Dataset(coords={"x": ("point", [0.5, 0.75]), "y": ("point", [0.25, 0.5])})
    place.to_netcdf(folder / "points.nc")
    fields = []
    for name in ("points.csv", "points.nc"):
        smore(
            *("forecast", "flow.smore", "sensors.nc", "--points", name, "-o", "there.nc"),
            folder=folder,
        )
        with xr.open_dataset(folder / "there.nc") as forecast:
            np.testing.assert_allclose(forecast["x"], [0.5, 0.75])
            fields.append(forecast["height"].values)
    np.testing.assert_array_equal(*fields)


def test_a_single_long_sequence_needs_no_settings(folder):
    printed, _ = smore(
        "fit", "long.nc", "-o", "long.smore", "--decoder-steps", "20", "--json", folder=folder
    )
    result = json.loads(printed)
    assert result["training"]["num_sequences"] == 1
    assert result["settings"]["latent_dim"] is not None


def test_info_shows_how_a_file_is_read(folder):
    printed, _ = smore("data", "info", "flow.nc", "--json", folder=folder)
    info = json.loads(printed)
    assert (info["sequences"], info["snapshots"], info["points"]) == (12, 15, 60)
    assert info["channels"][0]["units"] == "m"


def test_nine_presets_with_the_papers_parameter_counts(folder):
    printed, _ = smore("presets", "--json", folder=folder)
    rows = json.loads(printed)
    assert len(rows) == 9
    for row in rows:
        assert (
            row["parameters"] + row["coordinate_dim"] * row["hidden_dim"]
            == (row["paper_parameters"])
        )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fit"], "say what to train on"),
        (["fit", "nothing.nc"], "nothing.nc"),
        (["fit", "flow.nc", "--latent-dim", "0"], "latent_dim"),
        (["fit", "flow.nc", "--dynamics", "cubic"], "dynamics"),
        (["fit", "--preset", "waves"], "wave-koopman"),
        (["evaluate", "flow.nc", "test.nc"], "flow.nc"),
        (["forecast", "flow.smore", "sensors.nc", "--times", "soon"], "START:STOP:STEP"),
        (["forecast", "flow.smore", "sensors.nc", "--noise", "-1"], "not negative"),
        (["forecast", "flow.smore", "sensors.nc", "--noise", "loud"], "--noise"),
        (["forecast", "flow.smore", "sensors.nc", "-o", "fields.txt"], "fields.txt"),
        (["forecast", "flow.smore", "sensors.nc", "--figure", "fields.txt"], "fields.txt"),
        (["data", "generate", "wave", "--resolution", "1"], "resolution"),
    ],
)
def test_an_error_is_one_clear_line_and_exit_code_2(folder, arguments, says):
    _, error = smore(*arguments, folder=folder, code=2)
    assert error.startswith("error:")
    assert error.count("\n") == 1
    assert says in error


def test_a_constant_is_refused_and_leaves_nothing(folder, tmp_path):
    constant = waves(3, 5, 1)
    constant["height"][:] = 3.0
    constant.to_netcdf(tmp_path / "constant.nc")
    _, error = smore("fit", "constant.nc", folder=tmp_path, code=2)
    assert error.count("\n") == 1
    assert "the values of 'height' are all 3; a model of a constant needs no training" in error
    assert [path.name for path in tmp_path.iterdir()] == ["constant.nc"]


def test_advice_names_options_of_the_command_line(folder, tmp_path):
    gap = waves(3, 5, 1)
    gap["height"][1, 2, 3] = np.nan
    gap.to_netcdf(tmp_path / "gap.nc")
    _, error = smore("fit", "gap.nc", folder=tmp_path, code=2)
    assert "or pass missing='mask' (on the command line: --missing mask)" in error
    _, error = smore("fit", "gap.nc", "--epochs", "3", folder=tmp_path, code=2)
    assert "or set recipe='paper' (on the command line: --recipe paper)" in error


def test_latitude_and_longitude_may_be_plain_coordinates(folder, tmp_path):
    names = {"x": "lat", "y": "lon"}
    columns = waves(3, 6, 1).rename(names).assign_coords(level=("point", np.arange(60.0) % 7))
    columns["level"].attrs["axis"] = "Z"
    columns.to_netcdf(tmp_path / "columns.nc")
    _, error = smore("data", "info", "columns.nc", folder=tmp_path, code=2)
    assert "pass geometry='box' (on the command line: --geometry box)" in error
    as_plain = ["--geometry", "box", "--json"]
    printed, _ = smore("data", "info", "columns.nc", *as_plain, folder=tmp_path)
    assert json.loads(printed)["geometry"] == "box"
    smore("fit", "columns.nc", *as_plain, "--decoder-steps", "5", folder=tmp_path)
    printed, _ = smore("evaluate", "model.smore", "columns.nc", "--json", folder=tmp_path)
    assert json.loads(printed)["num_sequences"] == 3
    smore("forecast", "model.smore", "columns.nc", folder=tmp_path)
    with xr.open_dataset(tmp_path / "forecast.nc") as forecast:
        assert list(forecast.attrs["coordinate_names"]) == ["lat", "level", "lon"]


def test_debug_shows_the_traceback(folder):
    _, error = smore("--debug", "fit", "nothing.nc", folder=folder, code=1)
    assert "Traceback" in error


def test_further_trajectories_belong_to_a_benchmark(folder):
    _, error = smore("evaluate", "flow.smore", "test.nc", "--further", "2", folder=folder, code=2)
    assert "--dataset" in error


def test_a_fit_that_diverges_leaves_the_model_before_it_alone(folder, tmp_path):
    before = (folder / "flow.smore").read_bytes()
    (tmp_path / "flow.smore").write_bytes(before)
    arguments = ["--decoder-rate", "1e30", "--decoder-steps", "20", "-o", tmp_path / "flow.smore"]
    arguments += ["--hidden-dim", "8", "--num-hidden", "1"]  # too few features for no descent
    _, told = smore("fit", "flow.nc", *arguments, folder=folder, code=2)
    assert "of the decoder; the state before it is kept" in told
    assert (tmp_path / "flow.smore").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"flow.smore", "flow.diverged.smore"}


def test_a_model_file_tells_what_it_is(folder):
    printed, _ = smore("info", "flow.smore", folder=folder)
    for words in ("Data", "Settings", "Scores", "Certificate", "Limits", "height", "180"):
        assert words in printed
    told = json.loads(smore("info", "flow.smore", "--json", folder=folder)[0])
    assert told["data"]["sequences"] == 12
    assert told["data"]["times"] == "0 to 1.4 s"
