"""`smore sensors` as a user meets it, on the planted model of travelling waves."""

import csv
import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from smore import SMORE, Trajectories
from smore.analysis.sensor_plan import field_deviation, plan_sensors, told_share
from smore.cli.output import console
from smore.cli.sensors import sensors
from smore.data import Space
from smore.data.quadrature import scattered_mesh
from smore.errors import DataError, SettingsError
from smore.plotting.sensors import require_drawable, sensor_figure
from waves import codes, places, planted, solution, trajectories

app = typer.Typer()
app.command()(sensors)


def run(*arguments, code=0):
    """Run the command; returns what it printed."""
    console.width = 120  # whatever terminal the tests run in
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    if code == 0 and result.exception is not None:
        raise result.exception
    assert result.exit_code == code
    return result.output


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("sensors")
    dataset = trajectories(num_points=150).to_xarray()
    dataset["x"].attrs["units"] = "km"
    planted(dataset).save(place / "waves.smore")
    every = np.arange(40)
    index = [np.sort([0, 1, *np.roll(every[2:], shift)[:30]]) for shift in range(6)]
    planted(trajectories().at_points(index)).save(place / "unshared.smore")
    some = dataset.isel(sequence=0, time=[0], point=slice(0, 20))
    some.to_netcdf(place / "sites.nc")
    some.to_zarr(place / "sites.zarr", consolidated=False)
    rows = [f"site {n},{y!r},{x!r}\n" for n, (x, y) in enumerate(places(150)[:20].tolist())]
    (place / "sites.csv").write_text("name,y,x\n" + "".join(rows))
    return place


@pytest.fixture
def output(tmp_path):
    return tmp_path / "plan.csv"


def test_the_screen_says_what_the_sensors_promise(folder, output):
    arguments = (folder / "waves.smore", "--count", 12, "--noise", 0.1, "-o", output)
    printed = run(*arguments)
    told = json.loads(run(*arguments, "--json"))
    first = printed.splitlines()[0]
    assert first == (
        f"12 sensors are expected to explain {told_share(told['explained'])} of the variance of "
        f"the field; 12 random ones {told_share(told['random_explained'])}"
    )
    rows = [line.split("│")[1:-1] for line in printed.splitlines() if line.startswith("│")]
    assert [row[0].strip() for row in rows] == [str(n + 1) for n in range(10)]
    listed = np.array([[float(cell) for cell in row[1:]] for row in rows])
    chosen = np.array([[point["x"], point["y"]] for point in told["points"]])
    np.testing.assert_allclose(listed, chosen[:10], rtol=1e-5)
    assert "x (km)" in printed
    assert "The 10 most informative" in printed
    assert f"c_S = {told['observability']:.3g}" in printed
    assert f"measure at all 12 points in {output}" in printed
    # With the noise that was assumed: by default a forecast estimates it.
    assert f"smore forecast {folder / 'waves.smore'} {output} --noise 0.1" in printed


def test_too_few_sensors_are_told_what_they_cannot_see(folder, output):
    printed = " ".join(run(folder / "waves.smore", "--count", 1, "-o", output).split())
    assert "1 sensor is expected" in printed
    assert "1 random one" in printed
    assert "c_S = 0: some changes of u, v are invisible" in printed
    assert "fewer sensors than the 8 latents" in printed


def test_the_table_filled_in_gives_the_forecast(folder, output):
    """Measured where the plan says, four sensors know the 8 degrees of freedom of the waves."""
    run(folder / "waves.smore", "--count", 4, "-o", output)
    rows = table(output)
    assert list(rows[0]) == ["x", "y", "u", "v"]
    assert all(row["u"] == row["v"] == "" for row in rows)
    initial = codes(1, seed=3)
    for row in rows:
        place = np.array([[float(row["x"]), float(row["y"])]])
        row["u"], row["v"] = solution(initial, place, [0.0])[0, 0, :, 0].tolist()
    with open(output, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    forecast = SMORE.load(folder / "waves.smore").forecast(output, [1.0, 2.0], noise=0.0)
    truth = solution(initial, places(150), [1.0, 2.0])
    np.testing.assert_allclose(forecast["u"].values[0], truth[0, :, 0], atol=1e-3)


def test_a_region_and_channels_are_kept(folder, output):
    told = json.loads(
        run(
            *(folder / "waves.smore", "--count", 5, "--allowed", "x=-0.5:0.5,y=:0"),
            *("--channels", "v", "-o", output, "--json"),
        )
    )
    assert all(-0.5 <= point["x"] <= 0.5 and point["y"] <= 0 for point in told["points"])
    assert told["channels"] == ["v"]
    assert list(table(output)[0]) == ["x", "y", "v"]
    assert told["output"] == str(output)
    assert told["figure"] is None


@pytest.mark.parametrize("name", ["sites.nc", "sites.zarr", "sites.csv"])
@pytest.mark.parametrize("model", ["waves.smore", "unshared.smore"])
def test_the_points_of_a_file_are_candidates(folder, output, model, name):
    told = json.loads(
        run(folder / model, "--count", 4, "--allowed", folder / name, "-o", output, "--json")
    )
    sites = {tuple(row) for row in places(150)[:20].tolist()}
    assert {(point["x"], point["y"]) for point in told["points"]} <= sites
    assert len(told["points"]) == 4


def test_a_model_without_a_mesh_needs_a_file(folder, output):
    with pytest.raises(DataError, match="--allowed FILE"):
        run(folder / "unshared.smore", "--count", 4, "-o", output)
    with pytest.raises(DataError, match="--allowed FILE"):
        run(folder / "unshared.smore", "--count", 4, "--allowed", "x=0:1", "-o", output)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x;z\n0;1\n", "a column for coordinate 'y', got x, z"),
        ("", "it is empty"),
        ("x,y\n", "no points"),
        ("x,y\n0.1,0.2\n0.3,left\n", "line 3, column 'y': expected a number, .* got 'left'"),
        ("x,y\n0.1\n", "line 2: expected 2 cells as in the header, got 1"),
        ("x,y\nnan,0\n", "column 'x': expected a finite number, got 'nan'"),
    ],
)
def test_tables_that_cannot_be_read_are_refused(folder, output, tmp_path, text, message):
    sites = tmp_path / "sites.csv"
    sites.write_text(text)
    with pytest.raises(DataError, match=message):
        run(folder / "waves.smore", "--count", 1, "--allowed", sites, "-o", output)


def test_what_cannot_be_done_is_refused_before_any_work(folder, output, monkeypatch):
    def work(*_, **__):
        raise AssertionError("sensors were placed")

    monkeypatch.setattr("smore.cli.sensors.plan_sensors", work)
    model = folder / "waves.smore"
    with pytest.raises(SettingsError, match="figures end in"):
        run(model, "--count", 3, "-o", output, "--figure", "sensors.docx")
    with pytest.raises(DataError, match=r"end in \.csv, got sensors\.nc"):
        run(model, "--count", 3, "-o", "sensors.nc")
    output.write_text("x,y,u\n0,0,3.5\n")
    with pytest.raises(DataError, match="holds values already"):
        run(model, "--count", 3, "-o", output)
    with pytest.raises(DataError, match=r"no file sites\.csv"):
        run(model, "--count", 3, "-o", output.with_name("new.csv"), "--allowed", "sites.csv")
    run(model, "--count", 0, code=2)


def test_noise_is_for_all_channels_or_by_name(folder, output):
    def error(noise):
        arguments = ("--count", 4, "--noise", noise, "-o", output, "--json")
        return json.loads(run(folder / "waves.smore", *arguments))["expected_error"]

    assert error("u=0.5,v=0.5") == error("0.5") > error("v=0.5") > error("0")
    with pytest.raises(SettingsError, match="measured, u; got v"):
        run(folder / "waves.smore", "--count", 4, "--channels", "u", "--noise", "v=1", "-o", output)


def test_shares_are_told_with_as_many_nines_as_they_have():
    told = {0.0: "0%", 0.872: "87%", 0.992: "99.2%", 0.99934: "99.93%", 0.999997: "99.9997%"}
    assert {value: told_share(value) for value in told} == told
    assert told_share(1 - 1e-9) == "more than 99.9999%"


def test_a_figure_is_drawn(folder, output):
    figure = folder / "sensors.png"
    printed = run(folder / "waves.smore", "--count", 6, "-o", output, "--figure", figure)
    assert "figure:" in printed
    assert figure.stat().st_size > 10_000


def test_the_figure_compares_on_one_scale(folder):
    surrogate = SMORE.load(folder / "waves.smore").surrogate_
    plan = plan_sensors(surrogate, 3, candidates=surrogate.mesh, channels=["v"], noise=[0.1])
    figure = sensor_figure(surrogate, plan, surrogate.mesh)
    placed, random = (axes.collections for axes in figure.axes[:2])
    assert placed[0].get_clim() == random[0].get_clim()
    np.testing.assert_array_equal(placed[1].get_offsets(), plan.coords)
    np.testing.assert_array_equal(random[1].get_offsets(), plan.random_coords)
    assert figure.axes[2].get_ylabel() == "standard deviation of v (m/s)"
    rms = [float(axes.get_title().split()[-2]) for axes in figure.axes[:2]]
    assert rms[0] < rms[1]


def untrained(coords, geometry="box"):
    """A model of random fields: enough to draw."""
    fields = np.random.default_rng(0).normal(size=(4, 3, 1, len(coords)))
    data = Trajectories.from_arrays(fields, coords, [0.0, 1.0, 2.0], geometry=geometry)
    settings = {"latent_dim": 4, "hidden_dim": 8, "num_hidden": 1, "recipe": "paper", "epochs": 1}
    return SMORE(**settings, validation_fraction=0.0).fit(data, progress=False).surrogate_


def test_on_a_line_deviations_are_curves_through_the_sensors():
    surrogate = untrained(np.linspace(0, 1, 50)[::-1, None])
    plan = plan_sensors(surrogate, 3, candidates=surrogate.mesh)
    axes = sensor_figure(surrogate, plan, surrogate.mesh).axes[0]
    placed, dots, *_ = axes.get_lines()
    assert (np.diff(placed.get_xdata()) > 0).all()
    np.testing.assert_array_equal(dots.get_xdata(), plan.coords[:, 0])
    there = field_deviation(surrogate, plan.coords, plan.variance, "u0", plan.coords)
    np.testing.assert_allclose(dots.get_ydata(), there)
    assert axes.get_xlabel() == "x"


def test_on_a_sphere_sensors_are_drawn_at_the_longitudes_of_the_mesh():
    latitude, longitude = np.random.default_rng(1).uniform([-80, 0], [80, 360], size=(150, 2)).T
    surrogate = untrained(np.column_stack([latitude, longitude]), "sphere")
    west = scattered_mesh(np.column_stack([latitude, longitude - 360.0]), "sphere")
    plan = plan_sensors(surrogate, 3, candidates=west)
    axes = sensor_figure(surrogate, plan, surrogate.mesh).axes[0]
    drawn = np.asarray(axes.collections[1].get_offsets())
    there = np.column_stack([longitude, latitude])[plan.placement.points]
    np.testing.assert_allclose(drawn, there)
    assert axes.get_xlabel() == "longitude (degrees_east)"


def test_sensors_in_more_than_space_are_not_drawn():
    with pytest.raises(DataError, match="4 coordinates"):
        require_drawable(Space(names=("x", "y", "z", "w"), units=("", "", "", "")))
