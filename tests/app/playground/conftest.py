"""One server for all tests of the playground; a browser for each file of them."""

import pytest
from tests.support.browser import View, chromium


@pytest.fixture(scope="session")
def server():
    """A server that is patient, since the machine may be busy with other tests."""
    pytest.importorskip("starlette")
    from tests.support.playground import playground

    from vanishing.app.playground import Limits

    with playground(Limits(queue_seconds=20, work_seconds=20)) as running:
        yield running


@pytest.fixture(scope="module")  # an open one would not let others run an event loop
def browser():
    with chromium() as running:
        yield running


@pytest.fixture
def view(server, browser, request):
    opened = View(browser, server.url, **getattr(request, "param", {}))
    yield opened
    opened.close()
    assert opened.problems == []
    assert all(url.startswith((server.url, "blob:", "about:")) for url in opened.requests)
