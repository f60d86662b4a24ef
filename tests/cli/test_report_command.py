"""`smore report` as a user meets it."""

import warnings

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from smore.cli.report import report
from smore.errors import SettingsError
from smore.report import report_page
from waves import planted, trajectories

app = typer.Typer()
app.command()(report)


def run(*arguments):
    """Run the command; returns what it printed, raises what it raises."""
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model and test data in files."""
    place = tmp_path_factory.mktemp("report")
    planted(trajectories()).save(place / "waves.smore")
    trajectories(3, seed=1).save(place / "test.nc")
    return place


def test_the_file_is_the_page_about_model_and_data(folder):
    output = folder / "pages" / "report.html"
    told = run(folder / "waves.smore", folder / "test.nc", "-o", output, "--sequence", 2)
    assert str(output.name) in told.replace("\n", "")
    model = planted(trajectories())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = report_page(
            model, trajectories(3, seed=1), name="waves.smore", test_name="test.nc", sequence=1
        )
    written = output.read_text(encoding="utf-8")
    assert "This is sequence 2 of 3" in written
    assert len(written) == pytest.approx(len(page), rel=0.01)


def test_a_model_alone_will_do(folder):
    run(folder / "waves.smore", "-o", folder / "alone.html")
    written = (folder / "alone.html").read_text(encoding="utf-8")
    assert "No test data were given" in written
    assert 'id="player"' not in written


def test_what_cannot_be_done_is_refused_before_any_work(folder):
    with pytest.raises(SettingsError, match=r"ends in \.html, got"):
        run(folder / "waves.smore", "-o", folder / "report.pdf")
    with pytest.raises(SettingsError, match="give some"):
        run(folder / "waves.smore", "-o", folder / "r.html", "--sequence", 2)
    with pytest.raises(SettingsError, match="one of 3 sequences"):
        run(folder / "waves.smore", folder / "test.nc", "-o", folder / "r.html", "--sequence", 4)
    assert not (folder / "r.html").exists()


def test_gaps_are_masked_where_that_is_asked_for(folder):
    data = trajectories(2, seed=1).to_xarray()
    data["u"].values[:, 2:, ::7] = np.nan
    data.to_netcdf(folder / "gaps.nc")
    run(folder / "waves.smore", folder / "gaps.nc", "--missing", "mask", "-o", folder / "g.html")
    assert (folder / "g.html").stat().st_size > 100_000
