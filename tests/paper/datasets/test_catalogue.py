"""Benchmarks by name, and the cache between them and their user."""

import json
import os
import threading

import numpy as np
import pytest
import xarray as xr

from smore.errors import DataError, SettingsError
from smore.runtime.cache_folder import default_root
from smore_paper.datasets import BENCHMARKS, CATALOGUE, load, resolve

SMALL = {
    "wave": {"resolution": 8, "num_train": 3, "num_test": 2, "snapshots": 4},
    "navier-stokes": {
        "resolution": 16,
        "num_train": 9,
        "num_test": 2,
        "snapshots": 3,
        "spin_up": 1.0,
    },
    "shallow-water": {
        "resolution": 16,
        "num_train": 3,
        "num_test": 2,
        "snapshots": 2,
        "hours": 6,
        "keep_last": 4,
    },
}


SMALL |= {f"{name}-literal": options for name, options in SMALL.items()}


def make(name, folder, **changes):
    return load(name, cache=folder, **SMALL[name] | changes)


def contents(benchmark):
    return {path.name: path.read_bytes() for path in benchmark.folder.iterdir()}


@pytest.mark.parametrize("name", SMALL)
def test_same_seed_same_bytes_whatever_the_number_of_workers(name, tmp_path):
    one = make(name, tmp_path / "one", workers=1)
    two = make(name, tmp_path / "two", workers=3)
    assert contents(one) == contents(two)
    assert set(contents(one)) == {"train.nc", "test.nc", "info.json"}


@pytest.mark.parametrize("name", SMALL)
def test_seeds_and_splits_differ(name, tmp_path):
    one, two = make(name, tmp_path), make(name, tmp_path, seed=1)
    channel = next(iter(one.train.data_vars))
    assert not np.array_equal(one.train[channel], two.train[channel])
    per_trajectory = one.train.sizes["sequence"] // SMALL[name]["num_train"]
    shared = min(one.train.sizes["sequence"], one.test.sizes["sequence"])
    for index in range(0, shared, per_trajectory):
        assert not np.array_equal(one.train[channel][index], one.test[channel][index])


@pytest.mark.parametrize("name", SMALL)
def test_files_say_what_they_hold(name, tmp_path):
    benchmark = make(name, tmp_path)
    for dataset in (benchmark.train, benchmark.test):
        assert dataset.attrs["title"] == CATALOGUE[name].title
        assert json.loads(dataset.attrs["options"]) == benchmark.options.model_dump(mode="json")
        assert dataset.attrs["source"].startswith("smore ")
        assert dataset.time.dtype == np.float64
        assert dataset.time[0] == 0
        assert dataset.trajectory.dims == ("sequence",)
        for channel in dataset.data_vars.values():
            assert channel.dtype == np.float32
            assert channel.dims[:2] == ("sequence", "time")
            assert {"units", "long_name", "scale", "physical_units"} <= set(channel.attrs)
    assert not set(benchmark.train.trajectory.values) & set(benchmark.test.trajectory.values)
    with xr.open_dataset(benchmark.folder / "test.nc", engine="h5netcdf") as opened:
        xr.testing.assert_identical(opened.load(), benchmark.test)


@pytest.mark.parametrize(
    ("name", "train", "test", "grid"),
    [
        ("wave", 512, 32, {"x": 64, "y": 64}),
        ("navier-stokes", 512, 32, {"x": 64, "y": 64}),
        ("shallow-water", 64, 16, {"lat": 64, "lon": 128}),
    ],
)
def test_defaults_are_the_papers(name, train, test, grid):
    """Sequences and grids of section 2 of the paper's facts, without simulating them."""
    options = CATALOGUE[name].options()
    pieces = getattr(options, "sequences_per_trajectory", None) or options.keep_last // 20
    assert (options.num_train * pieces, options.num_test * pieces) == (train, test)
    assert options.snapshots == 20
    assert options.resolution == (128 if "lat" in grid else grid["x"])


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_texts_variant_is_another_data_set_with_a_name_of_its_own(name, tmp_path):
    plain, literal = make(name, tmp_path), make(f"{name}-literal", tmp_path)
    assert literal.folder.name.startswith(f"{name}-literal-")
    assert literal.name == literal.folder.name[:-13]
    assert plain.train.sizes == literal.train.sizes
    for channel in plain.train.data_vars:
        assert not np.array_equal(plain.train[channel], literal.train[channel])


def test_names_of_the_texts_variants():
    literal = {f"{name}-literal" for name in BENCHMARKS}
    assert set(CATALOGUE) == {*BENCHMARKS, *literal}
    assert len({problem.title for problem in CATALOGUE.values()}) == 6


def test_second_call_reads_what_the_first_wrote(tmp_path):
    first = make("wave", tmp_path)
    stamp = (first.folder / "train.nc").stat().st_mtime_ns

    def refuse(*_):
        raise AssertionError("simulated again")

    second = make("wave", tmp_path, progress=refuse)
    assert (second.folder / "train.nc").stat().st_mtime_ns == stamp
    xr.testing.assert_identical(first.train, second.train)


def test_load_generates_into_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SMORE_CACHE", str(tmp_path / "mine"))
    benchmark = load("wave", **SMALL["wave"])
    assert benchmark.folder.parent == tmp_path / "mine" / "datasets"
    assert benchmark.folder.name.startswith("wave-")
    assert len(benchmark.folder.name) == len("wave-") + 12


def test_cache_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("SMORE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_root() == tmp_path / "smore"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_root() == tmp_path / "home" / ".cache" / "smore"


@pytest.mark.parametrize("file", ["train.nc", "test.nc"])
def test_a_damaged_file_is_refused_by_name(file, tmp_path):
    path = make("wave", tmp_path).folder / file
    damaged = bytearray(path.read_bytes())
    damaged[-100] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(DataError, match=rf"{file} is damaged.*delete the folder") as caught:
        make("wave", tmp_path)
    assert str(path.parent) in str(caught.value)


@pytest.mark.parametrize("file", ["train.nc", "test.nc", "info.json"])
def test_a_missing_file_is_refused_by_name(file, tmp_path):
    path = make("wave", tmp_path).folder / file
    path.unlink()
    with pytest.raises(DataError, match=rf"{file} is damaged: it is missing"):
        make("wave", tmp_path)


@pytest.mark.parametrize("name", SMALL)
def test_an_interruption_leaves_nothing_behind(name, tmp_path):
    def interrupt(done, total, description):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(name, tmp_path, progress=interrupt)
    assert list((tmp_path / "datasets").iterdir()) == []


def test_a_failure_while_writing_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError("no space left on device")

    monkeypatch.setattr(xr.Dataset, "to_netcdf", full)
    with pytest.raises(OSError, match="no space"):
        make("wave", tmp_path)
    assert list((tmp_path / "datasets").iterdir()) == []


def test_two_at_once_do_not_clash(tmp_path):
    made = []
    ready = threading.Barrier(2)

    def meet(done, total, description):
        if done == total:
            ready.wait(timeout=60)

    pair = [
        threading.Thread(target=lambda: made.append(make("wave", tmp_path, progress=meet)))
        for _ in range(2)
    ]
    for thread in pair:
        thread.start()
    for thread in pair:
        thread.join()
    xr.testing.assert_identical(made[0].train, made[1].train)
    assert list((tmp_path / "datasets").iterdir()) == [made[0].folder]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_cache_is_refused_before_any_work(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(SettingsError, match="SMORE_CACHE"):
        make("wave", tmp_path)


def test_a_cache_that_cannot_be_a_folder_is_refused_before_any_work(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="SMORE_CACHE"):
        make("wave", tmp_path / "file")


@pytest.mark.parametrize(("alias", "name"), [("ns", "navier-stokes"), ("sw", "shallow-water")])
def test_aliases(alias, name):
    assert resolve(alias) == resolve(name) == name


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(SettingsError, match=r"'burgers'.*wave, navier-stokes, shallow-water"):
        load("burgers")


def test_an_unknown_or_bad_option_is_answered_in_one_line():
    with pytest.raises(SettingsError, match=r"'navier-stokes'.*viscosity.*-1.*colour") as caught:
        load("ns", viscosity=-1.0, colour="red")
    assert "\n" not in str(caught.value)
