"""The figure of the stability study shows every row, and what became of it."""

import csv
import math

import pytest

from smore_paper.tables.stability.draw import (
    STYLES,
    Dot,
    draw_stability,
    measured_dots,
    stability_figure,
)
from smore_paper.tables.stability.measure import CONFIGURATIONS


def row(configuration, latent_dim, full, epoch=None, dataset="shallow-water", **changes):
    told = {"key": f"{dataset}_{configuration}_{latent_dim}", "dataset": dataset}
    told |= {"configuration": configuration, "latent_dim": latent_dim, "full_mse": full}
    return told | {"first_non_finite_epoch": epoch, "epochs": 500, "status": "done"} | changes


def drawn(figure, *, colour, alpha=1.0):
    """(position, error) of everything in this colour, but for what is placed by height."""
    (axes,) = figure.axes
    return [
        (x, y)
        for line in axes.lines
        if line.get_color() == colour and line.get_alpha() == alpha
        for x, y in zip(line.get_xdata(orig=False), line.get_ydata(orig=False), strict=True)
    ]


def test_seeds_are_averaged_and_what_failed_is_left_out():
    rows = [
        row("FULL", 50, 1e-3),
        row("FULL", 50, 3e-3, epoch=7),
        row("FULL", 70, 4e-3),
        row("OFF", 100, math.nan),
        row("clip only", 100, None, status="failed"),
    ]
    assert measured_dots(rows) == {
        "FULL": {50: Dot(2e-3, True), 70: Dot(4e-3, False)},
        "OFF": {100: Dot(math.inf, False)},
    }


def test_every_configuration_has_a_style_of_its_own():
    assert set(STYLES) == set(CONFIGURATIONS)
    assert len({(style["color"], style["marker"]) for style in STYLES.values()}) == len(STYLES)


def test_ours_and_the_papers_stand_side_by_side():
    dots = {"FULL": {50: Dot(2e-3, False), 100: Dot(5e-3, False)}}
    figure = stability_figure({"shallow-water": dots}, {"shallow-water": "here"})
    colour = STYLES["FULL"]["color"]
    ours, paper = drawn(figure, colour=colour), drawn(figure, colour=colour, alpha=0.35)
    assert [error for _, error in ours] == [2e-3, 5e-3]
    assert [error for _, error in paper] == pytest.approx([0.9301e-3, 0.7845e-3, 0.7274e-3])
    # p = 50, 70, 100 are the places 0, 1, 2, and the paper's values right of ours.
    assert [round(x) for x, _ in ours] == [0, 2]
    assert paper[2][0] - ours[1][0] == pytest.approx(0.03)


def test_runs_that_turned_non_finite_are_crossed():
    dots = {"OFF": {70: Dot(4e-3, True), 100: Dot(5e-3, False)}}
    figure = stability_figure(
        {"navier-stokes": dots}, {"navier-stokes": "here"}
    )  # on which the paper has none
    assert [error for _, error in drawn(figure, colour="black")] == [4e-3]


def test_errors_beyond_all_scales_are_arrows_at_the_top():
    dots = {"OFF": {100: Dot(math.inf, True)}}
    figure = stability_figure({"navier-stokes": dots}, {"navier-stokes": "here"})
    assert [y for _, y in drawn(figure, colour=STYLES["OFF"]["color"])] == [0.95]
    assert math.isfinite(figure.axes[0].get_ylim()[1])


def test_the_figure_is_drawn_from_the_table(tmp_path):
    assert draw_stability(tmp_path) == []
    rows = [row("FULL", 50, 1e-3), row("OFF", 50, math.inf, dataset="navier-stokes")]
    with (tmp_path / "stability.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert draw_stability(tmp_path) == [tmp_path / "stability.png"]
    assert (tmp_path / "stability.png").stat().st_size > 0
