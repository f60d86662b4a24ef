"""The server answers its own page on this machine, and nobody else."""

import socket
from urllib.parse import urlsplit

import pytest
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from smore.explore import Names, explorer_server
from smore.explore._server import MOST_OFFERS, Offers


@pytest.fixture(scope="module")
def server(grid_model):
    found = explorer_server(grid_model, Names("wave.smore"))
    found.start()
    yield found
    found.stop()


def fetch(server, url, **headers):
    async def get():
        request = HTTPRequest(url, headers=headers, request_timeout=60)
        return await AsyncHTTPClient().fetch(request, raise_error=False)

    return server.io_loop.run_sync(get)


def test_the_page_is_there(server):
    answer = fetch(server, server.url)
    assert answer.code == 200
    assert b"smore explore" in answer.body
    assert b"Content-Security-Policy" in answer.body
    assert b"cdn.bokeh.org" not in answer.body


def test_it_listens_on_the_loopback_interface_only(server):
    port = urlsplit(server.url).port
    bound = {each.getsockname()[0] for each in server._http._sockets.values()}
    assert bound == {"127.0.0.1"}
    own = socket.gethostbyname(socket.gethostname())
    if not own.startswith("127."):
        with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
            socket.create_connection((own, port), timeout=2)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost:1"]
)
@pytest.mark.parametrize("path", ["", "static/js/bokeh.min.js", "download/x", "metadata"])
def test_another_host_is_refused(server, host, path):
    port = urlsplit(server.url).port
    answer = fetch(server, server.url + path, Host=host.format(port=port))
    assert answer.code == 403
    assert b"own page" in answer.body


@pytest.mark.parametrize("path", ["", "static/js/bokeh.min.js"])
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_another_origin_is_refused(server, path, origin):
    port = urlsplit(server.url).port
    answer = fetch(server, server.url + path, Origin=origin.format(port=port))
    assert answer.code == 403


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_this_host_and_origin_are_not(server, name):
    port = urlsplit(server.url).port
    own = f"{name}:{port}"
    assert fetch(server, server.url, Host=own, Origin=f"http://{own}").code == 200


def test_a_socket_of_another_origin_is_refused(server):
    address = server.url.replace("http://", "ws://") + "ws"

    async def connect(origin):
        request = HTTPRequest(address, headers={"Origin": origin})
        return await websocket_connect(request, subprotocols=["bokeh", "token"])

    with pytest.raises(HTTPClientError, match="403"):
        server.io_loop.run_sync(lambda: connect("http://evil.example"))
    own = f"http://127.0.0.1:{urlsplit(server.url).port}"
    server.io_loop.run_sync(lambda: connect(own)).close()


def test_addresses_without_the_secret_do_not_exist(server):
    parts = urlsplit(server.url)
    for path in ("/", "/autoload.js", "/static/js/bokeh.min.js", "/ws", "/guess/", "/download/x"):
        assert fetch(server, f"http://{parts.netloc}{path}").code == 404
    assert len(parts.path.strip("/")) >= 20


def test_a_download_is_fetched_once_and_by_its_key_alone(server):
    for key in ("x", "..%2f..%2fetc%2fpasswd", "../../etc/passwd"):
        assert fetch(server, f"{server.url}download/{key}").code in (400, 403, 404)


def test_offers_are_kept_until_they_are_taken_and_not_too_many():
    offers = Offers()
    keys = [offers("a.csv", bytes([number])) for number in range(MOST_OFFERS + 1)]
    assert offers.take(keys[0]) is None
    assert offers.take(keys[1]) == ("a.csv", b"\x01")
    assert offers.take(keys[1]) is None
    assert len(set(keys)) == len(keys)
