"""A page to play with a model: sensors, forecasts and what they are worth, at once."""

from smore.explore._page import Names
from smore.explore._server import ExplorerServer
from smore.explore._serving import explorer_server

__all__ = ["ExplorerServer", "Names", "explorer_server"]
