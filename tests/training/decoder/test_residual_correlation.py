"""What a decoder misses, planted: a process in time with a Gaussian correlation in space."""

from __future__ import annotations

import numpy as np
import torch

from smore.data import Block, Timeline
from smore.decoder import Basis
from smore.training.decoder.residual_correlation import residual_correlation

MEMORY, REACH = (0.8, 0.3), (0.06, 0.15)


class Nothing(torch.nn.Module):
    """A decoder that knows of no modes: it misses everything."""

    joint, num_outputs, latent_dim, coordinate_dim = False, 1, 1, 2

    def basis(self, coords):
        return Basis(coords.new_zeros(len(coords)), coords.new_zeros(len(coords), 1))

    def channel_bases(self, coords, num_channels):
        return [self.basis(coords)] * num_channels

    def parts(self, chunk):
        yield self.basis(chunk.coords), chunk


def planted(tails: float = 0.0):
    """A block of 60 sequences of 12 snapshots at 200 points, two channels, and its timeline."""
    random = np.random.default_rng(0)
    coords = random.uniform(0, 0.5, size=(200, 2))
    distance = np.square(coords[:, None] - coords[None]).sum(-1)
    channels = []
    for memory, reach in zip(MEMORY, REACH, strict=True):
        kernel = np.exp(-0.5 * distance / reach**2) + 1e-6 * np.eye(200)
        root = np.linalg.cholesky(kernel)
        state = root @ random.normal(size=(200, 60))
        found = [state]
        for _ in range(11):
            fresh = root @ random.normal(size=(200, 60))
            state = memory * state + np.sqrt(1 - memory**2) * fresh
            found.append(state)
        channels.append(np.stack(found, axis=2))  # (points, sequences, times)
    values = np.stack(channels, axis=-1)
    values *= np.exp(tails * random.normal(size=(200, 1, 1, 1)))
    block = Block(
        torch.tensor(coords),
        torch.ones(200, dtype=torch.float64),
        torch.tensor(values.reshape(200, -1)),
        torch.arange(720),
        2,
    )
    rows = torch.arange(720).view(60, 12)
    times = torch.arange(12.0, dtype=torch.float64).expand(60, 12)
    timeline = Timeline(rows, torch.ones(60, 12, dtype=torch.bool), torch.ones(60, 11), times)
    return block, timeline


def learned(tails: float = 0.0):
    block, timeline = planted(tails)
    latents = torch.zeros(720, 2, 1, dtype=torch.float64)
    variance = float(block.values.square().mean())
    return residual_correlation(
        Nothing(), [block], latents, timeline, lambda bases: torch.full((2, 200), variance).double()
    )


def test_memory_and_reach_are_found():
    memory, reach, tail = learned()
    np.testing.assert_allclose(memory, MEMORY, atol=0.03)
    np.testing.assert_allclose(reach, REACH, rtol=0.2)
    np.testing.assert_allclose(tail, 1.0, atol=0.05)


def test_places_that_are_missed_more_than_expected_make_tails():
    _, _, tail = learned(tails=0.7)
    assert (tail > 1.2).all()
