"""The server answers its own page on this machine, and nobody else."""

import http.client
import socket
from urllib.parse import urlsplit

import psutil
import pytest

from exploring import served
from smore.explore._server import MOST_OFFERS, Offers


@pytest.fixture(scope="module")
def address(grid_files):
    with served(grid_files[0]) as found:
        yield found


def fetch(address: str, path: str | None = None, **headers: str) -> tuple[int, bytes]:
    """Status and body of a request, by default for the page."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=60)
    connection.putrequest("GET", path or parts.path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    body = b"" if answer.status == 101 else answer.read()
    connection.close()
    return answer.status, body


def test_the_page_is_there_and_loads_nothing_from_elsewhere(address):
    status, body = fetch(address)
    assert status == 200
    assert b"smore explore" in body
    assert b"Content-Security-Policy" in body
    assert b"cdn.bokeh.org" not in body
    assert b"https://" not in body


def test_it_listens_on_the_loopback_interface_only(address):
    port = urlsplit(address).port
    listening = [
        each.laddr.ip
        for each in psutil.net_connections("tcp")
        if each.status == psutil.CONN_LISTEN and each.laddr.port == port
    ]
    assert listening == ["127.0.0.1"]
    own = socket.gethostbyname(socket.gethostname())
    if not own.startswith("127."):
        with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
            socket.create_connection((own, port), timeout=2)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost:1", ""]
)
@pytest.mark.parametrize("path", ["", "static/js/bokeh.min.js", "download/x", "metadata", "ws"])
def test_another_host_is_refused(address, host, path):
    parts = urlsplit(address)
    status, body = fetch(address, parts.path + path, Host=host.format(port=parts.port))
    assert status == 403
    assert b"own page" in body


@pytest.mark.parametrize("path", ["", "static/js/bokeh.min.js"])
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_another_origin_is_refused(address, path, origin):
    parts = urlsplit(address)
    assert fetch(address, parts.path + path, Origin=origin.format(port=parts.port))[0] == 403


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_this_host_and_origin_are_not(address, name):
    own = f"{name}:{urlsplit(address).port}"
    assert fetch(address, Host=own, Origin=f"http://{own}")[0] == 200


def test_a_socket_of_another_origin_is_refused(address):
    parts = urlsplit(address)
    handshake = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Protocol": "bokeh, token",
    }
    own = f"http://127.0.0.1:{parts.port}"
    assert fetch(address, parts.path + "ws", Origin="http://evil.example", **handshake)[0] == 403
    assert fetch(address, parts.path + "ws", Origin=own, **handshake)[0] == 101


def test_addresses_without_the_secret_do_not_exist(address):
    for path in ("/", "/autoload.js", "/static/js/bokeh.min.js", "/ws", "/guess/", "/download/x"):
        assert fetch(address, path)[0] == 404
    assert len(urlsplit(address).path.strip("/")) >= 20


def test_a_download_has_a_key_and_is_no_path(address):
    base = urlsplit(address).path
    for key in ("x", "..%2f..%2fetc%2fpasswd", "../../etc/passwd"):
        assert fetch(address, f"{base}download/{key}")[0] in (400, 403, 404)


def test_offers_are_kept_until_they_are_taken_and_not_too_many():
    offers = Offers()
    keys = [offers("a.csv", bytes([number])) for number in range(MOST_OFFERS + 1)]
    assert offers.take(keys[0]) is None
    assert offers.take(keys[1]) == ("a.csv", b"\x01")
    assert offers.take(keys[1]) is None
    assert len(set(keys)) == len(keys)
