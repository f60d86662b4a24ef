"""`smore assimilate`, from files to a file."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr
from typer.testing import CliRunner

from smore.cli.app import app
from waves import STEP, codes, solution


def written(tmp_path, exact, rows):
    exact.save(tmp_path / "model.smore")
    times, coords, values, sensors = rows(12, 4)
    lines = ["time,sensor,x,y,u,v"]
    for t, (x, y), (u, v), name in zip(times, coords, values, sensors, strict=True):
        lines.append(f"{t},{name},{x},{y},{u},{'' if name == 's1' else v}")
    (tmp_path / "stream.csv").write_text("\n".join(lines))
    return str(tmp_path / "model.smore"), str(tmp_path / "stream.csv")


def test_fields_forecast_and_figure_come_from_a_table(tmp_path, exact, rows):
    model, stream = written(tmp_path, exact, rows)
    output, figure = tmp_path / "analysis.nc", tmp_path / "analysis.png"
    how = ["--smooth", "--noise", "0", "--forecast", "6,6.5", "--json"]
    files = ["-o", str(output), "--figure", str(figure)]
    told = CliRunner().invoke(app, ["assimilate", model, stream, *how, *files])
    assert told.exit_code == 0, told.output
    result = json.loads(told.stdout)
    assert result["values"] == 12 * 7
    assert result["broken"] == []
    assert figure.stat().st_size > 10_000
    fields = xr.open_dataset(output)
    np.testing.assert_allclose(fields.time, STEP * np.arange(14))
    points = np.column_stack([fields.x, fields.y])
    truth = solution(codes(1, 5), points, fields.time.values)[0]
    np.testing.assert_allclose(fields.u.values[0], truth[:, 0], atol=5e-3)
    assert (fields.u_std.values >= 0).all()


def test_forecasts_count_from_the_last_time_of_the_stream(tmp_path, exact, rows):
    model, stream = written(tmp_path, exact, rows)
    output = tmp_path / "analysis.nc"
    how = ["--noise", "0", "--forecast", f"+1.5:{STEP}", "-o", str(output)]
    told = CliRunner().invoke(app, ["assimilate", model, stream, *how])
    assert told.exit_code == 0, told.output
    assert "note: fields are at the 40 points of the training mesh; for a map: --p" in told.stderr
    np.testing.assert_allclose(xr.open_dataset(output).time, STEP * np.arange(15))
    told = CliRunner().invoke(app, ["assimilate", model, stream, "--forecast", "+soon"])
    assert str(told.exception).startswith("--forecast takes numbers separated by commas")


def test_what_is_wrong_is_said_in_one_line(tmp_path, exact, rows):
    model, stream = written(tmp_path, exact, rows)
    for arguments in (
        [model, str(tmp_path / "none.csv")],
        [model, stream, "--forecast", "soon"],
        [model, stream, "--noise", "-1"],
        [model, stream, "-o", "fields.txt"],
    ):
        told = CliRunner().invoke(app, ["assimilate", *arguments])
        assert told.exit_code != 0
