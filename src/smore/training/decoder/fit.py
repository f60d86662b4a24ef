"""The decoder for training snapshots: which kind, and its weights.

On one mesh a gridded basis is as good as any linear basis can be; a filter network comes close, or
not, and may know better what is between the points. Which of them is taken is decided by what they
say about points that were left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from smore.data import AnyBlock, Block
from smore.decoder import Decoder, FilterNetwork
from smore.errors import DivergenceError, SettingsError
from smore.settings import PAPERS_SCALE, Settings
from smore.surrogate import build_network
from smore.training.checkpoints.checkpoints import Checkpoints
from smore.training.decoder._closed_form import solve_decoder
from smore.training.decoder._left_out_points import best_frequency_scale, network_is_better
from smore.training.decoder._nodes import Nodes
from smore.training.decoder._pooled import choose_regression, pool
from smore.training.decoder._variable_projection import fit_decoder, projection_error
from smore.training.decoder.compression import Compressed
from smore.training.decoder.pieces import Piece
from smore.training.held_out import held_out
from smore.training.memory import HIDDEN_RANGE, chunk_size_for
from smore.training.preparing import Prepared

# A closed form this close to what any linear basis could do is as good as descent would make it,
# and so is one that leaves this share of the variance.
NEAR_LIMIT, NEARLY_EXACT = 1.5, 1e-8
# Points that a network is learned from: far more than its features, of however many there are.
MOST_LEARNED = 2**17
# How many times wider a network may become, where the user leaves that open, to come so close, and
# up to which width: the Gram matrix of its features has to be small beside the data.
WIDER, WIDEST = (1, 2, 4, 8), 512
# Most steps of descent with FiLM matrices solved for at each, and how many times larger these are.
ELIMINATED_STEPS = 200
ELIMINATED_RATE = 4.0
# Points that a feature of a network between scattered points needs.
PER_FEATURE = 2
# A network may leave so many times as much as the best basis before a gridded one is taken.
AS_GOOD = 1.02
# ... or what float32 leaves of fields of variance 1. Between scattered points interpolation is much
# less sure than between the lines of a grid: there a network is taken, too, that is nearly exact
# everywhere and errs less by this factor.
ROUNDED, CLEARLY = 1e-12, 100.0
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
        self._state = self.generator.get_state()
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
        nodes, asked = self._nodes(), self.settings.decoder
        if asked == "gridded" and nodes is None:
            raise SettingsError(_no_mesh(self.settings))
        network: FilterNetwork | None = None
        if asked == "network" or nodes is None:
            network = self._learned()
        elif asked is None:
            network = self._as_good_as(nodes)
        if network is not None:
            self.settings = self.settings.replace(decoder="network")
            return network
        assert nodes is not None
        self.settings = _gridded(self.settings)
        return nodes.decoder(self.settings.latent_dim or 0, self.with_offset).to(self.device)

    def _learned(self) -> FilterNetwork:
        """A network, by descent where the closed form is not enough."""
        pooled = self._pooled() if self.compressed is None else None
        if pooled is not None:
            return pooled
        if self.compressed is not None:
            some = self.compressed.sampled(MOST_LEARNED)
            self.pieces = [replace(self.pieces[0], block=some.block, compressed=some)]
        enough = max(NEAR_LIMIT * self.findings.get("pod_limit", 0.0), NEARLY_EXACT)
        for width in self._widths():
            self.settings = self._as_wide_as(width)
            network = self._network(self._scale() or PAPERS_SCALE)
            left = self._solve(network)
            if left is None or left <= enough:
                break
        if left is None or left > enough:
            self._descend(network)
        return network

    def _widths(self) -> list[int]:
        """What is tried: wider and wider ones, where a closed form can tell."""
        width = self.settings.hidden_dim
        assert width is not None
        if self.prepared.asked.hidden_dim is not None or self.compressed is None:
            return [width]
        return [times * width for times in WIDER if times == 1 or times * width <= WIDEST]

    def _width_for(self, num_points: int) -> int:
        """The widest that is usual, with features for which so many points are enough."""
        width, most = self.settings.hidden_dim, num_points // PER_FEATURE
        assert width is not None
        if self.prepared.asked.hidden_dim is not None:
            return width
        each = most // (self.settings.num_hidden + 1)
        return max(width, min(HIDDEN_RANGE[1], each - each % 2))  # half sines, half cosines

    def _as_wide_as(self, width: int) -> Settings:
        """The settings with another width; fewer points of a wider network fit into memory."""
        asked, blocks = self.prepared.asked, self.prepared.problem.blocks
        settings = self.settings.replace(hidden_dim=width, chunk_size=asked.chunk_size)
        return settings.replace(chunk_size=chunk_size_for(settings, blocks))

    def _pooled(self) -> FilterNetwork | None:
        """A network for snapshots with points of their own, if these can be regressed on features.

        By descent from there, where features miss more than the modes have to.
        """
        blocks: list[AnyBlock] = list(self.prepared.problem.blocks)
        if self.settings.latents == "joint":
            blocks = [block.stacked() for block in blocks]
        found = choose_regression(self._network, blocks, self.settings.frequency_scale)
        if found is None:
            return None
        self.settings = self.settings.replace(frequency_scale=found.scale)
        network, small = found.decoder, pool(found, blocks, centred=self.with_offset)
        left = solve_decoder(network, small.block, with_offset=self.with_offset)
        error = left / small.total_points + small.rest + found.missed
        self._progress(0, error)
        if error > NEAR_LIMIT * small.pod_limit(network.latent_dim):
            self._descend(network)
        return network

    def _as_good_as(self, nodes: Nodes) -> FilterNetwork | None:
        """A network that decodes the mesh as well as its own modes do, and better in between.

        Among scattered points it may be nearly exact instead, if it is much better in between. None
        where the closed form gives none: descent would cost more than it could gain.
        """
        compressed, on_grid = nodes.compressed, nodes.mesh.separable
        if not on_grid:
            self.settings = self._as_wide_as(self._width_for(nodes.mesh.num_points))
        as_good = max(AS_GOOD * self.findings.get("pod_limit", 0.0), ROUNDED)
        most = as_good if on_grid else max(as_good, NEARLY_EXACT)
        scale = self._scale(most - compressed.rest)
        if scale is None:
            return None
        network = self._network(scale)
        if not network_is_better(network, compressed, nodes):
            return None
        left = self._solve(network)
        if left is None or left > most:
            return None
        good = left <= as_good or network_is_better(network, compressed, nodes, CLEARLY)
        return network if good else None

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

    def _scale(self, most: float = math.inf) -> float | None:
        """The frequency scale that left-out points like best; see `best_frequency_scale`."""
        scale = self.prepared.asked.frequency_scale
        if scale is None:
            scale = best_frequency_scale(self._network, self.compressed, most=most)
            self.settings = self.settings.replace(frequency_scale=scale)
        return scale

    def _network(self, scale: float) -> FilterNetwork:
        """A fresh network, from the same random numbers whenever one is asked for."""
        self.generator.set_state(self._state)
        return build_network(
            self.settings.replace(decoder="network", frequency_scale=scale),
            self.prepared.coordinate_map.decoder_dim,
            self.generator,
            num_channels=self.prepared.problem.num_channels,
        ).to(self.device)

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
