"""From a stream of sensors to whole fields: filter, smoother, tracker."""

from smore.assimilation.analysis import Analysis
from smore.assimilation.assimilating import assimilate
from smore.assimilation.batch import solve_curved_window, solve_window
from smore.assimilation.kalman import Gaussian, Readings, Transition
from smore.assimilation.reading import Observations, read_stream
from smore.assimilation.steady import SteadyFilter, run_fixed, steady_filter
from smore.assimilation.stream import Stream
from smore.assimilation.tracker import Tracker

__all__ = [
    "Analysis",
    "Gaussian",
    "Observations",
    "Readings",
    "SteadyFilter",
    "Stream",
    "Tracker",
    "Transition",
    "assimilate",
    "read_stream",
    "run_fixed",
    "solve_curved_window",
    "solve_window",
    "steady_filter",
]
