"""The page says what the tables say, and "not run" where they say nothing."""

import csv
import json
import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

from smore import SMORE
from smore.errors import SettingsError
from smore_paper.cli import reproduce
from smore_paper.page.markdown import duration, number
from smore_paper.page.whole import page_text, write_page
from smore_paper.presets import preset
from smore_paper.tables.sparse import measure as sparse_table
from waves import planted, trajectories

WAVE_KOOPMAN = (9 * 6.74e-5 + 10 * 3.22e-4) / 19  # 2.01e-4
WAVE_FNO = (9 * 2.89e-4 + 10 * 7.37e-2) / 19  # 3.89e-2


def write(folder, name, rows):
    folder.mkdir(exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def rollout_row(dataset, model, recipe, full, seed=0, **changes):
    row = {"key": f"{dataset}_{model}_{recipe}_seed{seed}", "dataset": dataset, "model": model}
    row |= {"recipe": recipe, "seed": seed, "in_horizon_mse": full and full / 2}
    row |= {"extrapolation_mse": full and 2 * full, "full_mse": full, "parameters": 1234}
    row |= {"budget_minutes": 10.0, "epochs": 17, "seconds": 630.0, "device": "cpu"}
    return row | {"selection": "somehow", "status": "done", "remark": ""} | changes


def stability_row(dataset, configuration, latent_dim, full, epoch=None, **changes):
    row = {"key": f"{dataset}_{configuration}_{latent_dim}", "dataset": dataset, "seed": 0}
    row |= {"configuration": configuration, "latent_dim": latent_dim, "epochs": 300}
    row |= {"first_non_finite_epoch": epoch, "full_mse": full}
    return row | {"status": "done", "remark": ""} | changes


def sparse_row(visible, full, placement="random", model="wave-koopman"):
    row = {"key": f"{model}_{visible}_{placement}", "dataset": "wave", "model": model, "seed": 0}
    row |= {
        "recipe": "fast",
        "method": "posterior",
        "visible": visible,
        "placement": placement,
        "full_mse": full,
        "observability": 0.25,
    }
    return row | {"seconds": 90.0, "status": "done", "remark": ""}


@pytest.fixture
def text(tmp_path):
    """The page as it is after `results` were written."""
    return lambda: page_text(tmp_path / "results", tmp_path / "docs" / "page.md")


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results"


def cells(text, heading, first):
    """The cells of the line that begins with `first` in the first table after `heading`."""
    after = text[text.index(heading) :]
    line = next(line for line in after.split("\n") if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2.014e-4, "2.01e-4"), (53.0, "5.30e1"), (0.0, "0"), (None, "-"), (float("inf"), "overflow")],
)
def test_numbers_are_told_as_the_paper_tells_them(value, expected):
    assert number(value) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.52, "0.52 s"), (12.4, "12 s"), (90.0, "1.5 min"), (5400.0, "1.5 h"), (40_000.0, "11 h")],
)
def test_durations_are_told_in_their_own_unit(seconds, expected):
    assert duration(seconds) == expected


def test_without_results_nothing_was_run(text):
    page = text()
    assert cells(page, "**Rollout.**", "SMORE-Koopman, fast")[1:] == ["not run"] * 3
    assert cells(page, "### wave", "FNO")[2:5] == [
        "not run (2.89e-4)",
        "not run (7.37e-2)",
        f"not run ({number(WAVE_FNO)})",
    ]
    assert cells(page, "### wave", "POD + DMD")[2:5] == ["not run"] * 3
    assert "- wave: not run" in page
    assert "**Stability.** not run" in page
    assert "**Sparse initialisation.** not run" in page
    assert cells(page, "## Stability", "FULL")[5:] == [
        "not run (3.90e-2)",
        "not run (4.97e-3)",
        "not run (2.00e-3)",
        "not run (1.92e-3)",
        "not run (2.34e-3)",
        "not run (+16.7%)",
    ]
    assert cells(page, "### wave-koopman", "2%")[1:4] == ["not run (6.96e-4)", "not run", "not run"]


def test_claims_hold_up_to_a_factor_of_two(results, text):
    rows = [
        rollout_row("wave", "smore-koopman", "fast", 1.99 * WAVE_KOOPMAN),
        rollout_row("wave", "smore-koopman", "paper", 2.01 * WAVE_KOOPMAN),
        rollout_row("wave", "fno", "baseline", None, status="failed", remark="not a grid"),
    ]
    write(results, "rollout", rows)
    page = text()
    assert "at most 2 times the one claimed" in page
    assert cells(page, "**Rollout.**", "SMORE-Koopman, fast")[1] == "1.99x, holds"
    assert cells(page, "**Rollout.**", "SMORE-Koopman, paper")[1] == (
        "2.01x, trained too little to say (17 of 5,000 epochs)"
    )
    assert cells(page, "**Rollout.**", "FNO")[1] == "failed"
    assert "- `wave_fno_baseline_seed0` (failed): not a grid" in page


def test_a_line_has_claimed_measured_ratio_and_cost(results, text):
    rows = [
        rollout_row("wave", "fno", "baseline", 0.02, seed=0),
        rollout_row("wave", "fno", "baseline", 0.04, seed=1, seconds=570.0, epochs=18),
    ]
    write(results, "rollout", rows)
    assert cells(text(), "### wave", "FNO") == [
        "FNO",
        "2",
        "1.50e-2 ± 7.07e-3 (2.89e-4, 51.9x)",
        "6.00e-2 ± 2.83e-2 (7.37e-2, 0.814x)",
        f"3.00e-2 ± 1.41e-2 ({number(WAVE_FNO)}, 0.771x)",
        "1,234 (117,356)",
        "10 min",
        "18",
        "10 min",
        "cpu",
        "somehow",
    ]


def test_rows_of_one_protocol_stand_in_a_table_of_their_own(results, text):
    last = {"selection": "end of training"}
    test = {"selection": "test set (the paper's protocol)"}
    rows = [
        rollout_row("wave", "fno", "baseline", 0.02, **last),
        rollout_row("wave", "smore-lrlq", "paper", 0.01, **test),
    ]
    write(results, "rollout", rows)
    assert "the same protocol: not run." in text()
    assert "All alike" not in text()
    told = rollout_row("wave", "fno", "baseline", 0.08, **test)
    write(results, "rollout", [*rows, told | {"key": f"{told['key']}_selection=test"}])
    page = text()
    assert "the same protocol: tables of their own below." in page
    assert page.count("All alike") == 1
    assert cells(page, "### wave", "FNO")[4] == f"2.00e-2 ({number(WAVE_FNO)}, 0.514x)"
    alike = "All alike, test set (the paper's protocol):"
    assert cells(page, alike, "FNO")[4] == f"8.00e-2 ({number(WAVE_FNO)}, 2.06x)"
    assert cells(page, alike, "SMORE-LRLQ, paper")[4].startswith("1.00e-2 ")
    assert "POD + DMD" not in page[page.index(alike) : page.index("### navier-stokes")]
    glance = cells(page, "**Rollout.**", "FNO")[1]
    assert glance == "0.514x, holds (17 of 5,000 epochs)"


def test_rows_of_the_texts_data_stand_apart(results, text):
    rows = [rollout_row(name, "fno", "baseline", 0.02) for name in ("wave", "wave-literal")]
    write(results, "rollout", rows[:1])
    assert "literal" not in text()
    write(results, "rollout", rows)
    page = text()
    assert cells(page, "### wave-literal", "FNO")[4] == f"2.00e-2 ({number(WAVE_FNO)}, 0.514x)"
    after = page[page.index("### wave-literal") : page.index("## The paper's recipe")]
    assert "CNO" not in after  # only what was run
    assert "wave-literal" not in page[: page.index("## Rollout")]


def test_the_lowest_errors_are_those_of_the_tables(results, text):
    rows = [
        rollout_row("wave", "smore-lrlq", "fast", 3e-3),
        rollout_row("wave", "smore-koopman", "paper", 9e-3),
        rollout_row("wave", "dino", "baseline", 5e-3),
        rollout_row("wave", "fno", "baseline", float("nan")),
        rollout_row("wave", "pod-dmd", "baseline", 1e-9),  # not one of the paper's
    ]
    write(results, "rollout", rows)
    claimed = cells(text(), "The lowest error", "claimed")[1:]
    assert claimed == ["SMORE-Koopman"] * 2 + ["SMORE-LRLQ"] * 2 + ["SMORE-Koopman"] * 2
    fast = cells(text(), "The lowest error", "measured, SMORE fast")[1:]
    assert fast == ["SMORE-LRLQ (of 3)"] * 2 + ["not run"] * 4
    assert cells(text(), "The lowest error", "measured, SMORE paper")[1] == (
        "DINo (of 2); SMORE-Koopman trained too little"
    )


def test_nobody_is_crowned_over_models_that_were_trained_too_little(results, text):
    few = {"epochs": 7}
    rows = [
        rollout_row("wave", "smore-koopman", "fast", 5e-8),
        rollout_row("wave", "fno", "baseline", 100 * WAVE_FNO, **few),
        rollout_row("wave", "dino", "baseline", 0.5, **few),
        rollout_row("navier-stokes", "smore-lrlq", "fast", 4e-4),
        rollout_row("navier-stokes", "fno", "baseline", 1e-3, **few),  # its claim holds
        rollout_row("navier-stokes", "cno", "baseline", 0.5, **few),
        rollout_row("shallow-water", "smore-koopman", "fast", 0.3),
        rollout_row("shallow-water", "dino", "baseline", 0.2, **few),  # ahead even so
    ]
    write(results, "rollout", rows)
    assert cells(text(), "The lowest error", "measured, SMORE fast")[1:] == (
        ["cannot be said: FNO, DINo trained too little"] * 2
        + ["SMORE-LRLQ (of 2); CNO trained too little"] * 2
        + ["DINo (of 2)"] * 2
    )


def test_without_smore_there_is_no_lowest_error(results, text):
    write(results, "rollout", [rollout_row("wave", "dino", "baseline", 5e-3)])
    assert cells(text(), "The lowest error", "measured, SMORE fast")[1] == "not run"


def test_what_beats_what_at_equal_cost(results, text):
    rows = [
        rollout_row("wave", "smore-koopman", "fast", 1e-4, seconds=120.0, budget_minutes=None),
        rollout_row("wave", "smore-lrlq", "fast", 2e-4, seconds=500.0, budget_minutes=None),
        rollout_row("wave", "smore-lrlq", "paper", 1e-6, budget_minutes=None),  # took hours
        rollout_row("wave", "smore-koopman", "paper", 4e-4),
        rollout_row("wave", "fno", "baseline", 3e-2),
        rollout_row("wave", "cno", "baseline", float("inf"), budget_minutes=9.0),
        rollout_row("wave", "dino", "baseline", None, status="failed", remark="diverged"),
        rollout_row("wave", "pod-dmd", "baseline", 1e-8, seconds=12.0, budget_minutes=None),
        rollout_row("wave", "opinf", "baseline", 1.2e-4, seconds=30.0, budget_minutes=None),
    ]
    write(results, "rollout", rows)
    (line,) = re.findall(r"^- wave: .*$", text(), re.MULTILINE)
    assert line == (
        "- wave: SMORE-Koopman, fast (1.00e-4 in 2 min) beats FNO (3.00e-2 in 10 min), "
        "CNO (overflow in 10 min), SMORE-Koopman, paper (4.00e-4 in 10 min); "
        "it is even with operator inference (1.20e-4 in 30 s); "
        "it is beaten by POD + DMD (1.00e-8 in 12 s); "
        "less time than its due had CNO; "
        "no result: Transolver (not run), DINo (failed)"
    )


def algorithm1_row(dataset, model, full, selection="test", seed=0):
    row = {"key": f"{dataset}_{model}_{selection}_{seed}", "dataset": dataset, "model": model}
    row |= {"selection": selection, "seed": seed, "in_horizon_mse": full, "full_mse": full}
    row |= {"extrapolation_mse": full, "last_full_mse": 2 * full, "decoder_mse": full / 10}
    return row | {"seconds": 600.0, "status": "done", "remark": ""}


def test_the_recipe_to_its_end_is_told_by_both_protocols(results, text):
    claim = (9 * 1.01e-3 + 10 * 2.00e-3) / 19  # of Navier-Stokes LRLQ
    rows = [algorithm1_row("navier-stokes", "smore-lrlq", f * claim, seed=f) for f in (1, 2)]
    rows += [algorithm1_row("navier-stokes", "smore-lrlq", 5 * claim, "held-out")]
    rows += [algorithm1_row("wave", "smore-lrlq", 1.0)]
    write(results, "algorithm1", rows)
    page = text()
    told = f"{number(1.5 * claim)} ± {number(claim / math.sqrt(2))}"
    assert f"navier-stokes, SMORE-LRLQ: {told}, 1.5x, holds (2 seeds); selected on" in page
    assert "wave, SMORE-LRLQ: 1.00e0, 955x, does not hold (1 seed); selected on held-out" in page
    assert "navier-stokes, SMORE-Koopman: cannot be said here (not run)" in page
    line = cells(page, "## The paper's recipe", "navier-stokes, SMORE-LRLQ")
    assert line[1] == "2"
    assert line[4] == f"{told} ({number(claim)}, 1.5x)"
    assert line[7:] == [number(5 * claim), "10 min"]


def test_rates_are_told_by_grid(results, text):
    def row(decoder, dynamics, error, seed):
        told = {"key": f"{decoder}_{dynamics}_{seed}", "dataset": "wave", "model": "smore-lrlq"}
        told |= {"decoder_rate": decoder, "dynamics_rate": dynamics, "seed": seed}
        return told | {"training_mse": error, "status": "done", "remark": ""}

    rows = [row(1e-3, 3e-3, error, seed) for seed, error in enumerate((0.1, 0.2, 0.9))]
    write(results, "rates", [*rows, row(1e-3, 1e-2, math.inf, 0), row(1e-2, 1e-2, 0.5, 0)])
    line = cells(text(), "wave, SMORE-LRLQ:\n\n| decoder", "1e-3")
    assert line == ["1e-3", "not run", "**2.00e-1 (3)**", "overflow (1)"]
    assert cells(text(), "wave, SMORE-LRLQ:\n\n| decoder", "1e-2")[3] == "5.00e-1 (1)"


def reduced_row(model, full, recipe="baseline", converged="yes", seed=0):
    row = {"key": f"{model}_{recipe}_{seed}", "dataset": "wave", "model": model, "recipe": recipe}
    row |= {"seed": seed, "in_horizon_mse": full, "extrapolation_mse": full, "full_mse": full}
    row |= {"validation_mse": full, "converged": converged, "epochs": 300, "parameters": 40_000}
    row |= {"seconds": 120.0, "forecast_seconds": 0.02, "curve": None}
    return row | {"status": "done", "remark": ""}


def test_the_reduced_ranking_is_told_if_all_have_converged(results, text):
    order = ["smore-koopman", "fno", "transolver", "dino", "smore-lrlq", "cno"]  # the paper's
    rows = [
        reduced_row(model, 2.0**place, "paper" if model.startswith("smore") else "baseline")
        for place, model in enumerate(order)
    ]
    write(results, "reduced", rows)
    line = cells(text(), "**Ranking", "lowest error, SMORE paper")
    assert line[1:3] == ["SMORE-Koopman: holds"] * 2
    assert line[3:] == ["not run"] * 4
    pairs = cells(text(), "**Ranking", "pairs as in the paper, SMORE paper")
    assert pairs[1] == "14 of 14"  # DINo and SMORE-LRLQ are even in the paper
    assert cells(text(), "### wave, reduced", "FNO")[6:] == [
        "1 of 1",
        "300",
        "2 min",
        "0.02 s",
        "40,000",
    ]
    fast = cells(text(), "**Ranking", "lowest error, SMORE fast")
    assert fast[1] == "cannot be said: SMORE-Koopman, SMORE-LRLQ not run"
    rows[1] |= {"converged": "no"}
    rows[0] |= {"in_horizon_mse": 99.0}
    write(results, "reduced", rows)
    line = cells(text(), "**Ranking", "lowest error, SMORE paper")
    assert line[1] == "cannot be said: FNO not converged"
    rows[1] |= {"converged": "yes"}
    write(results, "reduced", rows)
    assert cells(text(), "**Ranking", "lowest error, SMORE paper")[1] == "FNO: does not hold"


def test_stability_is_told_by_dimension(results, text):
    rows = [
        stability_row("navier-stokes", "FULL", 10, 7.594e-2),
        stability_row("navier-stokes", "FULL", 10, 7.994e-2, seed=2),
        stability_row("navier-stokes", "FULL", 50, 4e-3),
        stability_row("navier-stokes", "FULL", 100, 5e-3),
        stability_row("shallow-water", "FULL", 100, 1e-3),
        stability_row("shallow-water", "FULL without low rank", 70, float("inf"), epoch=88),
        stability_row("shallow-water", "FULL without low rank", 100, 2e-3),
    ]
    write(results, "stability", rows)
    page = text()
    assert cells(page, "### navier-stokes\n\nEpochs", "FULL") == [
        "FULL",
        *["on"] * 4,
        "7.79e-2 ± 2.83e-3 (3.90e-2, 2x)",
        "not run (4.97e-3)",
        "4.00e-3 (2.00e-3, 2x)",
        "not run (1.92e-3)",
        "5.00e-3 (2.34e-3, 2.14x)",
        "+25.0% (+16.7%)",
    ]
    assert cells(page, "### shallow-water\n\nEpochs", "FULL without low rank")[5:] == [
        "not run (8.71e-4)",
        "overflow (2.54e-3, overflow); non-finite: 88 (160)",
        "2.00e-3 (5.48e-3, 0.365x); non-finite: never (137)",
        "not run (+529.2%)",
    ]
    assert "Epochs asked for: 300." in page
    assert (
        "- shallow-water, 300 epochs\n    - non-finite or not: FULL as claimed at p = 100; OFF "
        "cannot be told; FULL without low rank as claimed at p = 70, not as claimed at p = 100\n"
    ) in page
    assert "growth: FULL +25.0% (+16.7%), OFF not run (+267.0%)" in page
    assert "that FULL grows least cannot be told: not run" in page


@pytest.mark.parametrize(
    ("full", "others", "told"),
    [
        ((2e-3, 2.2e-3), (2e-3, 4e-3), "holds\n"),
        ((2e-3, 2.2e-3), (2e-3, math.inf), "holds\n"),
        ((2e-3, 4e-3), (2e-3, 3e-3), "does not hold\n"),
        ((2e-2, 2.337e-2), (2e-3, 4e-3), "holds, but with errors up to 10x the claimed ones"),
        ((2e-3, 2.2e-3), (math.inf, 4e-3), "holds\n"),
        ((2e-3, math.inf), (2e-3, math.inf), "cannot be told: its forecasts overflow"),
    ],
)
def test_whether_full_grows_least_is_told_with_what_it_is_worth(results, text, full, others, told):
    rows = [
        stability_row("navier-stokes", name, p, error)
        for name, errors in (("FULL", full), ("OFF", others), ("FULL without low rank", others))
        for p, error in zip((50, 100), errors, strict=True)
    ]
    write(results, "stability", rows)
    assert f"that FULL grows least {told}" in text()


def test_other_starts_stand_apart(results, text):
    usual = stability_row("shallow-water", "OFF", 50, 1e-2, epoch=56, start=None)
    other = stability_row("shallow-water", "OFF", 50, 8.61e-4, start=0.0)
    write(results, "stability", [usual, other | {"key": "OFF_50_start=0.0"}])
    page = text()
    assert cells(page, "### shallow-water\n\nEpochs", "OFF")[5].startswith("1.00e-2")
    line = cells(page, "Other starts", "shallow-water")
    assert line[1:] == ["OFF", "50", "0", "300", "8.61e-4 (8.61e-4, 1x); non-finite: never (8111)"]


def test_what_the_paper_sees_later_than_we_trained_is_no_contradiction(results, text):
    write(results, "stability", [stability_row("shallow-water", "OFF", 50, 1e-3)])
    assert "OFF cannot be told" in text()  # the paper's turns non-finite in epoch 8,111
    write(results, "stability", [stability_row("shallow-water", "OFF", 50, 1e-3, epoch=56)])
    assert "OFF not as claimed at p = 50" in text()


def test_sparse_levels_stand_beside_the_paper(results, text):
    rows = [sparse_row(1.0, 1e-7), sparse_row(0.02, 1.4e-3), sparse_row(0.02, 1e-5, "placed")]
    write(results, "sparse", rows)
    page = text()
    assert "- wave-koopman, fast recipe, posterior: holds at 1 of 2 fractions, not at 2%" in page
    assert "`smore reproduce sparse --recipe paper --method adam`: not run." in page
    assert "- ns-lrlq: not run" in page
    assert cells(page, "### wave-koopman", "2%") == [
        "2%",
        "1.40e-3 (6.96e-4, 2.01x)",
        "1.00e-5",
        "2.50e-1",
        "0",
        "1.5 min",
    ]


def test_models_and_fits_of_the_papers_way_are_not_mixed_with_the_others(results, text):
    rows = [sparse_row(0.5, 1e-7)]
    for seed, full in enumerate((3e-4, 5e-4)):
        paper = sparse_row(0.5, full) | {"recipe": "paper", "method": "adam", "seed": seed}
        rows.append(paper | {"key": f"{paper['key']}_{seed}"})
    write(results, "sparse", rows)
    (results / "sparse_fields_wave_paper-adam.png").touch()
    page = text()
    assert cells(page, "### wave-koopman\n", "50%")[1] == "1.00e-7 (2.05e-4, 4.88e-4x)"
    own = "### wave-koopman, paper recipe, adam\n"
    assert cells(page, own, "50%")[1] == "4.00e-4 ± 1.41e-4 (2.05e-4, 1.95x)"
    assert "](../results/sparse_fields_wave_paper-adam.png)" in page[page.index(own) :]
    assert "- wave-koopman, fast recipe, posterior: holds at 1 of 1 fractions" in page
    assert "- wave-koopman, paper recipe, adam: holds at 1 of 1 fractions" in page
    assert "--method adam`: has tables of its own below." in page


def test_figures_are_linked_from_where_the_page_is(results, tmp_path):
    write(results, "rollout", [rollout_row("wave", "fno", "baseline", 1.0)])
    (results / "rollout_wave.png").touch()
    write_page(results, tmp_path / "docs" / "page.md")
    page = (tmp_path / "docs" / "page.md").read_text()
    assert "](../results/rollout_wave.png)" in page
    assert "fields_wave.png" not in page


def command(*arguments):
    app = typer.Typer()
    app.add_typer(reproduce.app, name="reproduce")
    result = CliRunner().invoke(app, ["reproduce", *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_the_command_writes_the_page(results, tmp_path):
    row = rollout_row("wave", "fno", "baseline", 1.0, per_step_mse="0.5 1.5")
    write(results, "rollout", [row])
    write(results, "stability", [stability_row("navier-stokes", "FULL", 50, 4e-3)])
    command("page", "--results", results, "--output", tmp_path / "page.md")
    for name in ("rollout_wave.png", "stability.png"):
        assert f"](results/{name})" in (tmp_path / "page.md").read_text()
        assert (results / name).exists()


def test_the_page_in_docs_is_what_the_tables_say():
    """Whoever changes a table or how it is told writes the page anew: `smore reproduce page`."""
    root = Path(__file__).parents[2]
    page = root / "docs" / "reproduction.md"
    assert page_text(root / "experiments" / "results", page) == page.read_text()


def test_a_page_of_nothing_is_not_written(tmp_path):
    with pytest.raises(SettingsError, match="no table of `smore reproduce` in "):
        command("page", "--results", tmp_path, "--output", tmp_path / "page.md")
    assert not (tmp_path / "page.md").exists()


@pytest.fixture
def wave(monkeypatch, tmp_path):
    """A planted model, by the paper's recipe, in place of one of Wave, with forty points to see."""
    benchmark = SimpleNamespace(test=trajectories(seed=7).to_xarray())
    monkeypatch.setattr("smore_paper.datasets.load", lambda name: benchmark)
    monkeypatch.setattr("smore_paper.cli._working.load_benchmark", lambda name: benchmark)
    monkeypatch.setattr(sparse_table, "VISIBLE", (1.0, 0.1))
    planted(trajectories()).save(tmp_path / "wave.smore")
    return f"wave={tmp_path / 'wave.smore'}"


def test_the_sparse_command_resumes_and_fills_the_page(wave, results, text):
    asked = ("sparse", "--model", wave, "--masks", 2, "--results", results)
    rows = json.loads(command(*asked, "--json"))
    told = [(row["dataset"], row["model"], row["visible"], row["placement"]) for row in rows]
    assert told == [
        ("wave", "wave-koopman", 1.0, "random"),
        ("wave", "wave-koopman", 0.1, "random"),
        ("wave", "wave-koopman", 0.1, "placed"),
    ]
    assert [row["count"] for row in rows] == [40, 4, 4]
    assert [len(str(row["full_mse_per_mask"]).split()) for row in rows] == [2, 2, 1]
    assert json.loads(command(*asked, "--json")) == rows
    assert (results / "sparse_wave_paper-posterior.png").exists()
    assert "](../results/sparse_fields_wave_paper-posterior.png)" in text()
    level = cells(text(), "### wave-koopman, paper recipe, posterior", "10%")
    assert level[1].startswith(f"{number(rows[1]['full_mse'])} (1.98e-4, ")
    assert level[2] == number(rows[2]["full_mse"])


def test_states_by_adam_are_rows_of_their_own(wave, results):
    """Of the same model, in the same file, and the paper's fit of as many steps as it says."""
    asked = ("sparse", "--model", wave, "--masks", 1, "--results", results)
    first = json.loads(command(*asked, "--json"))
    rows = json.loads(command(*asked, "--method", "adam", "--json"))
    assert [row["method"] for row in first + rows] == ["posterior"] * 3 + ["adam"] * 3
    assert {row["recipe"] for row in rows} == {"paper"}
    assert [row["visible"] for row in rows] == [1.0, 0.1, 0.1]
    assert not {row["key"] for row in first} & {row["key"] for row in rows}
    assert json.loads(command(*asked, "--json")) == first
    model = SMORE.load(wave.removeprefix("wave="))
    assert model.surrogate_.description.settings.final_fit_steps == 1000
    test = trajectories(seed=7)
    assert rows[0]["full_mse"] == pytest.approx(model.evaluate(test, method="adam").full_mse)
    assert (results / "sparse_wave_paper-adam.png").exists()
    assert (results / "sparse_fields_wave_paper-adam.png").exists()


@pytest.mark.filterwarnings("ignore")
def test_the_papers_way_trains_by_algorithm_1_and_selects_on_the_test_set(
    wave, results, monkeypatch
):
    train, test = trajectories(num_times=20), trajectories(num_times=20, seed=7)
    benchmark = SimpleNamespace(train=train.to_xarray(), test=test.to_xarray())
    monkeypatch.setattr("smore_paper.datasets.load", lambda name: benchmark)
    settings = preset("wave-koopman").settings.replace(latent_dim=4, hidden_dim=8, num_hidden=1)
    settings = settings.replace(fit_steps=5, final_fit_steps=7)
    chosen = SimpleNamespace(dataset="wave", settings=settings)
    monkeypatch.setattr(sparse_table, "preset", lambda name: chosen)
    asked = ("sparse", "--dataset", "wave", "--recipe", "paper", "--method", "adam")
    asked += ("--epochs", 3, "--masks", 1, "--results", results, "--json")
    rows = json.loads(command(*asked))
    told = {(row["model"], row["recipe"], row["method"], row["seed"]) for row in rows}
    assert told == {("wave-koopman", "paper", "adam", 0)}
    model = SMORE.from_settings(settings.replace(recipe="paper", epochs=3))
    model.fit(train, select_on=test, progress=False)
    assert model.surrogate_.description.training.num_snapshots == 10 * len(train)
    expected = model.evaluate(test, method="adam").full_mse
    assert rows[0]["full_mse"] == pytest.approx(expected, rel=1e-6)


def test_a_model_by_another_recipe_and_epochs_without_the_papers_are_refused(wave, results):
    with pytest.raises(SettingsError, match=r"expected .* fast recipe, .* is by the paper recipe"):
        command("sparse", "--model", wave, "--recipe", "fast", "--results", results)
    with pytest.raises(SettingsError, match="--epochs belongs to --recipe paper"):
        command("sparse", "--model", wave, "--epochs", 5, "--results", results)


def test_a_model_of_something_else_is_refused_before_every_row_fails(wave, results, monkeypatch):
    other = SimpleNamespace(test=trajectories().to_xarray().rename(u="height"))
    monkeypatch.setattr("smore_paper.datasets.load", lambda name: other)
    with pytest.raises(
        SettingsError, match=r"expected a model of wave \(height, v\), .*wave.smore"
    ):
        command("sparse", "--model", wave, "--results", results)
    assert not (results / "sparse.csv").exists()


def test_model_files_name_their_benchmark(results):
    with pytest.raises(SettingsError, match=r"takes DATASET=FILE, .* got 'a\.smore'"):
        command("sparse", "--model", "a.smore", "--results", results)
