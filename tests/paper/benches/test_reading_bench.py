"""Every layout is measured, and what is measured is what it says."""

import json

import pytest
from typer.testing import CliRunner

from smore_paper.benches import reading
from smore_paper.cli.bench import app


def test_every_layout_has_its_row(monkeypatch, tmp_path):
    monkeypatch.setattr(reading, "SHAPE", (32, 20, 8, 8))
    monkeypatch.setenv("SMORE_CACHE", str(tmp_path))
    table = tmp_path / "reading.csv"
    asked = ["reading", "--repeats", "1", "--json", "--results", str(table)]
    rows = json.loads(CliRunner().invoke(app, asked).stdout)
    assert [row["layout"] for row in rows] == list(reading.LAYOUTS)
    for row in rows:
        assert row["megabytes"] == pytest.approx(4e-6 * 32 * 20 * 64)
        assert row["ratio"] == row["stream_seconds"] / (row["load_seconds"] + row["write_seconds"])
    assert len(table.read_text().splitlines()) == 1 + len(rows)
