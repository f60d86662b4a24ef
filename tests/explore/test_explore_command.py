"""`smore explore` at the command line."""

import builtins
import sys

import pytest
from typer.testing import CliRunner

from exploring import served
from smore.cli.app import app
from smore.errors import MissingExtraError


def test_it_prints_one_address_and_listens_where_it_is_told(grid_files):
    with served(grid_files[0], "--port", "0") as one, served(grid_files[0]) as other:
        assert one != other


def test_a_stream_is_followed_before_the_page_opens(grid_files, grid_data, tmp_path):
    sequence = grid_data.sequences[0]
    lines = ["time,x,y,u"]
    for time, fields in zip(sequence.times, sequence.fields, strict=True):
        for point in range(0, 256, 40):
            x, y = sequence.mesh.coords[point]
            lines.append(f"{time},{x},{y},{fields[0, point]}")
    (tmp_path / "stream.csv").write_text("\n".join(lines))
    with served(*grid_files, "--stream", tmp_path / "stream.csv") as address:
        assert address


def test_without_bokeh_one_line_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.split(".")[0] == "bokeh":
            raise ModuleNotFoundError("No module named 'bokeh'", name="bokeh")
        return real(name, *rest)

    for name in [each for each in sys.modules if each.startswith(("smore.explore", "bokeh"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "smore.cli.explore", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    result = CliRunner().invoke(app, ["explore", "model.smore"])
    assert isinstance(result.exception, MissingExtraError)
    assert "smore-rom[explore]" in str(result.exception)


@pytest.mark.parametrize("arguments", [["nowhere.smore"], ["nowhere.smore", "--port", "99999"]])
def test_what_cannot_be_opened_is_told(arguments):
    result = CliRunner().invoke(app, ["explore", *arguments])
    assert result.exit_code != 0
