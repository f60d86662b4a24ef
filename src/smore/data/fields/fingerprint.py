"""What trajectories are, in a few short texts that tell others from them.

The same data give the same texts, whether they are in memory or in a scratch file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from smore.data.fields._column_sums import checksums, field_checksums, point_keys
from smore.data.fields.file_fields import FileFields, slabs
from smore.data.fields.scratch_fields import StoredFields
from smore.data.sequence import Sequence
from smore.data.trajectories import Trajectories


def fingerprint(trajectories: Trajectories) -> dict[str, str]:
    """By name, so that a difference can be named: channels, snapshots, times, points, values."""
    channels = ", ".join(channel.name for channel in trajectories.channels)
    lengths = [sequence.num_snapshots for sequence in trajectories]
    values, missing = zip(*map(_checksums, trajectories), strict=True)
    return {
        "channels": channels,
        "snapshots": f"{sum(lengths)} in {len(lengths)} sequences",
        "times": _digest(sequence.times for sequence in trajectories),
        "points": _digest(
            np.frombuffer(mesh.digest.encode(), "u1") for mesh in trajectories.meshes
        ),
        "values": _digest(values),
        "missing values": _digest(missing),
    }


def _checksums(sequence: Sequence) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """(times, channels) of the values, and of which are missing: 0 where none are."""
    if isinstance(sequence.source, StoredFields):
        values = sequence.source.checksums
        return values, np.full_like(values, sequence.source.store.missing_checksum)
    if isinstance(sequence.source, FileFields):
        return _file_checksums(sequence.source)
    values = field_checksums(sequence.fields)
    if sequence.observed is None:
        return values, np.zeros_like(values)
    return values, field_checksums(~sequence.observed)


def _file_checksums(source: FileFields) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The same of fields that are still in their file, in one pass."""
    values, missing = np.zeros((2, *source.shape[:2]), dtype=np.uint64)
    for slab in slabs([source]):
        keys = point_keys(np.arange(slab.points.start, slab.points.stop))
        gone = np.isnan(slab.values[0])
        missing[slab.times] += checksums(gone, keys)
        values[slab.times] += checksums(np.where(gone, 0, slab.values[0]), keys)
    return values, missing


def _digest(arrays: Iterable[NDArray]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]
