"""From a model, data and a stream to a server of pages."""

from __future__ import annotations

from bokeh.document import Document

from smore.assimilation import Analysis
from smore.data import Trajectories
from smore.explore._canvas import canvas_of
from smore.explore._explorer import Explorer
from smore.explore._page import Names, Page
from smore.explore._server import ExplorerServer, Offers
from smore.explore._truth import Truth
from smore.model import SMORE


def explorer_server(
    model: SMORE,
    names: Names,
    *,
    data: Trajectories | None = None,
    analysis: Analysis | None = None,
    port: int = 0,
) -> ExplorerServer:
    """A server whose pages show one model; every browser has sensors of its own.

    Args:
        model: the model.
        names: of the files, as the command line has them.
        data: aligned with the model.
        analysis: of a stream.
        port: to listen on; 0 for any that is free.

    Raises:
        DataError: a model of more than three dimensions.
        OSError: the port is taken.
    """
    canvas_of(model.surrogate_)  # refused before anybody looks
    truth = None if data is None else Truth(data, model.surrogate_)
    if analysis is not None and (known := Explorer(model, truth, analysis).followed) is not None:
        known.state(0)  # before the first page asks for it

    def open_page(document: Document, offers: Offers) -> None:
        Page(Explorer(model, truth, analysis), names, offers).open(document)

    return ExplorerServer(open_page, port)
