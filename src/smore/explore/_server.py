"""A server for this machine alone: one address, its own pages, and no path from a browser.

It listens on the loopback interface. Requests that name another host, as those of a page do whose
name was made to point here, or that come from another origin, are refused before anything is looked
up. All addresses begin with a secret, so that no other page or user can guess one.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from bokeh.document import Document
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.server.util import bind_sockets
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream
from tornado.web import RequestHandler

ADDRESS = "127.0.0.1"
# Downloads that were asked for and not fetched yet.
MOST_OFFERS = 4
KINDS = {".csv": "text/csv; charset=utf-8", ".nc": "application/x-netcdf"}


class Offers:
    """Downloads, in memory, each to be fetched once."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, bytes]] = {}

    def __call__(self, name: str, content: bytes) -> str:
        """Keep `content` to be fetched as `name`; the key by which it is."""
        while len(self._kept) >= MOST_OFFERS:
            self._kept.pop(next(iter(self._kept)))
        key = secrets.token_urlsafe(16)
        self._kept[key] = (name, content)
        return key

    def take(self, key: str) -> tuple[str, bytes] | None:
        return self._kept.pop(key, None)


class _Download(RequestHandler):
    def initialize(self, offers: Offers) -> None:
        self.offers = offers

    def get(self, key: str) -> None:
        found = self.offers.take(key)
        if found is None:
            self.send_error(404)
            return
        name, content = found
        self.set_header("Content-Type", KINDS[name[name.rindex(".") :]])
        self.set_header("Content-Disposition", f'attachment; filename="{name}"')
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.finish(content)


class _Refused(RequestHandler):
    def prepare(self) -> None:
        self.set_status(403)
        self.finish("smore explore answers its own page on this machine only\n")


class _Guarded(BokehTornado):
    """Answers requests for this host, from this origin, and no others."""

    hosts: frozenset[str]

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> Any:
        origin = request.headers.get("Origin")
        own = {f"http://{host}" for host in self.hosts}
        if request.host.lower() not in self.hosts or not (origin is None or origin.lower() in own):
            return self.get_handler_delegate(request, _Refused)
        return super().find_handler(request, **kwargs)


class _AtOnce(HTTPServer):
    """Sends what it has: a picture goes out in several pieces, and none waits for the last one."""

    def handle_stream(self, stream: IOStream, address: tuple[str, int]) -> None:
        stream.set_nodelay(True)
        super().handle_stream(stream, address)


class ExplorerServer(BaseServer):
    """Serves pages until it is stopped.

    Args:
        open_page: puts a new page into a document, given where to offer downloads.
        port: to listen on; 0 for any that is free.

    Attributes:
        url: the address of the page, with its secret.
    """

    def __init__(self, open_page: Callable[[Document, Offers], None], port: int = 0) -> None:
        offers, prefix = Offers(), secrets.token_urlsafe(16)
        sockets, self.bound = bind_sockets(ADDRESS, port)
        hosts = [f"{name}:{self.bound}" for name in (ADDRESS, "localhost")]
        application = _Guarded(
            {"/": lambda document: open_page(document, offers)},
            prefix=prefix,
            extra_websocket_origins=hosts,
            extra_patterns=[(r"/download/([\w-]+)", _Download, {"offers": offers})],
            use_index=False,
        )
        application.hosts = frozenset(hosts)
        http = _AtOnce(application)
        http.add_sockets(sockets)
        super().__init__(IOLoop.current(), application, http)
        self.url = f"http://{ADDRESS}:{self.bound}/{prefix}/"
