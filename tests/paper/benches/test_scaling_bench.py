"""Cost against points: the slope that is fitted, and the grids that it is fitted to."""

import json

import pytest
import typer
from typer.testing import CliRunner

from smore.errors import SettingsError
from smore_paper.benches import scaling as scaling_bench
from smore_paper.benches.scaling import exponent
from smore_paper.benches.team import TeamBench
from smore_paper.cli import bench, bench_scale
from smore_paper.measuring.bounded_process import Measured
from smore_paper.tables.capacity.streamed_fit import StreamedFit


@pytest.fixture
def asked(monkeypatch):
    """Fits that take 2e-5 seconds for every point, and remember what they were."""
    found = []

    def fitted(data, settings, scratch):
        found.append((data, settings))
        fit = StreamedFit(0.1, 2e-5 * data.points, 0.0, 5000, data.num_bytes, "cpu")
        return Measured(fit, 600_000_000 + data.grid * 100_000)

    monkeypatch.setattr(scaling_bench, "fit_generated", fitted)
    team = TeamBench(65536, (1, 2), (3.0, 1.5), 2.0)
    monkeypatch.setattr(bench_scale, "bench_team", lambda: team)
    return found


def command(*arguments):
    root = typer.Typer()
    root.add_typer(bench.app, name="bench")
    result = CliRunner().invoke(root, ["bench", "scaling", *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.mark.parametrize("power", [0.5, 1.0, 1.3])
def test_the_exponent_is_that_of_a_power_law(power):
    points = [64**2, 256**2, 2048**2]
    assert exponent(points, [3e-6 * n**power for n in points]) == pytest.approx(power)


def test_every_grid_gets_one_epoch_in_the_same_memory(asked):
    told = json.loads(command("--json"))
    assert [data.grid for data, _ in asked] == [64, 128, 256, 512, 1024, 2048]
    assert {(data.sequences, data.snapshots) for data, _ in asked} == {(2, 10)}
    assert {(each.epochs, each.memory, each.recipe) for _, each in asked} == {
        (1, 200_000_000, "paper")
    }
    assert told["time_exponent"] == pytest.approx(1.0)
    assert told["memory_ratio"] == pytest.approx(804.8 / 606.4)
    assert told["speedup"] == 2.0
    assert [cost["points"] for cost in told["grids"]] == [data.points for data, _ in asked]


def test_rows_of_all_grids_are_written(asked, tmp_path):
    where = ["--results", tmp_path / "scaling.csv", "--team-results", tmp_path / "team.csv"]
    command("--grid", 32, "--grid", 16, *where)
    assert "65536,1 2,3.0 1.5,2.0" in (tmp_path / "team.csv").read_text()
    header, *rows = (tmp_path / "scaling.csv").read_text().splitlines()
    column = header.split(",").index("grid")
    assert [row.split(",")[column] for row in rows] == ["16", "32"]


def test_one_grid_has_no_slope():
    with pytest.raises(SettingsError, match="two or more --grid, got 1"):
        command("--grid", 64)
