"""Two updates of a baseline on a grid of any size, as its authors would make them."""

from __future__ import annotations

import time

import torch

from smore.data import Trajectories
from smore.surrogate import build_network
from smore_paper.baselines.sizes import paper_operator
from smore_paper.measuring.generated import CHANNEL, Generated
from smore_paper.measuring.textbook import decode_snapshots
from smore_paper.presets import preset_settings
from smore_paper.tables.compared import HORIZON

BATCH, UPDATES = 32, 2
LEARNING_RATE = 1e-3


def operator_updates(model: str, grid: int) -> float:
    """Seconds of an update of a neural operator, the whole batch rolled out at once."""
    operator = paper_operator(model, "navier-stokes", device="cpu")
    operator.windows_at_once = None
    train = Trajectories.from_xarray(Generated(grid, BATCH, HORIZON).dataset())
    operator.fit(train, seed=0, epochs=UPDATES)
    return operator.seconds / UPDATES


def decoder_updates(grid: int) -> float:
    """Seconds of an update of DINo's decoder, every snapshot of a batch decoded at every point.

    Our own DINo runs on SMORE's engine, which its authors' does not; its dynamics do not depend on
    the grid and are left out.
    """
    data = Generated(grid, BATCH, HORIZON)
    targets = torch.from_numpy(data.dataset()[CHANNEL].to_numpy()).reshape(-1, data.points)
    axis = torch.tensor(data.axis / 2, dtype=torch.float32)  # the decoder's are [0, 0.5]²
    coords = torch.cartesian_prod(axis, axis)
    decoder = build_network(preset_settings("ns-dino"), 2, torch.Generator().manual_seed(0))
    codes = torch.zeros(len(targets), decoder.latent_dim, requires_grad=True)
    optimizer = torch.optim.Adam([codes, *decoder.parameters()], LEARNING_RATE)
    started = time.monotonic()
    for _ in range(UPDATES):
        optimizer.zero_grad()
        (decode_snapshots(decoder, coords, codes) - targets).square().mean().backward()
        optimizer.step()
    return (time.monotonic() - started) / UPDATES
