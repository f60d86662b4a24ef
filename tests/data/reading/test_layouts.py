"""Files as programs write them: values, places, times and words, or a refusal that helps."""

import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from layouts import LAYOUTS, Layout, Truth, row, turned_places

from smore.data import Trajectories
from smore.errors import DataError


def write(dataset: xr.Dataset, path: Path) -> Path:
    invalid = any(variable.dtype.kind == "c" for variable in dataset.variables.values())
    dataset.to_netcdf(path, engine="h5netcdf", **({"invalid_netcdf": True} if invalid else {}))
    return path


def raw(dataset: xr.Dataset, name: str, truth: Truth) -> np.ndarray:
    """The values of a variable as they are meant, over the dimensions that are left."""
    variable = dataset[name]
    values = variable.values.astype(float)
    values = values * variable.attrs.get("scale_factor", 1.0) + variable.attrs.get(
        "add_offset", 0.0
    )
    if variable.attrs.get("units") == "rad":
        values = np.rad2deg(values)
    index = {
        dim: truth.index[dim] for dim in truth.index if dim in variable.dims and dim != truth.time
    }
    if name in truth.coords and truth.time in variable.dims:
        index[truth.time] = 0
    return xr.DataArray(values, dims=variable.dims).isel(index)


def assert_right(made: Trajectories, dataset: xr.Dataset, truth: Truth) -> None:
    """Every value is at its place and time."""
    assert [channel.name for channel in made.channels] == list(truth.channels)
    assert made.space.geometry == truth.geometry
    runs = dataset.sizes[truth.sequence] if truth.sequence else 1
    assert len(made) == runs
    sizes = [dataset.sizes[dim] for dim in truth.space]
    for s, sequence in enumerate(made):
        told = made.clock.to_values(sequence.times)
        for value, wanted in zip(told, truth.instants, strict=True):
            same = (
                value == wanted
                if isinstance(wanted, float)
                else str(value).replace(" ", "T").startswith(wanted)
            )
            assert same or float(np.asarray(value, "m8[us]").astype(float)) == 3.6e9 * wanted
        assert sequence.mesh.num_points == np.prod(sizes)
        columns = [places(dataset, name, truth, sizes) for name in truth.coords]
        expected = np.stack(columns, axis=1)
        found = sequence.mesh.coords
        if truth.geometry == "sphere":
            found, expected = np.mod(found, 360), np.mod(expected, 360)
        np.testing.assert_allclose(found, expected, atol=1e-4)
        fields, observed = sequence.fields, sequence.observed
        for c, name in enumerate(truth.channels):
            values = raw(dataset, name, truth)
            values = values.isel({truth.sequence: s}) if truth.sequence else values
            order = [d for d in (truth.time, *truth.space) if d is not None]
            values = values.transpose(*order).values.reshape(len(told), -1)
            seen = np.ones(values.shape, bool) if observed is None else observed[:, c]
            np.testing.assert_allclose(fields[:, c][seen], values[seen], rtol=1e-5)
            assert (values[~seen] > 1e19).all()


def places(dataset: xr.Dataset, name: str, truth: Truth, sizes: list[int]) -> np.ndarray:
    if name.startswith("true "):
        return turned_places(dataset)[name.removeprefix("true ")][1].ravel()
    values = raw(dataset, name, truth)
    along = [dim for dim in truth.space if dim in values.dims]
    shape = [n if d in along else 1 for d, n in zip(truth.space, sizes, strict=True)]
    return np.broadcast_to(values.transpose(*along).values.reshape(shape), sizes).ravel()


@pytest.mark.parametrize("case", LAYOUTS, ids=lambda case: case.name)
def test_read_as_it_is_meant_or_refused(case: Layout, tmp_path: Path) -> None:
    dataset = case.make()
    path = write(dataset, tmp_path / "file.nc")
    if case.refused:
        with pytest.raises(DataError, match=case.refused) as refusal:
            Trajectories.open(path)
        assert "\n" not in str(refusal.value)
        assert len(str(refusal.value)) < 700
    if case.truth is None:
        return
    made = Trajectories.open(path, **case.options)
    assert_right(made, dataset, case.truth)
    told = " | ".join(made.reading.notes)
    for words in case.notes:
        assert re.search(words, told), told


def test_the_table_in_the_documentation_has_every_layout() -> None:
    page = (Path(__file__).parents[3] / "docs" / "data.md").read_text(encoding="utf-8")
    assert len(LAYOUTS) >= 40
    for case in LAYOUTS:
        assert row(case) in page, row(case)
