"""What a stream of sensors tells, as a picture: truth, analysis with sensors, error, error bar."""

from __future__ import annotations

import numpy as np
from matplotlib.animation import FuncAnimation
from matplotlib.figure import Figure

from smore.assimilation import assimilate
from smore.data import Trajectories
from smore.model import SMORE
from smore_paper.benches.assimilation.intervals import wandering
from smore_paper.benches.assimilation.streams import aligned_test, cut, read_off


def stream_picture(
    model: SMORE, test: Trajectories, *, sensors: int, sequence: int = 0
) -> Figure | FuncAnimation:
    """A stream of sensors that drop out and move, cut out of one sequence of a test set."""
    surrogate = model.surrogate_
    one = aligned_test(model, test).select([sequence])
    truth = one.sequences[0]
    points, known = wandering(truth, sensors, np.random.default_rng(sequence))
    stream = cut(surrogate, truth, points, read_off(truth, points), known)
    analysis = assimilate(surrogate, stream, noise=0.0)
    fields = analysis.fields(surrogate.description.clock.to_values(truth.times), truth.mesh)
    first = surrogate.description.channels[0].name
    return model.plot.analysis(analysis, fields, truth=one, channel=first)
