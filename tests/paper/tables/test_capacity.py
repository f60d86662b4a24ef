"""The largest grids, on grids of a second: who gets which data, and what rows and page say."""

import json
from dataclasses import asdict, replace

import pytest
import typer
from typer.testing import CliRunner

from smore.errors import DataError, SettingsError
from smore_paper.baselines.fno import FNO
from smore_paper.cli import reproduce
from smore_paper.measuring.bounded_process import Measured
from smore_paper.measuring.textbook import decode_snapshots
from smore_paper.page.whole import page_text
from smore_paper.tables.capacity import baseline_updates, streamed_fit
from smore_paper.tables.capacity import measure as capacity
from smore_paper.tables.capacity.draw import capacity_figure, draw_capacity
from smore_paper.tables.capacity.measure import (
    BASELINES,
    PAPER_GRIDS,
    Capacity,
    baseline_capacity,
    smore_capacity,
)
from smore_paper.tables.ledger import read_rows

MEGABYTE = 10**6


def command(app, name, *arguments):
    root = typer.Typer()
    root.add_typer(app, name=name)
    result = CliRunner().invoke(root, [name, "capacity", *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.fixture
def here(monkeypatch):
    """Measure in this process, with a peak of our choice."""

    def measured(bound, function, *arguments):
        return Measured(function(*arguments), 1500 * MEGABYTE)

    monkeypatch.setattr(streamed_fit, "measured_within", measured)


@pytest.fixture
def pretended(monkeypatch):
    """Baselines that take 400 MB and 1 MB for every ten points, and SMORE that takes 1.5 GB."""

    def measured(bound, function, *arguments):
        peak = 400 * MEGABYTE + arguments[-1] ** 2 * MEGABYTE // 10
        return Measured(0.5, peak) if peak <= bound else None

    def fitted(data, settings, scratch):
        fit = streamed_fit.StreamedFit(10.0, 100.0, 50.0, 4096, data.num_bytes, "cpu")
        return Measured(fit, 1500 * MEGABYTE)

    monkeypatch.setattr(capacity, "measured_within", measured)
    monkeypatch.setattr(capacity, "fit_generated", fitted)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("here")
def test_smore_streams_all_snapshots_and_leaves_nothing_behind(tmp_path, monkeypatch):
    seen = []
    prepare = streamed_fit.prepare

    def spy(trajectories, *arguments, **options):
        seen.append(prepare(trajectories, *arguments, **options))
        return seen[-1]

    monkeypatch.setattr(streamed_fit, "prepare", spy)
    found = smore_capacity(16, 3, "5MB", tmp_path)
    assert (found.grid, found.points, found.sequences, found.snapshots) == (16, 256, 3, 20)
    assert (found.peak_megabytes, found.within_bound, found.paper_grid) == (1500.0, "yes", 1714)
    assert found.disk_megabytes == pytest.approx(3 * 20 * 256 * 4 / 1e6, rel=0.1)
    assert 64 <= found.chunk_size < 256
    streamed = seen[-1]  # after the warm-up
    assert streamed.trajectories.is_lazy
    assert streamed.problem.timeline.num_snapshots == 60
    assert (streamed.settings.epochs, streamed.settings.latent_dim) == (2, 72)
    assert found.total_seconds > 2 * found.seconds_per_epoch > 0
    assert list(tmp_path.iterdir()) == []


def test_a_fit_that_would_fill_the_machine_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(streamed_fit, "measured_within", lambda *_: None)
    with pytest.raises(DataError, match=r"8 x 8 took more than .* with --memory"):
        smore_capacity(8, 1, "5MB", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_operators_roll_out_the_whole_batch_over_nine_steps(monkeypatch):
    batches = []

    def spy(network, batch, windows_at_once):
        batches.append((tuple(batch.shape), windows_at_once))
        return 1.0

    monkeypatch.setattr("smore_paper.baselines.rollout_operator.accumulate_rollout_loss", spy)
    small = FNO(4, 3, 1, windows_at_once=8, device="cpu")
    monkeypatch.setattr(baseline_updates, "paper_operator", lambda *_, **__: small)
    baseline_updates.operator_updates("fno", 16)
    assert batches == [((32, 10, 1, 16, 16), None)] * 2


def test_dino_decodes_every_snapshot_at_every_point(monkeypatch):
    shapes = []

    def spy(decoder, coords, codes):
        shapes.append((tuple(coords.shape), tuple(codes.shape), float(coords.max())))
        fields = decode_snapshots(decoder, coords, codes)
        assert fields.requires_grad
        return fields

    monkeypatch.setattr(baseline_updates, "decode_snapshots", spy)
    baseline_updates.decoder_updates(4)
    assert shapes == [((16, 2), (320, 72), 0.375)] * 2


@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize(("model", "grid", "following"), [("fno", 126, 127), ("cno", 120, 128)])
def test_the_largest_grid_of_a_baseline_is_searched(model, grid, following):
    said = []
    found = baseline_capacity(model, 2000 * MEGABYTE, said.append)
    assert (found.grid, found.next_grid, found.train_length) == (grid, following, 10)
    assert found.peak_megabytes == pytest.approx(400 + grid**2 / 10)
    assert found.next_megabytes == pytest.approx(400 + following**2 / 10)
    assert (found.sequences, found.snapshots, found.total_seconds) == (32, 20, 1.0)
    assert said[-1] == f"{model} on {grid} x {grid}: {400 + grid**2 / 10:,.0f} MB"


def test_the_papers_grids_have_the_papers_ratios():
    points = {model: grid**2 for model, grid in PAPER_GRIDS.items()}
    ratios = [points[model] / points["transolver"] for model in PAPER_GRIDS]
    assert ratios == pytest.approx([1.0, 6.49, 17.93, 23.01, 717.24], abs=0.005)


@pytest.mark.usefixtures("pretended")
def test_some_cases_may_be_asked_for(tmp_path):
    asked = ("--grid", 1000, "--sequences", 2, "--model", "smore-lrlq", "--model", "dino")
    where = ("--results", tmp_path / "results", "--bound", "2GB", "--json")
    rows = json.loads(command(reproduce.app, "reproduce", *asked, *where))
    assert [(row["model"], row["grid"]) for row in rows] == [("smore-lrlq", 1000), ("dino", 126)]
    assert rows[0]["total_seconds"] == 10 + 2 * 100 + 50


@pytest.mark.usefixtures("pretended")
def test_the_table_resumes_and_fills_the_page(tmp_path):
    results = tmp_path / "results"
    asked = ("--results", results, "--bound", "2GB", "--json")
    rows = json.loads(command(reproduce.app, "reproduce", *asked))
    assert json.loads(command(reproduce.app, "reproduce", *asked)) == rows
    assert read_rows(results / "capacity.csv") == rows
    told = [(row["model"], row["asked_grid"], row["asked_sequences"]) for row in rows]
    largest = [(model, "largest", 32) for model in BASELINES]
    assert told == [("smore-lrlq", 1714, 32), ("smore-lrlq", 4096, 4), *largest]
    page = page_text(results, tmp_path / "page.md")
    assert (
        "**Largest grid.** SMORE, streamed from disk, is trained on 1,714 x 1,714 (32 sequences) "
        "in 1.5 GB and on 4,096 x 4,096 (4 sequences) in 1.5 GB; the best baseline, Transolver, on "
        "126 x 126 (32 sequences) in 2 GB: 185x the points for as many sequences (paper: 31.2x)."
    ) in page
    assert (
        "| SMORE-LRLQ | 4,096 x 4,096 | 1,714 x 1,714 | 4 x 20 | 1.5 GB | 2 GB | 5.37 GB "
        "| 1.7 min | streamed from disk |"
    ) in page
    assert (
        "| CNO | 120 x 120 | 307 x 307 | 32 x 20 | 1.84 GB | 2 GB | - | 0.5 s "
        "| whole batch at once |"
    ) in page
    assert "](results/capacity.png)" in page


def test_without_results_nothing_was_run(tmp_path):
    page = page_text(tmp_path, tmp_path / "page.md")
    assert "**Largest grid.** not run" in page
    assert "| FNO | not run | 271 x 271 | - | - | - | - | - | - |" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--grid", 64), "every --grid needs its --sequences, got 1 and 0"),
        (("--model", "unet"), "--model takes smore-lrlq, .*; got unet"),
        (("--bound", "much"), "told as 4GB or 500MB, got 'much'"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, message, tmp_path):
    with pytest.raises(SettingsError, match=message):
        command(reproduce.app, "reproduce", *arguments, "--results", tmp_path)


@pytest.mark.usefixtures("pretended")
def test_bars_are_the_largest_grids(tmp_path):
    assert draw_capacity(tmp_path) == []
    fno = baseline_capacity("fno", 2000 * MEGABYTE, lambda _: None)
    figure = capacity_figure({"fno": asdict(fno), "smore-lrlq": asdict(_large(fno))})
    bars = {
        (round(bar.get_y() + bar.get_height() / 2, 2), bar.get_width())
        for bar in figure.axes[0].patches
    }
    paper = {(place + 0.19, grid) for place, grid in enumerate(PAPER_GRIDS.values())}
    assert bars == paper | {(1.81, 126), (3.81, 4096)}


def _large(row: Capacity) -> Capacity:
    return replace(row, model="smore-lrlq", grid=4096)
