"""The modes of the learned dynamics as fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.analysis.modes import DynamicModes
from smore.data import Mesh, numbered_fields
from smore.errors import DataError, SettingsError
from smore.surrogate import decode_departures

if TYPE_CHECKING:
    from smore.surrogate import Surrogate

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]

COMMENT = (
    "a mode contributes Re[(real + i imaginary) exp((growth_rate + 2 pi i frequency) t)], at the "
    "size it has in a typical training state"
)


def mode_fields(surrogate: Surrogate, modes: DynamicModes, mesh: Mesh, count: int) -> xr.Dataset:
    """The fields φ = J₀ v of the strongest modes, in the data's units.

    They are differences of fields: neither the decoder's offset nor the shift of the normalisation
    is in them. Their size is that in a typical training state, so that Re(φ e^{iθ}) has, over all
    phases, the rms of what the mode contributes. The phase is chosen such that the imaginary part
    is orthogonal to the real one in the L2 inner product of the mesh (of all channels together,
    normalised), and the real part the larger of the two.

    Args:
        surrogate: the model.
        modes: its modes.
        mesh: where.
        count: how many modes; all of them if there are fewer.

    Returns:
        A Dataset with dimensions (part, mode, *mesh.dims), where `part` is "real" or "imaginary",
        and a variable for every channel; NaN where nothing is known, on land for instance.

    Raises:
        SettingsError: fewer than one mode.
        DataError: a channel or coordinate has a name that the Dataset needs itself.
    """
    if count < 1:
        raise SettingsError(f"expected at least one mode to decode, got {count}")
    shown = slice(0, count)
    properties = _properties(modes, shown)
    _require_free_names(surrogate, mesh, properties)
    size = modes.amplitudes[shown] * np.where(modes.pair[shown], np.sqrt(2.0), 1.0)
    fields = decode_departures(surrogate, (modes.vectors[:, shown] * size).T, mesh)
    seen = surrogate.seen_on(mesh)
    fields = _with_orthogonal_parts(fields if seen is None else fields * seen, mesh.weights)
    fields *= surrogate.description.normalization.scale_array[:, None]
    description = surrogate.description
    if seen is not None:
        fields[..., ~seen] = complex(np.nan, np.nan)  # nothing has taught the model what is there
    parts = [
        numbered_fields(part, mesh, description.channels, description.space, "mode")
        for part in (fields.real, fields.imag)
    ]
    # As objects: Zarr has no portable form of strings of fixed length.
    names = xr.Variable("part", np.array(["real", "imaginary"], dtype=object))
    dataset = xr.concat(parts, dim=names, data_vars="all", coords="minimal", compat="override")
    return dataset.assign_coords(properties).assign_attrs(about=modes.about, comment=COMMENT)


def _with_orthogonal_parts(fields: ComplexArray, weights: FloatArray) -> ComplexArray:
    """Fields (n, channels, points) times e^{iθ}: real and imaginary part orthogonal, real larger.

    With ∫ φ² = ∫ (re² - im²) + 2i ∫ re im, both hold once that is real and positive.
    """
    squared = np.einsum("mcn,mcn,n->m", fields, fields, weights)
    turned = fields * np.exp(-0.5j * np.angle(squared))[:, None, None]
    # The sign is still free: let the largest value of the real part be positive.
    flat = turned.real.reshape(len(turned), -1)
    largest = np.take_along_axis(flat, np.abs(flat).argmax(axis=1)[:, None], axis=1)
    return turned * np.where(largest < 0, -1.0, 1.0)[:, :, None]


def _require_free_names(surrogate: Surrogate, mesh: Mesh, properties: Iterable[str]) -> None:
    description = surrogate.description
    used = {channel.name for channel in description.channels} | {*description.space.names}
    taken = (used | {*mesh.dims}) & {"part", "mode", *properties}
    if taken:
        raise DataError(
            f"the model has channels or coordinates called {', '.join(sorted(taken))}, which is "
            "what mode fields call their own; rename them in the training data"
        )


def _properties(modes: DynamicModes, shown: slice) -> dict[str, xr.Variable]:
    time = {"units": modes.time_units} if modes.time_units else {}
    per_time = {"units": f"1/{modes.time_units}"} if modes.time_units else {}
    size = {"long_name": "rms contribution to the training states, normalised units"}
    return {
        "growth_rate": xr.Variable("mode", modes.growth_rate[shown], per_time),
        "frequency": xr.Variable("mode", modes.frequency[shown], per_time),
        "period": xr.Variable("mode", modes.period[shown], time),
        "amplitude": xr.Variable("mode", modes.amplitudes[shown], size),
    }
