"""Rows of results can be read, and their commands typed, on other machines."""

import csv
import sys
from pathlib import Path

import pytest

from smore_paper.results import append_row, portable

RESULTS = Path(__file__).parents[2] / "experiments" / "results"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/tmp/runs/models/wave.smore", "wave.smore"),
        ("wave=/home/someone/wave.smore", "wave=wave.smore"),
        ("--results=/work/main/results/", "--results=results"),
        ("~/models/wave.smore", "wave.smore"),
        ("C:\\Users\\someone\\wave.smore", "wave.smore"),
        ("cannot read '/tmp/a/b.nc', nor /tmp/c.nc", "cannot read 'b.nc', nor c.nc"),
        ("models/wave.smore", "models/wave.smore"),
        ("../results", "../results"),
        (
            "1 / 2 of the points and/or 3/4; s/m, x=0:0.5",
            "1 / 2 of the points and/or 3/4; s/m, x=0:0.5",
        ),
        ("https://example.org/data.nc", "https://example.org/data.nc"),
    ],
)
def test_folders_of_this_machine_are_left_out(text, told):
    assert portable(text) == told


def test_paths_inside_the_working_directory_stay_paths(here):
    assert portable(f"--models {here}/models/wave.smore") == "--models models/wave.smore"


def test_a_row_holds_a_command_that_can_be_typed_anywhere(here, monkeypatch):
    options = ["--model", "wave=/tmp/s4/wave.smore", "--allowed", "x=0:1, y=2", "--results"]
    monkeypatch.setattr(sys, "argv", ["/opt/venv/bin/smore", "sparse", *options, f"{here}/out.csv"])
    append_row(Path("out.csv"), {"remark": f"no room in {here.parent}/scratch", "value": 1.5})
    (row,) = csv.DictReader(Path("out.csv").read_text().splitlines())
    assert row["command"] == (
        "smore sparse --model wave=wave.smore --allowed 'x=0:1, y=2' --results out.csv"
    )
    assert row["remark"] == "no room in scratch"
    assert row["value"] == "1.5"


def test_committed_rows_name_no_folders_of_a_machine():
    for path in RESULTS.glob("*.csv"):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                told = {name: text for name, text in row.items() if portable(text) != text}
                assert not told, (path.name, told)
