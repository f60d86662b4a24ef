"""Everything a report says, found before any of it is told."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from smore.analysis import DynamicModes, SensorPlan, mode_fields, plan_sensors
from smore.data import Mesh, Trajectories
from smore.errors import DataError, SettingsError
from smore.evaluation import Evaluation, Skill
from smore.inference import LatentState
from smore.model import SMORE
from smore.report._played import Frames, forecasts, observed, played
from smore.report._worth import Worth, worth_by_channel
from smore.surrogate import Surrogate, advance_uncertain, deviation

FloatArray = NDArray[np.float64]

# Sequences that skill and places of errors are found from, evenly spread.
MOST_SEQUENCES = 5
NUM_SENSORS, NUM_MODES = 10, 4
# Points among which sensors are placed, and at which expected errors are averaged.
CANDIDATES, SAMPLED = 1500, 500
DRAWN_DIM = 3


@dataclass(frozen=True)
class Expected:
    """The error a model expects of itself, in standard deviations of the data.

    Args:
        leads: steps ahead.
        errors: root mean squares at these.
        checked: steps that forecasts inside the training data went.
    """

    leads: tuple[int, ...]
    errors: tuple[float, ...]
    checked: int


@dataclass(frozen=True, eq=False)
class Tested:
    """What test data show.

    Args:
        truth: aligned with the model.
        evaluation: of all sequences, from their first snapshots.
        skill: of `used` sequences, by lead.
        worth: what that means.
        by_channel: the same of channels for which it is not the same.
        used: numbers of the sequences that skill was found from.
        frames: one sequence for the player; None for more coordinates than can be drawn.
        places: (channels, points of the picture) rms error over times and sequences.
    """

    truth: Trajectories
    evaluation: Evaluation
    skill: Skill
    worth: Worth
    by_channel: dict[str, Worth]
    used: tuple[int, ...]
    frames: Frames | None
    places: FloatArray | None


@dataclass(frozen=True, eq=False)
class Findings:
    """What a report is made of; None for what this model or these data do not have.

    Args:
        surrogate: the model.
        num_parameters: of it.
        tested: with test data.
        expected: without.
        modes: of the dynamics.
        mode_fields: of the strongest.
        sensors: where to measure.
        warned: what the model warned about on the way.
    """

    surrogate: Surrogate
    num_parameters: int
    tested: Tested | None
    expected: Expected | None
    modes: DynamicModes
    mode_fields: xr.Dataset | None
    sensors: SensorPlan | None
    warned: tuple[str, ...]


def find(
    model: SMORE, truth: Trajectories | None, sequence: int, say: Callable[[str], None]
) -> Findings:
    """Look at a model, and at its forecasts of `truth` if there is some."""
    surrogate, mesh = model.surrogate_, model.surrogate_.mesh
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tested = None if truth is None else _tested(model, truth, sequence, say)
        say("looking at modes and sensors")
        modes, fields, sensors, expected = model.modes(), None, None, None
        if mesh is not None:
            fields = _mode_fields(surrogate, modes, mesh)
            sensors = _sensors(surrogate, mesh)
            expected = None if tested else expected_errors(surrogate, mesh)
    return Findings(
        surrogate=surrogate,
        num_parameters=model.num_parameters,
        tested=tested,
        expected=expected,
        modes=modes,
        mode_fields=fields,
        sensors=sensors,
        warned=tuple(
            dict.fromkeys(
                str(each.message)
                for each in caught
                if each.category.__module__ == SettingsError.__module__  # ours
            )
        ),
    )


def _mode_fields(surrogate: Surrogate, modes: DynamicModes, mesh: Mesh) -> xr.Dataset | None:
    """Fields of the strongest modes; None where they cannot be drawn."""
    if mesh.dim > DRAWN_DIM:
        return None
    try:
        return mode_fields(surrogate, modes, mesh, NUM_MODES)
    except DataError:  # a channel has a name that modes need themselves
        return None


def _tested(model: SMORE, given: Trajectories, sequence: int, say: Callable[[str], None]) -> Tested:
    surrogate = model.surrogate_
    names = [channel.name for channel in surrogate.description.channels]
    if not 0 <= sequence < len(given):
        raise SettingsError(
            f"expected the number of one of {len(given)} sequences, counted from 1, got "
            f"{sequence + 1}"
        )
    say("forecasting every sequence from its first snapshot")
    evaluation = model.evaluate(given)
    truth = surrogate.aligned(given.select_channels(names))
    long_enough = [n for n, each in enumerate(truth) if each.num_snapshots > 1]
    used = _spread(long_enough, MOST_SEQUENCES)
    say("scoring forecasts by how far they reach")
    scored = truth.select(used)
    skill = model.skill(scored)
    worth = Worth.of(skill)
    by_channel = worth_by_channel(surrogate, scored, worth)
    say("making the player")
    frames = places = None
    if truth.space.dim <= DRAWN_DIM:
        frames = played(model, truth, sequence)
        places = _places(model, truth, used, frames)
    return Tested(truth, evaluation, skill, worth, by_channel, tuple(used), frames, places)


def _spread(numbers: list[int], most: int) -> list[int]:
    places = np.linspace(0, len(numbers) - 1, min(len(numbers), most)).round().astype(int)
    return [numbers[place] for place in np.unique(places)]


def _places(model: SMORE, truth: Trajectories, used: list[int], frames: Frames) -> FloatArray:
    """(channels, shown points) rms error of the sequences `used` on the mesh of the player."""
    mesh = truth.sequences[frames.sequence].mesh
    picture, shape = frames.picture, frames.truth.shape[1:]
    where = mesh.subset(picture.shown)
    squares, count = np.zeros(shape), np.zeros(shape)
    for number in used:
        each = truth.sequences[number]
        if not each.mesh.same_points(mesh):
            continue
        state = model.infer(truth.select([number]).leading(1))
        later = frames.numbers[(frames.numbers > 0) & (frames.numbers < each.num_snapshots)]
        for snapshot, forecast in zip(
            later, forecasts(model, state, each.times[later], where), strict=True
        ):
            error = forecast - observed(each, int(snapshot))[:, picture.shown]
            error = error[: shape[0]]
            known = np.isfinite(error)
            squares += np.where(known, error, 0.0) ** 2
            count += known
    mean = np.divide(squares, count, out=np.full(shape, np.nan), where=count > 0)
    return np.sqrt(mean)


def _sensors(surrogate: Surrogate, mesh: Mesh) -> SensorPlan | None:
    """A few sensors; None where none can be placed."""
    candidates = mesh
    if mesh.num_points > CANDIDATES:
        candidates = mesh.subset(_sample(mesh, CANDIDATES))
    try:
        count = min(NUM_SENSORS, candidates.num_points // 2 or 1)
        return plan_sensors(surrogate, count, candidates=candidates)
    except (DataError, SettingsError):  # too few places, or a field that never changes
        return None


def _sample(mesh: Mesh, most: int) -> NDArray[np.intp]:
    order = np.random.default_rng(0).permutation(mesh.num_points)
    return np.sort(order[:most])


@torch.no_grad()
def expected_errors(surrogate: Surrogate, mesh: Mesh) -> Expected:
    """What a model expects its error to be after a start that is known exactly."""
    description = surrogate.description
    found = description.training.findings.get("checked_steps", description.horizon - 1)
    checked = max(int(found), 1)
    prior, size = surrogate.prior, len(surrogate.prior.mean)
    state = LatentState(
        mean=prior.mean.view(1, -1, surrogate.decoder.latent_dim),
        covariance=torch.zeros(1, size, size, dtype=torch.float64),
        num_values=torch.zeros(1),
        residual=torch.zeros(1, surrogate.num_channels),
        times=torch.zeros(1, dtype=torch.float64),
    )
    _, covariances = advance_uncertain(
        surrogate, state, np.asarray(description.following(0.0, 2 * checked))[None]
    )
    where = mesh.subset(_sample(mesh, SAMPLED))
    deviations = deviation(surrogate, covariances[0, 1:], where, None).astype(np.float64)
    relative = deviations**2 / np.array(description.training_variance)[:, None]
    seen = surrogate.seen_on(where)
    known = np.ones(relative.shape[1:], dtype=bool) if seen is None else seen
    errors = np.sqrt((relative * known).sum((1, 2)) / max(int(known.sum()), 1))
    return Expected(tuple(range(1, 2 * checked + 1)), tuple(errors.tolist()), checked)
