"""How much memory a fit takes, and how many points to decode at once so that it stays in bounds.

Only the basis needs a graph, so the memory of a chunk of points is its activations and a few arrays
of (points, columns), whatever the number of chunks.
"""

from __future__ import annotations

import psutil
from pydantic import ByteSize

from smore.data import AnyBlock
from smore.errors import DataError, how_to_set
from smore.settings import Settings

# What chunks may take where the user sets no bound: enough for the benchmarks in one piece, and
# little beside the data that need more.
DEFAULT_WORKING = 2**30
# Chunks are a part of what a process holds beside libraries: optimisers, latents, a piece that is
# being read ahead.
WORKING_SHARE = 0.5
LEAST_CHUNK = 64
SINGLE, DOUBLE = 4, 8
# Columns that compression has in hand at once: new ones, and the factor of those before.
MOST_MERGED = 2048 + 640
# What is chosen where the user leaves it open.
LATENT_RANGE = (4, 128)
HIDDEN_RANGE = (64, 256)


def bytes_per_point(settings: Settings, num_columns: int) -> int:
    """Memory that one more point of a chunk takes, gradients included.

    Args:
        settings: with the sizes of the decoder.
        num_columns: snapshots times channels that are compared with the decoder there.
    """
    assert settings.hidden_dim is not None
    assert settings.latent_dim is not None
    num_filters = settings.num_hidden + 1
    # Phase, filter and the products before and after it stay for the backward pass, in which as
    # much again comes and goes for one layer.
    activations = settings.hidden_dim * (3.5 * num_filters + 6) + 4 * settings.latent_dim
    # The values read, their residual, and both in double precision where they are solved for.
    columns = num_columns * (2 * SINGLE + 2 * DOUBLE)
    return int(SINGLE * activations + DOUBLE * settings.latent_dim + columns)


def choose_chunk_size(settings: Settings, num_points: int, num_columns: int) -> int | None:
    """Points decoded at once: as given, or as many as the memory allows; None for all."""
    if settings.chunk_size is not None:
        return settings.chunk_size
    allowed = DEFAULT_WORKING
    if settings.memory is not None:
        allowed = int(WORKING_SHARE * settings.memory)
    size = allowed // bytes_per_point(settings, num_columns)
    return None if size >= num_points else max(size, LEAST_CHUNK)


def chunk_size_for(settings: Settings, blocks: list[AnyBlock]) -> int | None:
    """The smallest that any of the blocks needs."""
    sizes = [choose_chunk_size(settings, block.num_points, block.num_columns) for block in blocks]
    return min((size for size in sizes if size is not None), default=None)


def require_memory(settings: Settings, num_points: int, num_columns: int) -> None:
    """Refuse a fit that does not fit into the memory that is free, before it begins.

    Args:
        settings: where sizes are not decided yet, the largest that may be chosen are counted with.
        num_points: of a mesh whose data are held in memory.
        num_columns: snapshots times channels on it.

    Raises:
        DataError: with what would fit.
    """
    settings = settings.replace(
        latent_dim=settings.latent_dim or LATENT_RANGE[1],
        hidden_dim=settings.hidden_dim or HIDDEN_RANGE[1],
    )
    chunk = min(choose_chunk_size(settings, num_points, num_columns) or num_points, num_points)
    each = bytes_per_point(settings, num_columns)
    held = num_points * num_columns * SINGLE
    if settings.recipe == "fast":
        # Columns and the factor of those before them, in double precision, and their product.
        held += 2 * num_points * min(num_columns, MOST_MERGED) * DOUBLE
    free = psutil.virtual_memory().available
    if held + chunk * each <= free:
        return
    smaller = int((free - held) * WORKING_SHARE) // each
    advice = (
        f"decode fewer points at once: {how_to_set('chunk_size', smaller)}"
        if smaller >= LEAST_CHUNK
        else "give the fit a NetCDF or Zarr file to stream and a bound, such as "
        f"{how_to_set('memory', '1GB')}"
    )
    raise DataError(
        f"this fit needs about {_readable(held + chunk * each)} of memory, of which "
        f"{_readable(held)} for the data and {_readable(chunk * each)} for {chunk:,} points "
        f"decoded at once; {_readable(free)} are free; {advice}"
    )


def _readable(count: float) -> str:
    return ByteSize(count).human_readable()
