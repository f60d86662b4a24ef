"""The frame of all tables: nothing is done twice, nothing is lost, whoever works on it."""

import multiprocessing
import os
import subprocess
import time
import warnings
from collections import Counter
from dataclasses import replace

import pytest

from smore.errors import DataError, DivergenceError, SettingsError
from smore_paper.results import append_row
from smore_paper.tables import ledger as reproduction
from smore_paper.tables.ledger import Ledger, Run, read_rows, work_through


def runs(count=4):
    return [Run("t", "wave", "fno", "baseline", seed, {"p": 50}) for seed in range(count)]


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path, "t", ["error"])


@pytest.fixture(autouse=True)
def quick_provenance(monkeypatch):
    """What stands in every row, without asking git each time."""
    told = {"commit": "1e5", "machine": "here", "command": "smore"}
    for module in ("results", "tables.ledger"):
        monkeypatch.setattr(f"smore_paper.{module}.provenance", lambda: told)


class Counting:
    """Measures seed / 2 and remembers what it was asked for."""

    def __init__(self, **problems):
        self.asked = []
        self.problems = problems

    def __call__(self, run):
        self.asked.append(run.seed)
        if f"seed{run.seed}" in self.problems:
            raise self.problems[f"seed{run.seed}"]
        return {"error": run.seed / 2}


def done(ledger, runs, measure):
    said = []
    return work_through(ledger, runs, measure, said.append), said


def test_a_key_is_the_same_in_every_session_and_a_file_name():
    variant = {"latent_dim": 50, "configuration": "FULL without clip"}
    run = Run("stability", "shallow-water", "smore-lrlq", "paper", 2, variant)
    expected = "shallow-water_smore-lrlq_paper_seed2_configuration=FULL-without-clip_latent_dim=50"
    assert run.key == expected
    assert Run("t", "a/b", "m", "r", 0).key == "a-b_m_r_seed0"


def test_rows_hold_run_values_and_provenance(ledger):
    rows, _ = done(ledger, runs(2), Counting())
    assert [row.pop("run_seconds") for row in rows] == [0.0, 0.0]
    common = {"dataset": "wave", "model": "fno", "recipe": "baseline", "p": 50}
    common |= {"status": "done", "remark": "", "commit": "1e5", "machine": "here"}
    assert rows == [
        {"key": f"wave_fno_baseline_seed{seed}_p=50", "seed": seed, "error": seed / 2}
        | common
        | {"command": "smore"}
        for seed in range(2)
    ]


def test_what_has_a_row_is_not_run_again(ledger):
    done(ledger, runs(2), Counting())
    second = Counting()
    rows, said = done(ledger, runs(4), second)
    assert second.asked == [2, 3]
    assert "has 2 of 4 rows already" in said[0]
    assert [row["seed"] for row in rows] == [0, 1, 2, 3]
    assert [row["seed"] for row in done(ledger, runs(2), second)[0]] == [0, 1]
    assert second.asked == [2, 3]


def test_tables_need_a_folder(tmp_path):
    (tmp_path / "afile").touch()
    with pytest.raises(SettingsError, match="afile is a file"):
        Ledger(tmp_path / "afile", "t", ["error"])


def _work(folder, log, start):
    start.wait()

    def measure(run):
        with log.open("a") as file:
            file.write(f"{run.seed}\n")
        time.sleep(0.005)
        return {"error": 0.0}

    work_through(Ledger(folder, "t", ["error"]), runs(20), measure, lambda _: None)


def test_processes_never_do_a_run_twice(tmp_path):
    context = multiprocessing.get_context("fork")
    start, log = context.Event(), tmp_path / "log"
    workers = [context.Process(target=_work, args=(tmp_path, log, start)) for _ in range(3)]
    for worker in workers:
        worker.start()
    start.set()
    for worker in workers:
        worker.join(20)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert Counter(log.read_text().split()) == {str(seed): 1 for seed in range(20)}
    assert sorted(row["seed"] for row in read_rows(tmp_path / "t.csv")) == list(range(20))
    assert [path.name for path in (tmp_path / ".t").iterdir() if path.name != ".lock"] == []


def gone():
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.mark.parametrize(
    ("host", "process", "stands"),
    [
        ("here", os.getppid, True),
        ("here", gone, False),
        ("here", os.getpid, False),  # of an earlier process with the same number
        ("elsewhere", gone, True),
    ],
)
def test_claims_stand_while_their_process_may_be_alive(
    ledger, tmp_path, monkeypatch, host, process, stands
):
    monkeypatch.setattr("socket.gethostname", lambda: "here")
    (run,) = runs(1)
    claim = tmp_path / ".t" / run.key
    claim.write_text(f"{host} {process()}\n")
    measure = Counting()
    rows, said = done(ledger, [run], measure)
    assert measure.asked == ([] if stands else [0])
    assert len(rows) == (not stands)
    assert claim.exists() == stands
    assert any(f"if that is gone, remove {claim}" in text for text in said) == stands


def test_a_claim_that_was_never_finished_is_taken_over(ledger, tmp_path):
    (run,) = runs(1)
    (tmp_path / ".t" / run.key).touch()
    assert ledger.claim(run)


def test_runs_that_fail_are_rows_with_a_reason(ledger):
    problems = {
        "seed1": DivergenceError("turned infinite", part="loss", epoch=3),
        "seed2": DataError("not on a grid"),
    }
    rows, said = done(ledger, runs(4), Counting(**problems))
    assert [row["status"] for row in rows] == ["done", "failed", "failed", "done"]
    assert [row["remark"] for row in rows] == ["", "turned infinite", "not on a grid", ""]
    assert [row["error"] for row in rows] == [0.0, None, None, 1.5]
    assert "wave_fno_baseline_seed2_p=50: not on a grid" in said
    again = Counting()
    done(ledger, runs(4), again)
    assert again.asked == []


def test_a_mistake_ends_the_work_and_gives_the_run_back(ledger):
    with pytest.raises(ZeroDivisionError):
        done(ledger, runs(2), Counting(seed1=ZeroDivisionError()))
    rows, _ = done(ledger, runs(2), Counting())
    assert [row["error"] for row in rows] == [0.0, 0.5]


def test_warnings_are_remarks(ledger):
    def measure(run):
        for _ in range(2):
            warnings.warn("stopped in epoch 7", RuntimeWarning, stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return {"error": 1.0}

    ((row,), _) = done(ledger, runs(1), measure)
    assert (row["status"], row["remark"]) == ("done", "stopped in epoch 7")


def first_after_second():
    first, second = runs(2)
    return replace(first, after=(second.key,)), second


def test_what_needs_other_rows_comes_after_them(ledger):
    rows, said = done(ledger, first_after_second(), Counting())
    assert [row["seed"] for row in rows] == [1, 0]
    assert len(said) == 2


def test_needing_what_nobody_does_is_refused(ledger):
    first, second = first_after_second()
    measure = Counting()
    with pytest.raises(SettingsError, match=f"needs the rows of {second.key}, which nobody works"):
        done(ledger, [first], measure)
    assert measure.asked == []


def test_needing_what_another_process_does_is_waiting_for_its_row(ledger, tmp_path, monkeypatch):
    first, second = first_after_second()
    claim = tmp_path / ".t" / second.key
    claim.write_text("elsewhere 1\n")
    slept = []

    def other_finishes(seconds):
        slept.append(seconds)
        if len(slept) == 2:
            row = {"error": 1.0, "status": "done", "remark": "", "run_seconds": 1.0}
            ledger.append(second.columns() | row)
            claim.unlink()

    monkeypatch.setattr(reproduction.time, "sleep", other_finishes)
    rows, said = done(ledger, [first, second], Counting())
    assert slept == [reproduction.POLL_SECONDS] * 2
    assert [row["seed"] for row in rows] == [1, 0]
    assert said[0] == f"{first.key} waits for {second.key}"


def test_what_is_done_needs_nothing(ledger):
    first, _ = first_after_second()
    done(ledger, [replace(first, after=())], Counting())
    measure = Counting()
    assert len(done(ledger, [first], measure)[0]) == 1
    assert measure.asked == []


def test_progress_counts_rows_and_extrapolates_their_time(ledger):
    first, second, *_ = runs(4)
    row = {"error": 1.0, "status": "done", "remark": ""}
    ledger.append(first.columns() | row | {"run_seconds": 100.0})
    ledger.append(second.columns() | row | {"run_seconds": 140.0})
    _, said = done(ledger, runs(4), Counting())
    assert said[1] == "t 3/4: wave_fno_baseline_seed2_p=50, eta 4 min"


def test_a_file_of_another_kind_is_refused_before_any_work(ledger):
    append_row(ledger.path, {"dataset": "wave", "error": 1.0})
    measure = Counting()
    with pytest.raises(DataError, match="without a column 'key'; move it away"):
        done(ledger, runs(1), measure)
    ledger.path.unlink()
    append_row(ledger.path, {"key": "k", "dataset": "wave", "mistake": 1.0})
    with pytest.raises(DataError, match=r"unknown \['mistake'\]"):
        done(ledger, runs(1), measure)
    assert measure.asked == []


def test_cells_come_back_as_they_were_written(tmp_path):
    row = {"key": "12", "error": 2.5e-300, "count": 7, "none": None, "many": "1.0 2.0"}
    append_row(tmp_path / "t.csv", row | {"large": float("inf")})
    (found,) = read_rows(tmp_path / "t.csv")
    expected = {"commit": "1e5", "machine": "here", "command": "smore", "large": float("inf")}
    assert found == row | expected
