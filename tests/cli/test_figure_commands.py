"""`--figure` of every command: channels, films, and what is refused before any work."""

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from smore.cli.app import app
from smore.errors import SettingsError
from waves import planted, trajectories


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("figures")
    data = trajectories()
    planted(data).save(place / "waves.smore")
    data.save(place / "waves.nc")
    first = data.sequences[0]
    rows = [
        f"{time},{x},{y},{u},{v}"
        for time, fields in zip(first.times, first.fields, strict=True)
        for (x, y), u, v in zip(first.mesh.coords[:9], *fields[:, :9], strict=True)
    ]
    (place / "stream.csv").write_text("\n".join(["time,x,y,u,v", *rows]))
    return place


def run(folder, command, *options):
    files = {"forecast": ["waves.nc"], "evaluate": ["waves.nc"], "assimilate": ["stream.csv"]}
    words = [command, folder / "waves.smore", *(folder / file for file in files.get(command, []))]
    if command in ("forecast", "assimilate"):
        words += ["-o", folder / f"{command}.nc"]
    if command == "sensors":
        words += ["--count", 3, "-o", folder / "sensors.csv"]
    result = CliRunner().invoke(app, [str(word) for word in (*words, *options)])
    if isinstance(result.exception, SettingsError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def size(path):
    with Image.open(path) as picture:
        return picture.size


@pytest.mark.parametrize("command", ["forecast", "evaluate", "assimilate", "modes"])
def test_channels_can_be_chosen(folder, command):
    both, one = folder / f"{command}.png", folder / f"{command}-v.png"
    run(folder, command, "--figure", both)
    run(folder, command, "--figure", one, "--channel", "v")
    assert size(one)[1] < size(both)[1]  # a block of rows less
    with pytest.raises(SettingsError, match="out of u, v, got pressure"):
        run(folder, command, "--figure", one, "--channel", "pressure")


@pytest.mark.parametrize(
    ("command", "frames"), [("forecast", 10), ("evaluate", 6), ("assimilate", 6)]
)
def test_figures_may_be_films(folder, command, frames):
    film = folder / f"{command}.gif"
    printed = run(folder, command, "--figure", film, "--channel", "u")
    assert f"figure: {film}" in printed.replace("\n", "")
    with Image.open(film) as saved:
        assert saved.n_frames == frames
        shown = [np.asarray(saved.convert("L"), dtype=float)]
        saved.seek(frames - 1)
        shown.append(np.asarray(saved.convert("L"), dtype=float))
    assert np.abs(shown[1] - shown[0]).max() > 50


@pytest.mark.parametrize("command", ["modes", "sensors", "certify"])
def test_what_does_not_move_is_no_film(folder, command):
    with pytest.raises(SettingsError, match="does not move"):
        run(folder, command, "--figure", folder / "still.gif")
    assert not (folder / "still.gif").exists()
    with pytest.raises(SettingsError, match=r"figures end in .*png.*; got"):
        run(folder, command, "--figure", folder / "still.txt")
