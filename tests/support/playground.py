"""A playground for the tests: its own server in a thread, so that its workers can be looked at."""

import re
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import uvicorn

from tests.support.paths import SOURCE
from vanishing.app.playground import Limits, create_app


@dataclass
class Playground:
    """A server that runs, and a client that talks to it."""

    app: object
    url: str
    client: httpx.Client

    def post(self, task, body, **keywords):
        return self.client.post(f"/api/{task}", json=body, **keywords)

    @property
    def workers(self):
        return self.app.state.workers


@contextmanager
def playground(limits=None, **keywords):
    app = create_app(limits or Limits(), **keywords)
    config = uvicorn.Config(
        app, port=0, loop="asyncio", lifespan="on", log_level="critical", ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.02)
        url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        with httpx.Client(base_url=url, timeout=60) as client:
            yield Playground(app, url, client)
    finally:
        server.should_exit = True
        thread.join(timeout=30)


def fit_request(**changes):
    """A request that is answered."""
    line = [[t / 10, t / 20] for t in range(-10, 11)]
    cross = [[t / 10, -t / 20] for t in range(-10, 11)]
    asked = {
        "x": line,
        "y": cross,
        "degree": 2,
        "normalization": "gradient",
        "tol": 0.01,
        "contrast_tol": 0.01,
    }
    return asked | changes


def assert_refused(response, status, error):
    """Refusals say what was expected, what came and what helps, and name no path."""
    assert response.status_code == status, response.text
    answer = response.json()
    assert answer["error"] == error
    assert all(answer[part] for part in ("message", "expected", "got", "remedy"))
    assert str(SOURCE) not in response.text
    assert not re.search(r"/\w+/\w+/|\.py\b|Traceback", response.text)
