"""Coastlines for figures, from the countries of Natural Earth (1:110m, in the public domain).

`python tools/make_coastlines.py COUNTRIES.shp` writes src/smore/plotting/coastlines.npz. The file
that was taken is naturalearth_lowres.shp, as geopandas 0.14.4 has it on PyPI.
"""

from __future__ import annotations

import struct
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

OUTPUT = Path(__file__).parents[1] / "src" / "smore" / "plotting" / "coastlines.npz"
POLYGON = 5  # kind of shape, as ESRI numbers them
HUNDREDTHS = 100

Point = tuple[int, int]  # longitude and latitude, in hundredths of a degree


def rings(shapefile: bytes) -> Iterator[list[Point]]:
    """The closed outlines of all polygons."""
    place = 100  # behind the header
    while place < len(shapefile):
        (words,) = struct.unpack_from(">i", shapefile, place + 4)
        record = shapefile[place + 8 : place + 8 + 2 * words]
        place += 8 + 2 * words
        kind, num_parts, num_points = struct.unpack_from("<i32x2i", record)
        assert kind == POLYGON
        starts = [*struct.unpack_from(f"<{num_parts}i", record, 44), num_points]
        points = np.frombuffer(record, "<f8", 2 * num_points, 44 + 4 * num_parts).reshape(-1, 2)
        rounded = [tuple(point) for point in np.rint(points * HUNDREDTHS).astype(int).tolist()]
        for first, last in pairwise(starts):
            yield rounded[first:last]


def coast(outlines: list[list[Point]]) -> list[list[Point]]:
    """Lines along sides that one country has: those of two are borders.

    Sides on the date line and at the pole only close a polygon.
    """
    sides = Counter(
        frozenset(side) for ring in outlines for side in pairwise(ring) if side[0] != side[1]
    )
    lines: list[list[Point]] = []
    for ring in outlines:
        line: list[Point] = []
        for start, end in pairwise(ring):
            if sides[frozenset((start, end))] == 1 and not _closes(start, end):
                line = line or [start]
                line.append(end)
            elif line:
                lines.append(line)
                line = []
        if line:
            lines.append(line)
    return lines


def _closes(start: Point, end: Point) -> bool:
    edge = 180 * HUNDREDTHS
    return abs(start[0]) == edge == abs(end[0]) or start[1] == end[1] == -90 * HUNDREDTHS


if __name__ == "__main__":
    found = coast(list(rings(Path(sys.argv[1]).read_bytes())))
    np.savez_compressed(
        OUTPUT,
        points=np.array([point for line in found for point in line], dtype=np.int16),
        lengths=np.array([len(line) for line in found], dtype=np.int16),
    )
    print(f"{OUTPUT}: {len(found)} lines, {OUTPUT.stat().st_size:,} bytes")
