"""Figures and films in files."""

from __future__ import annotations

from pathlib import Path

from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.figure import Figure

from smore.errors import SettingsError, unwritable
from smore.runtime import ProgressLine

FILM = ".gif"
DPI, FILM_DPI = 150, 90
FRAMES_PER_SECOND = 8


def is_film(path: Path | None) -> bool:
    """Whether an animation is asked for, by the ending of its name."""
    return path is not None and path.suffix == FILM


def save_figure(figure: Figure | FuncAnimation, path: str | Path) -> None:
    """Write a figure, by the ending of its name, or an animation as a GIF, with progress.

    Raises:
        SettingsError: it cannot be written there.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(figure, FuncAnimation):
            _save_film(figure, path)
        else:
            figure.savefig(path, dpi=DPI)
    except OSError as error:
        raise SettingsError(unwritable(path, error)) from error


def _save_film(film: FuncAnimation, path: str | Path) -> None:
    line: ProgressLine | None = None

    def tell(frame: int, total: int) -> None:
        nonlocal line
        line = line or ProgressLine("drawing frames", total).begin()
        line.update(frame + 1)

    try:
        writer = PillowWriter(fps=FRAMES_PER_SECOND)
        film.save(path, writer=writer, dpi=FILM_DPI, progress_callback=tell)
    finally:
        if line is not None:
            line.end()


def require_figure_format(path: Path | None, *, films: bool = False) -> None:
    """Refuse a file name that no figure can be written to, before any work is done.

    Args:
        path: the name; None for no figure.
        films: whether this figure has an animation too.
    """
    if path is None:
        return
    known = {f".{ending}" for ending in FigureCanvasBase.get_supported_filetypes()} - {FILM}
    if path.suffix == FILM and not films:
        raise SettingsError(f"this figure does not move, so it is no animation; got {path}")
    if path.suffix not in known | {FILM}:
        endings = sorted(ending[1:] for ending in (known | {FILM} if films else known))
        raise SettingsError(f"figures end in {', '.join(endings)}; got {path}")
