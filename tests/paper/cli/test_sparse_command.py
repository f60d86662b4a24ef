"""`smore sparse` as a user meets it: a table, a picture."""

import json

import pytest
import typer
from typer.testing import CliRunner

from smore import SMORE
from smore.cli.output import console
from smore.errors import SettingsError
from smore_paper.cli.sparse import sparse
from waves import planted, trajectories

app = typer.Typer()
app.command()(sparse)


def run(*arguments):
    console.width = 80  # the table must fit wherever it is printed
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("sparse")
    planted(trajectories()).save(place / "waves.smore")
    trajectories(seed=7).to_xarray().to_netcdf(place / "test.nc")
    return place


def test_json_holds_every_level(folder):
    arguments = (folder / "waves.smore", folder / "test.nc", "--visible", "1,0.5,0.1")
    result = json.loads(run(*arguments, "--masks", 2, "--json"))
    assert result["model"] == str(folder / "waves.smore")
    told = [(level["visible"], level["placement"], level["count"]) for level in result["levels"]]
    assert told == [(1, "random", 40), (0.5, "random", 20), (0.1, "random", 4), (0.1, "placed", 4)]
    assert [len(level["full_mse_per_mask"]) for level in result["levels"]] == [2, 2, 2, 1]
    expected = SMORE.load(folder / "waves.smore").evaluate(folder / "test.nc").full_mse
    assert result["levels"][0]["full_mse"] == expected
    assert all(level["paper_full_mse"] is None for level in result["levels"])


def test_people_get_a_row_per_fraction(folder):
    printed = run(folder / "waves.smore", folder / "test.nc", "--visible", "0.5,0.1", "--masks", 1)
    half, tenth = (
        [*map(str.strip, line.split("│"))] for line in printed.split("\n") if "0%" in line
    )
    assert half[1:3] == ["50%", "20"]
    assert tenth[1:3] == ["10%", "4"]
    assert half[3] == half[4]  # the median of one mask is its worst
    assert half[5] == "-"  # nothing is placed, and the paper has no such data
    assert tenth[5] != "-"
    assert half[6] == tenth[6] == "-"
    assert "paper:" not in printed


def test_a_benchmark_model_stands_beside_the_paper(folder, monkeypatch):
    """Any koopman model scored on the Wave benchmark is compared with wave-koopman."""

    class Benchmark:
        name = "wave"
        test = trajectories(seed=7)

    monkeypatch.setattr("smore_paper.cli.sparse.load_benchmark", lambda name: Benchmark)
    asked = (folder / "waves.smore", "--dataset", "wave", "--visible", "1,0.5", "--masks", 1)
    printed = run(*asked)
    assert "0.000201" in printed
    assert "paper: wave-koopman, with c_S = 0 at 2%, 1%" in printed
    levels = json.loads(run(*asked, "--json"))["levels"]
    assert [level["paper_full_mse"] for level in levels] == [2.01e-4, 2.05e-4]


def test_a_picture_is_drawn(folder, tmp_path):
    asked = (folder / "waves.smore", folder / "test.nc", "--visible", "1,0.5,0.25,0.1")
    run(*asked, "--figure", tmp_path / "sparse.png")
    assert (tmp_path / "sparse.png").stat().st_size > 20_000


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--visible", "ten percent"], "separated by commas"),
        (["--visible", "0.5,2"], "above 0 and up to 1"),
        (["--figure", "sparse.txt"], "figures end in"),
        (["--dataset", "wave"], "a file, or a benchmark"),
    ],
)
def test_what_cannot_be_done_is_refused(folder, wrong, message):
    with pytest.raises(SettingsError, match=message):
        run(folder / "waves.smore", folder / "test.nc", *wrong)
