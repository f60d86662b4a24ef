"""Figures that notebooks show, whether or not somebody has set up matplotlib there."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

SHOWN_DPI = 80


class _Sheet(Figure):
    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=SHOWN_DPI)
        return file.getvalue()


def sheet(width: float, height: float) -> Figure:
    """An empty figure of so many inches, on which labels find room for themselves."""
    return _Sheet(figsize=(width, height), layout="constrained")
