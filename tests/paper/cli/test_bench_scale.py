"""`smore bench memory` tells what was measured, to people and to machines."""

import json

import pytest
import typer
from typer.testing import CliRunner

from smore_paper.benches.memory import MemoryBench
from smore_paper.cli import bench, bench_scale


@pytest.fixture
def bench_memory(monkeypatch, tmp_path):
    """`smore bench memory` with results of our choice."""
    asked = []

    def pretended(preset, chunk_size):
        asked.append((preset, chunk_size))
        return MemoryBench(preset, chunk_size, 9000.0, 200.0, 50.0, 180.0, 1.0, 1.1, 1.1, 1)

    monkeypatch.setattr(bench_scale, "bench_memory", pretended)
    monkeypatch.setattr(bench_scale, "load_benchmark", lambda name: asked.append(name))

    def command(*arguments):
        root = typer.Typer()
        root.add_typer(bench.app, name="bench")
        result = CliRunner().invoke(root, ["bench", "memory", *arguments])
        assert result.exception is None
        return result.stdout

    return command, asked


def test_ratios_are_printed_as_json_and_kept(bench_memory, tmp_path):
    command, asked = bench_memory
    told = json.loads(command("--json", "--results", str(tmp_path / "memory.csv")))
    assert (told["memory_ratio"], told["time_ratio"]) == (180.0, 1.1)
    assert asked == ["navier-stokes", ("ns-lrlq", 512)]  # simulated before anything is measured
    assert "memory_ratio" in (tmp_path / "memory.csv").read_text()


def test_the_table_names_preset_and_chunks(bench_memory):
    command, asked = bench_memory
    told = command("--preset", "wave-lrlq", "--chunk-size", "64")
    assert asked == ["wave", ("wave-lrlq", 64)]
    assert "wave-lrlq" in told
    assert "engine, 64 points at once" in told
