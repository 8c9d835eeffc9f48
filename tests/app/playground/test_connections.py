"""Half a body does not keep a connection; paths and hosts that lead elsewhere."""

import os
import re
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from tests.support.paths import SOURCE

pytestmark = pytest.mark.programs

SECONDS = 1.5
SERVER = f"""
from vanishing.app.playground import Limits, serve
serve(port=0, limits=Limits(body_seconds={SECONDS}))
"""
REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.fixture(scope="module")
def server():
    """The process and its port."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
    )
    try:
        yield process, int(re.search(r":(\d+)/", process.stderr.readline())[1])
    finally:
        process.terminate()
        _, said = process.communicate(timeout=30)
    assert "Traceback" not in said


@pytest.fixture(scope="module")
def port(server):
    return server[1]


@contextmanager
def connected(port):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        yield connection


def rest_of(connection):
    """Read until the server closes the connection."""
    found = b""
    while part := connection.recv(65536):
        found += part
    return found


def answer_of(connection):
    """Read one answer, as long as it says."""
    found = b""
    while b"\r\n\r\n" not in found:
        found += connection.recv(65536)
    head, _, body = found.partition(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)", head, re.IGNORECASE)[1])
    while len(body) < length:
        body += connection.recv(65536)
    return head


def test_half_requests_do_not_keep_others_out(port):
    with ExitStack() as opened:
        for _ in range(200):
            opened.enter_context(connected(port)).sendall(REQUEST[:20])
        with connected(port) as connection:
            connection.sendall(REQUEST)
            assert answer_of(connection).startswith(b"HTTP/1.1 200")


def post(task, length, kind="application/json"):
    head = f"POST /api/{task} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n"
    return f"{head}{length}\r\n\r\n".encode()


@pytest.mark.parametrize("task", ["fit", "columns", "laws"])
def test_bodies_that_come_byte_by_byte(port, task):
    kind = "application/json" if task == "fit" else "text/csv"
    with connected(port) as connection:
        begun = time.monotonic()
        connection.sendall(post(task, "Content-Length: 1000", kind) + b"1")
        connection.settimeout(0.1)
        found = b""
        while b"\r\n\r\n" not in found:
            assert time.monotonic() - begun < SECONDS + 10
            try:
                connection.sendall(b"1")
                found += connection.recv(65536)
            except TimeoutError:
                continue
        assert found.startswith(b"HTTP/1.1 408")
        assert time.monotonic() - begun > SECONDS - 0.2


def test_many_half_bodies_do_not_keep_others_out(port):
    with ExitStack() as opened:
        for _ in range(100):
            half = opened.enter_context(connected(port))
            half.sendall(post("fit", "Content-Length: 900000") + b" " * 1000)
        with connected(port) as connection:
            connection.sendall(REQUEST)
            assert answer_of(connection).startswith(b"HTTP/1.1 200")
    # Those that hang up now leave no line on the terminal, which ``server`` checks.


def test_bodies_without_end_take_no_memory(server):
    process, port = server
    measured = pytest.importorskip("psutil").Process(process.pid)
    with connected(port) as connection:
        connection.sendall(REQUEST)
        answer_of(connection)
    before = measured.memory_info().rss
    chunk = b"%x\r\n%s\r\n" % (2**16, b" " * 2**16)
    for _ in range(20):
        with connected(port) as connection:
            connection.sendall(post("fit", "Transfer-Encoding: chunked"))
            try:
                for _ in range(400):  # 25 MB
                    connection.sendall(chunk)
            except OSError:
                continue  # hung up: the limit is one megabyte
    assert measured.memory_info().rss - before < 30e6


@pytest.mark.parametrize(
    "target",
    [
        "/static/../../../../../../../../etc/passwd",
        "/static/..%2f..%2f..%2f..%2f..%2f..%2f..%2fetc/passwd",
        "/static/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/static/..%5c..%5cserver.py",
        "/static/../server.py",
        "/static//etc/passwd",
        "/static/%00",
        "/static/js/plane.js%00.html",
        "//etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "http://evil.example/static/../server.py",
    ],
)
def test_paths_that_lead_elsewhere(port, target):
    with connected(port) as connection:
        connection.sendall(
            f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
        )
        found = rest_of(connection)
    assert re.match(rb"HTTP/1.1 40[0-9]", found)
    assert b"root:" not in found
    assert b"import" not in found


@pytest.mark.parametrize(
    "head",
    [
        "GET / HTTP/1.1\r\n",
        "GET / HTTP/1.1\r\nHost: evil.example\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:80@evil.example\r\n",
        "GET / HTTP/1.1\r\nHost: evil.example#127.0.0.1\r\n",
    ],
    ids=["no host", "another", "two", "user", "fragment"],
)
def test_other_hosts(port, head):
    with connected(port) as connection:
        connection.sendall(f"{head}Connection: close\r\n\r\n".encode())
        assert re.match(rb"HTTP/1.1 4(00|21)", rest_of(connection))
