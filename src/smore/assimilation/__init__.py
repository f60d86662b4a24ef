"""From a stream of sensors to whole fields: filter, smoother, tracker."""

from smore.assimilation.analysis import Analysis
from smore.assimilation.assimilating import assimilate
from smore.assimilation.reading import Observations, read_stream
from smore.assimilation.stream import Stream

__all__ = ["Analysis", "Observations", "Stream", "assimilate", "read_stream"]
