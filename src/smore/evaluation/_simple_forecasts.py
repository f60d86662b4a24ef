"""What the references that a model keeps would have forecast, in the data's units."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smore.data import Sequence, Trajectories
from smore.surrogate import References, Surrogate, decode

# Leads this close to whole training steps, as shares of a step, are taken for whole ones.
WHOLE = 0.05

Fields = NDArray[np.floating]
# A forecast (leads, channels, points), and where it is one; None for everywhere.
Forecast = tuple[Fields, NDArray[np.bool_] | None]


class SimpleForecasts:
    """Persistence, climatology, that of calendar months and a plain DMD, as far as they are known.

    Args:
        surrogate: keeps them.
        firsts: first snapshots of all forecasts.
        truth: what is forecast.

    Attributes:
        absent: what is not shown, and why.
        dmd_rank: None where there is no DMD.
    """

    def __init__(self, surrogate: Surrogate, firsts: Trajectories, truth: Trajectories) -> None:
        self.surrogate = surrogate
        self.absent: dict[str, str] = {}
        kept = [surrogate.references_on(mesh) for mesh in truth.meshes]
        self.references = kept[0] if len(kept) == 1 else None
        self._why_not(firsts, truth)
        self.dmd = None
        if self.references is not None and "dmd" not in self.absent:
            self.dmd = self.references.dmd
        self.dmd_rank = None if self.dmd is None else self.dmd.modes.shape[1]

    def _why_not(self, firsts: Trajectories, truth: Trajectories) -> None:
        """Fill `absent`."""
        references, clock = self.references, self.surrogate.description.clock
        if references is None:
            why = "the data are not on the mesh of the training data"
            if self.surrogate.references is None:
                why = (
                    "the model keeps no references: its training data had several meshes or a very "
                    "large one, or it is of an earlier version"
                )
            self.absent["climatology"] = f"{why}; what is shown is decoded by the model"
            self.absent["dmd"] = why
        elif references.dmd is None:
            self.absent["dmd"] = (
                "the model keeps none: that takes dynamics 'linear', data in memory that are long "
                "enough to choose its rank, and 64 MiB at most"
            )
        elif not all(self._is_whole(sequence.times) for sequence in truth):
            self.absent["dmd"] = "the data are not whole training steps apart"
        elif not all(self._is_complete(sequence) for sequence in firsts):
            self.absent["dmd"] = "a first snapshot has gaps"
        if clock.kind == "datetime" and (references is None or references.monthly is None):
            self.absent["monthly"] = (
                "it takes training data on this mesh that cover two years, by steps of a month "
                "or less"
            )

    def _is_whole(self, times: NDArray[np.float64]) -> bool:
        description = self.surrogate.description
        steps = np.diff(description.model_times(times)) / description.step
        return bool((np.abs(steps - steps.round()) <= WHOLE).all())

    def _is_complete(self, sequence: Sequence) -> bool:
        observed = sequence.observed
        if observed is None:
            return True
        seen = self.surrogate.seen_on(sequence.mesh)
        return bool(observed[0].all() if seen is None else observed[0][seen].all())

    def start(self, first: Sequence, instants: NDArray[np.float64]) -> None:
        """Forecast from a snapshot to later instants."""
        description = self.surrogate.description
        self.instants = instants
        self.first = first.fields.astype(np.float64)
        self.known = first.observed
        self.mean = self._climatology(first)
        if self.dmd is not None:
            times = description.model_times(np.append(first.times, instants))
            steps = np.round((times[1:] - times[0]) / description.step).astype(int)
            begin = description.normalization.apply(self.first[0])
            if self.known is not None:
                begin = np.where(self.known[0], begin, 0.0)
            self.states = self.dmd.states(begin.ravel(), int(steps[-1]))[steps - 1]

    def at(self, places: slice, piece: Sequence) -> dict[str, Forecast]:
        """Forecasts for some of the instants."""
        shape, undo = piece.source.shape, self.surrogate.description.normalization.undo
        found: dict[str, Forecast] = {
            "persistence": (np.broadcast_to(self.first, shape), self.known),
            "climatology": (np.broadcast_to(self.mean, shape), None),
        }
        references = self.references
        if references is not None and references.monthly is not None:
            clock = self.surrogate.description.clock
            seasonal = references.seasonal(self.instants[places], clock)
            found["monthly"] = (undo(seasonal.astype(np.float64)), None)
        if self.dmd is not None:
            found["dmd"] = (undo(self.dmd.decode(self.states[places]).reshape(shape)), None)
        return found

    def _climatology(self, first: Sequence) -> Fields:
        """(channels, points)."""
        if self.references is not None:
            return climatology(self.surrogate, self.references)
        prior = self.surrogate.prior.mean
        latents = prior.view(-1, self.surrogate.decoder.latent_dim)
        weight = next(self.surrogate.decoder.parameters())
        return decode(self.surrogate, latents.to(weight), first.mesh).astype(np.float64)


def climatology(surrogate: Surrogate, references: References) -> Fields:
    """(channels, points) mean of the training data, in the data's units."""
    return surrogate.description.normalization.undo(references.mean)
