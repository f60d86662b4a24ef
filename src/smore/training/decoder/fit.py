"""The decoder for training snapshots: which kind, and its weights.

On one mesh a gridded basis is as good as any linear basis can be; a filter network comes close, or
not, and may know better what is between the points. Which of them is taken is decided by what they
say about points that were left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from smore.data import Block
from smore.decoder import Decoder, FilterNetwork
from smore.errors import DivergenceError, SettingsError
from smore.settings import Settings
from smore.surrogate import build_network
from smore.training.checkpoints.checkpoints import Checkpoints
from smore.training.decoder._closed_form import solve_decoder
from smore.training.decoder._left_out_points import best_frequency_scale, network_is_better
from smore.training.decoder._nodes import Nodes
from smore.training.decoder._variable_projection import fit_decoder, projection_error
from smore.training.decoder.compression import Compressed
from smore.training.decoder.pieces import Piece
from smore.training.held_out import held_out
from smore.training.preparing import Prepared

# A closed form this close to what any linear basis could do is as good as descent would make it.
NEAR_LIMIT = 1.5
# Most steps of descent with FiLM matrices solved for at each, and how many times larger these are.
ELIMINATED_STEPS = 200
ELIMINATED_RATE = 4.0
# A network may leave so many times as much as the best basis before a gridded one is taken.
AS_GOOD = 1.02
# ... or what float32 leaves of fields of variance 1.
ROUNDED = 1e-12
# Numbers that the modes of a gridded basis may take in a model file.
MOST_NUMBERS = 2**26

Status = Callable[[int, str], None]


@dataclass
class DecoderFit:
    """Fits decoders to the pieces of a training problem.

    Args:
        prepared: data and settings.
        pieces: the data as the engine sees them.
        device: of the decoder.
        generator: the source of initial weights and samples.
        checkpoints: where the state of a descent goes now and then.
        status: told the steps done and how it goes.

    Attributes:
        settings: with the choices made on the way.
        findings: steps, and what no linear basis could better.
        divergence: why a descent ended early, if it did; its last good state is kept.
    """

    prepared: Prepared
    pieces: list[Piece]
    device: torch.device
    generator: torch.Generator
    checkpoints: Checkpoints
    status: Status

    def __post_init__(self) -> None:
        self.settings = self.prepared.settings
        self.divergence: DivergenceError | None = None
        limit = sum(piece.limit for piece in self.pieces)
        # Bases for one mesh each, or for some of the data, say little about a basis for all.
        self.findings = {"decoder_steps": 0.0}
        if len(self.pieces) == 1 and limit > 0:
            self.findings["pod_limit"] = limit

    @property
    def compressed(self) -> Compressed | None:
        """All data on one mesh."""
        return self.pieces[0].compressed if len(self.pieces) == 1 else None

    @property
    def with_offset(self) -> bool:
        # With an offset the latent energy would not be the field's.
        return self.settings.dynamics != "conservative"

    def run(self) -> Decoder:
        """The decoder that the settings name, or the better one."""
        nodes = self._nodes()
        if self.settings.decoder == "gridded":
            if nodes is None:
                raise SettingsError(_no_mesh(self.settings))
            self.settings = _gridded(self.settings)
            return nodes.decoder(self.settings.latent_dim or 0, self.with_offset).to(self.device)
        network = self._network()
        left = self._solve(network)
        asked = self.settings.decoder == "network"
        if not asked and nodes is not None and left is not None and self.compressed is not None:
            as_good = left <= max(AS_GOOD * self.findings.get("pod_limit", 0.0), ROUNDED)
            if not (as_good and network_is_better(network, self.compressed, nodes)):
                self.settings = _gridded(self.settings)
                return nodes.decoder(network.latent_dim, self.with_offset).to(self.device)
        self.settings = self.settings.replace(decoder="network")
        if left is None or left > NEAR_LIMIT * self.findings.get("pod_limit", 0.0):
            self._descend(network)
        return network

    def _nodes(self) -> Nodes | None:
        """The points of the one mesh there is, if modes at all of them can be stored."""
        settings, prepared = self.settings, self.prepared
        if self.compressed is None or prepared.mesh is None or prepared.team.size > 1:
            return None
        dim = settings.latent_dim or 0
        outputs = settings.num_outputs(prepared.problem.num_channels)
        numbers = prepared.mesh.num_points * outputs * dim
        if numbers > MOST_NUMBERS or dim > len(self.compressed.energies):
            return None
        return Nodes.of(prepared, self.compressed, outputs)

    def _network(self) -> FilterNetwork:
        """A fresh network, with the frequency scale that left-out points like best."""
        prepared = self.prepared
        state = self.generator.get_state()

        def fresh(scale: float) -> FilterNetwork:
            self.generator.set_state(state)
            settings = self.settings.replace(decoder="network", frequency_scale=scale)
            return build_network(
                settings,
                prepared.coordinate_map.decoder_dim,
                self.generator,
                num_channels=prepared.problem.num_channels,
            ).to(self.device)

        if self.settings.frequency_scale is None:
            scale = best_frequency_scale(fresh, self.compressed)
            self.settings = self.settings.replace(frequency_scale=scale)
        assert self.settings.frequency_scale is not None
        return fresh(self.settings.frequency_scale)

    def _solve(self, decoder: FilterNetwork) -> float | None:
        """Closed form, and the mean squared error that it leaves; None where there is none."""
        if self.compressed is None:
            return None
        left_out = solve_decoder(decoder, self.compressed.block, with_offset=self.with_offset)
        error = left_out / self.compressed.total_points + self.compressed.rest
        self._progress(0, error)
        return error

    def _progress(self, place: int, loss: float) -> None:
        limit = self.findings.get("pod_limit")
        best = "" if limit is None else f" (best possible {limit:.2e})"
        self.status(place, f"decoder error {loss:.2e}{best}")

    def _descend(self, decoder: FilterNetwork) -> None:
        """Variable projection, with FiLM matrices solved for where that can be done."""
        settings, pieces = self.settings, [_as_precise_as(decoder, each) for each in self.pieces]
        compressed = pieces[0].compressed if len(pieces) == 1 else None
        how: dict[str, Any] = {
            "pieces": pieces,
            "num_steps": settings.decoder_steps,
            "rate": settings.decoder_learning_rate,
        }
        if compressed is not None:
            how |= self._eliminated(decoder, compressed)
        try:
            steps = fit_decoder(
                decoder,
                generator=self.generator,
                with_offset=self.with_offset,
                chunk_size=settings.chunk_size,
                backtrack=settings.on_divergence == "backtrack",
                checkpoints=self.checkpoints,
                progress=self._progress,
                **how,
            )
        except DivergenceError as error:
            if not error.epoch:  # nothing has been learned
                raise
            steps, self.divergence = error.epoch, error
        self.findings["decoder_steps"] = steps
        self._solve(decoder)

    def _eliminated(self, decoder: FilterNetwork, compressed: Compressed) -> dict[str, Any]:
        """Descent with FiLM matrices solved for, judged by left-out trajectories if any."""
        problem, settings = self.prepared.problem, self.settings
        how = {
            "num_steps": min(settings.decoder_steps, ELIMINATED_STEPS),
            "rate": ELIMINATED_RATE * settings.decoder_learning_rate,
            "eliminate": True,
        }
        out = held_out(problem.groups, settings.validation_fraction)
        if not bool(out.any()):
            return how
        snapshots = problem.timeline.scatter(out[:, None].expand_as(problem.timeline.valid))
        columns = snapshots.repeat_interleave(decoder.num_codes(problem.num_channels))
        training, judging = compressed.part(~columns), compressed.part(columns)
        if training is None or judging is None:
            return how
        return how | {
            "pieces": [replace(self.pieces[0], block=training)],
            "judge": lambda: projection_error(decoder, judging, settings.chunk_size),
        }


def _as_precise_as(decoder: FilterNetwork, piece: Piece) -> Piece:
    """A piece whose values are of the type of the decoder's weights, and where these are."""
    weight, compressed = next(decoder.parameters()), piece.compressed
    if compressed is None or not isinstance(compressed.block, Block):
        return piece
    values, loading = (
        each.to(weight) for each in (compressed.block.values, compressed.block.offset_loading)
    )
    block = replace(compressed.block, values=values, loading=loading)
    return replace(piece, block=block, compressed=replace(compressed, block=block))


def _gridded(settings: Settings) -> Settings:
    """With a gridded basis, which has none of a network's sizes."""
    return settings.replace(decoder="gridded", hidden_dim=None, frequency_scale=None)


def _no_mesh(settings: Settings) -> str:
    return (
        "decoder 'gridded' needs one mesh for all snapshots, without values that are missing now "
        f"and then, at most {MOST_NUMBERS:,} numbers for its modes, as many independent snapshots "
        f"as latents ({settings.latent_dim}), and one process; leave it out, or use 'network'"
    )
