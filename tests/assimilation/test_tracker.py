"""Following a stream: the order of arrival does not matter, nor does a kill at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from smore.assimilation import Stream
from smore.assimilation.assimilating import assimilate
from smore.errors import DataError, ModelFileError, SettingsError
from waves import STEP, places


@pytest.fixture
def stream(erring, rows):
    times, coords, values, sensors = rows(10, 5, moving=True, noise=0.01)
    return Stream.of(times, coords, values, sensors, erring.surrogate_)


def pieces(stream):
    return [part for _, part in stream.by_time()]


def test_a_tracker_ends_where_the_filter_of_the_whole_stream_ends(erring, stream):
    tracker = erring.track(noise=0.01)
    for part in pieces(stream):
        tracker.update(part)
    whole = assimilate(erring.surrogate_, stream, noise=0.01, estimate=False)
    assert not whole.broken
    np.testing.assert_allclose(tracker.state.mean, whole.state.mean, atol=1e-9)
    np.testing.assert_allclose(tracker.state.covariance, whole.state.covariance, atol=1e-9)
    ahead = stream.times[-1] + STEP * np.arange(3)
    ours, theirs = tracker.forecast(ahead, places()), whole.fields(ahead, places())
    np.testing.assert_allclose(ours.u_std.values, theirs.u_std.values, rtol=1e-6)


def test_late_arrivals_within_the_lag_change_nothing(erring, stream):
    ordered, late = erring.track(noise=0.01), erring.track(noise=0.01, lag=3.5 * STEP)
    parts = pieces(stream)
    for part in parts:
        ordered.update(part)
    for number in (0, 2, 1, 4, 3, 5, 8, 6, 7, 9):
        late.update(parts[number])
    np.testing.assert_allclose(late.state.mean, ordered.state.mean, atol=1e-9)
    np.testing.assert_allclose(late.state.covariance, ordered.state.covariance, atol=1e-9)
    before = late.state.mean.clone()
    with pytest.raises(DataError, match=r"up to 1\.75 after newer ones.*longer lag"):
        late.update(parts[2])
    np.testing.assert_array_equal(late.state.mean, before)


def test_duplicates_count_once(erring, stream):
    once, twice = erring.track(noise=0.01, lag=STEP), erring.track(noise=0.01, lag=STEP)
    for part in pieces(stream):
        once.update(part)
        twice.update(part).update(part)
    np.testing.assert_allclose(twice.state.mean, once.state.mean, atol=1e-12)
    assert twice.num_values == once.num_values


def test_a_tracker_resumes_from_its_file_to_the_last_bit(tmp_path, erring, stream):
    parts = pieces(stream)
    whole = erring.track(noise=0.01, lag=STEP)
    file = tmp_path / "track.smore"
    tracker = erring.track(noise=0.01, lag=STEP, file=file)
    for part in parts[:6]:
        whole.update(part)
        tracker.update(part)
    with pytest.raises(SettingsError, match="resume=True"):
        erring.track(file=file)
    resumed = erring.track(file=file, resume=True)
    for part in parts[6:]:
        whole.update(part)
        resumed.update(part)
    np.testing.assert_array_equal(resumed.state.mean, whole.state.mean)
    np.testing.assert_array_equal(resumed.state.covariance, whole.state.covariance)
    assert resumed.num_values == whole.num_values == len(stream)


def test_a_file_of_another_model_or_a_damaged_one_is_refused(tmp_path, erring, stream):
    import copy

    file = tmp_path / "track.smore"
    erring.track(noise=0.01, file=file).update(pieces(stream)[0])
    other = copy.copy(erring)
    description = erring.surrogate_.description
    other.surrogate_ = replace(
        erring.surrogate_, description=description.model_copy(update={"latent_radius": 1.0})
    )
    with pytest.raises(ModelFileError, match="another model"):
        other.track(file=file, resume=True)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(ModelFileError, match="damaged"):
        erring.track(file=file, resume=True)


def test_a_tracker_without_observations_says_so(erring):
    with pytest.raises(DataError, match="seen nothing yet"):
        erring.track().forecast([1.0])
    with pytest.raises(SettingsError, match="a lag is a time"):
        erring.track(lag=-1.0)


KILLED = """
import sys
from smore import SMORE
model = SMORE.load(sys.argv[1])
tracker = model.track(noise=0.01, file=sys.argv[3], resume=True)
start = tracker.time
for number in range(10_000):
    header, row = open(sys.argv[2]).read().splitlines()
    path = sys.argv[2] + ".one.csv"
    open(path, "w").write(f"{header}\\n{(tracker.time or 0.0) + 0.5},{row}\\n")
    tracker.update(path)
    print(tracker.time, flush=True)
"""


def test_kill_at_any_moment_loses_at_most_the_last_update(tmp_path, exact):
    model, table, file = tmp_path / "model.smore", tmp_path / "row.csv", tmp_path / "track.smore"
    exact.save(model)
    table.write_text("time,sensor,x,y,u\na,0.1,0.2,0.5\n")
    told = 0.0
    for seed in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(model), str(table), str(file)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert process.stdout is not None
        first = process.stdout.readline()
        assert float(first) >= told + 0.5 - 1e-9  # it went on where it was
        time.sleep(0.05 + 0.07 * seed)
        process.send_signal(signal.SIGKILL)
        told = max([float(first), *map(float, process.stdout.read().split())])
        process.wait()
        kept = exact.track(file=file, resume=True).time
        assert kept is not None
        assert told - 1e-9 <= kept <= told + 0.5 + 1e-9
