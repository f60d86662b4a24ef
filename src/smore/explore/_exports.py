"""What a page gives away: the table of sensors, the forecast, the command that does the same."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

import xarray as xr

from smore.data import save_dataset
from smore.errors import SettingsError
from smore.explore._explorer import Explorer

SENSORS, FORECAST, ANALYSIS = "sensors.csv", "forecast.nc", "analysis.nc"
# Bytes of fields that are not made for a download; the command line decodes piece by piece.
LARGE = 2**28


def sensors_table(explorer: Explorer) -> bytes:
    """The sensors as `smore forecast` reads them.

    Raises:
        SettingsError: there are none.
    """
    _require_sensors(explorer)
    return explorer.sensors.to_csv(explorer.description, explorer.start).encode()


def forecast_file(explorer: Explorer) -> bytes:
    """The forecast, or the analysis of the stream, as a NetCDF file.

    Raises:
        SettingsError: there is nothing to forecast from, or it is too large for a download.
    """
    times = explorer.description.clock.to_values(explorer.shown.instants)
    mesh = explorer.surrogate.mesh
    points = len(explorer.sensors) if mesh is None else mesh.num_points
    if 8 * points * len(times) * explorer.surrogate.num_channels > LARGE:
        raise SettingsError("the forecast is too large for a download; use the command line")
    if explorer.following and explorer.analysis is not None:
        return _file(explorer.analysis.fields(times))
    _require_sensors(explorer)
    observed = explorer.sensors.observations(explorer.description, explorer.start)
    assert observed is not None
    noise = explorer.told_noise
    return _file(explorer.model.forecast(observed, times[1:], noise=noise))


def command_line(explorer: Explorer, model_file: str, stream: str | None) -> str:
    """What to type to get the same forecast from the table of sensors, or from the stream."""
    words = ["smore", "forecast", model_file, SENSORS, "--steps", str(explorer.ahead)]
    output = FORECAST
    if explorer.following and explorer.analysis is not None:
        later = explorer.description.following(float(explorer.analysis.times[-1]), explorer.ahead)
        told = explorer.description.clock.to_values(later)
        when = ",".join(str(each).replace(" ", "T") for each in told)
        words = ["smore", "assimilate", model_file, stream or "stream.csv", "--forecast", when]
        output = ANALYSIS
    elif (noise := explorer.told_noise) is not None:
        words += ["--noise", ",".join(f"{name}={size!r}" for name, size in noise.items())]
    return shlex.join([*words, "-o", output])


def _require_sensors(explorer: Explorer) -> None:
    if explorer.sensors.observations(explorer.description, explorer.start) is None:
        raise SettingsError("there are no sensors with values yet; place some first")


def _file(dataset: xr.Dataset) -> bytes:
    """As it would be on disk; the folder is this process's own, and gone at once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FORECAST
        save_dataset(dataset, path)
        return path.read_bytes()
