"""From a stream of sensors to whole fields: filter, smoother, tracker."""

from smore.assimilation.analysis import Analysis
from smore.assimilation.assimilating import assimilate
from smore.assimilation.reading import Observations, read_stream
from smore.assimilation.steady import SteadyFilter, steady_filter
from smore.assimilation.stream import Stream
from smore.assimilation.tracker import Tracker

__all__ = [
    "Analysis",
    "Observations",
    "SteadyFilter",
    "Stream",
    "Tracker",
    "assimilate",
    "read_stream",
    "steady_filter",
]
