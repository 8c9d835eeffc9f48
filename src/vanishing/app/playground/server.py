"""The playground's server: routes, guards, connections."""

import base64
import errno
import json
import socket
import sys
import threading
import warnings
import webbrowser
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from string import Template
from typing import Any

from vanishing.app.playground import requests
from vanishing.app.playground.requests import Limits, RefusalError, internal_error
from vanishing.app.playground.scenes import CURVES, X_SOURCES, Y_SOURCES
from vanishing.app.playground.workers import Workers
from vanishing.arrays.namespace import import_extra

# --- What every request passes before it is looked at, and every answer carries -------------------
#
# A page on this computer is within reach of every web page that is open in the same browser. The
# guard answers only requests that name this server (against DNS rebinding), and has work done only
# for its own pages.

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
WEB = ("http", "https")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
ENCODED = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """ASGI middleware that answers requests to ``hosts``, or to addresses, only."""

    def __init__(self, app: Any, *, hosts: Collection[str], any_address: bool) -> None:
        self.app = app
        self.hosts = frozenset(host.lower() for host in hosts)
        self.any_address = any_address

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request that is refused, pass on all others."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # the server closes connections of other kinds

        from starlette.datastructures import Headers
        from starlette.requests import ClientDisconnect

        begun = False

        async def send_with_headers(message: Any) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": [*message["headers"], *ENCODED]}
            await send(message)

        headers = Headers(scope=scope)
        try:
            self._check_host(headers.get("host", ""))
            if scope["path"].startswith("/api/"):
                _check_origin(headers)
            await self.app(scope, receive, send_with_headers)
        except RefusalError as refusal:
            await _answer(refusal)(scope, receive, send_with_headers)
        except ClientDisconnect:
            return  # in the middle of a request: nobody is there to be answered
        except Exception:
            # Here and not by Starlette, whose own answer would come without the headers.
            if not begun:
                await _answer(internal_error())(scope, receive, send_with_headers)
            raise

    def _check_host(self, header: str) -> None:
        name, colon, port = header.rpartition(":")
        name = (name if colon and port.isdecimal() else header).lower().rstrip(".")
        is_address = self.any_address and _find_address(name.strip("[]")) is not None
        if name not in self.hosts and not is_address:
            expected = "a request to a name of this server"
            remedy = "Open the address that the server printed when it started."
            raise RefusalError(421, "unknown-host", expected, repr(header[:80]), remedy)


def _check_origin(headers: Mapping[str, str]) -> None:
    """Refuse what the page of another origin sent; only browsers send these headers."""
    site, origin = headers.get("sec-fetch-site", "same-origin"), headers.get("origin")
    if site != "same-origin" or origin not in (None, *(f"{s}://{headers['host']}" for s in WEB)):
        expected = "a request from the playground's own page"
        got = f"one from {origin[:80]!r}" if origin else f"a {site[:20]!r} request"
        remedy = "Use the page itself, or a program that is not a browser."
        raise RefusalError(403, "cross-origin", expected, got, remedy)


# --- The application: which address gives what ----------------------------------------------------

STATIC = Path(__file__).parent / "static"
#: What differs between the pages goes into one frame.
CONTENTS = Path(__file__).parent / "pages"
CURRENT = ' aria-current="page"'
COPY_LINK = '    <button type="button" id="copy-link" class="quiet">Copy link</button>'
PAGES = {
    "/": {
        "name": "laws",
        "title": "Laws",
        "description": "Open a table and see the equations that its columns satisfy, and the cells "
        "that break them.",
        "start": "open",
        "start_words": "the table",
        "buttons": "",
    },
    "/points": {
        "name": "plane",
        "title": "Points",
        "description": "Draw two sets of points and see the equations that hold on one and not on "
        "the other.",
        "start": "controls",
        "start_words": "the controls",
        "buttons": COPY_LINK,
    },
    "/images": {
        "name": "images",
        "title": "Images",
        "description": "Handwritten digits: a detector trained on some of them, its scores, and "
        "what each pixel adds to them.",
        "start": "pad",
        "start_words": "the image",
        "buttons": COPY_LINK,
    },
}
#: Files are asked for again each time, and are sent only if they changed.
REVALIDATE = {"Cache-Control": "no-cache"}
NO_STORE = {"Cache-Control": "no-store"}

Handler = Callable[[Any], Awaitable[Any]]
#: Returns the arguments of a task, from a request.
Reader = Callable[[Any], Awaitable[dict[str, Any]]]


def create_app(
    limits: Limits | None = None, *, hosts: Collection[str] = LOOPBACK, any_address: bool = False
) -> Any:
    """Make the web application of the playground, for your own server.

    Parameters
    ----------
    limits : Limits, optional
        What requests may ask for.
    hosts : collection of str
        Names by which browsers may call the server, without the port; by default those of this
        computer itself. Requests to other names are refused.
    any_address : bool, default=False
        Whether IP addresses are accepted as names as well.

    Returns
    -------
    ASGI application
    """
    import_extra("starlette", extra="web", purpose="the playground")
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.responses import HTMLResponse, JSONResponse
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    chosen = Limits() if limits is None else limits
    workers = Workers(chosen)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        try:
            await workers.start()
            yield
        finally:
            await workers.stop()

    class Files(StaticFiles):
        def file_response(self, *arguments: Any, **keywords: Any) -> Any:
            response = super().file_response(*arguments, **keywords)
            response.headers.update(REVALIDATE)
            return response

    async def show_page(request: Any) -> Any:
        return HTMLResponse(make_page(request.url.path), headers=REVALIDATE)

    async def show_about(_: Any) -> Any:
        about = {"points": chosen.points, "degree": chosen.degree, "curves": CURVES}
        return JSONResponse(about | {"tableBytes": chosen.table_bytes}, headers=NO_STORE)

    async def refuse_address(*_: Any) -> Any:
        remedy, expected = f"Its pages are {', '.join(PAGES)}.", "an address of the playground"
        return _answer(RefusalError(404, "not-found", expected, "another one", remedy))

    async def refuse_method(request: Any, _: Exception) -> Any:
        expected, got = "GET for pages, POST for tasks", repr(request.method[:20])
        return _answer(RefusalError(405, "wrong-method", expected, got, "Send the other one."))

    handlers = {task: _endpoint(task, read, workers) for task, read in _readers(chosen).items()}
    handlers["laws"] = _search(workers)
    app = Starlette(
        routes=[
            *(Route(path, show_page) for path in PAGES),
            Route("/api/about", show_about),
            *(Route(f"/api/{task}", each, methods=["POST"]) for task, each in handlers.items()),
            Mount("/static", Files(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, hosts=hosts, any_address=any_address)],
        exception_handlers={404: refuse_address, 405: refuse_method},
        lifespan=lifespan,
    )
    app.state.workers = workers
    return app


def _readers(limits: Limits) -> dict[str, Reader]:
    """Return what reads the arguments of each task from a request, and refuses bad ones."""
    list_of_points = requests.points(limits)

    def source(names: Collection[str]) -> requests.Check:
        known = requests.one_of(names)
        return lambda name, value: (known if isinstance(value, str) else list_of_points)(
            name, value
        )

    def reader(fields: dict[str, requests.Check]) -> Reader:
        async def read(request: Any) -> dict[str, Any]:
            asked = requests.check_fields(await requests.read_json(request, limits), fields)
            if "x" in asked:  # points that will be drawn count, too
                drawn, sets = asked.get("n_points", 0), (asked["x"], asked["y"])
                count = sum(len(s) if isinstance(s, list) else drawn for s in sets)
                if count > limits.points:
                    raise requests.too_many_points(limits, count)
            return asked

        return read

    async def read_columns(request: Any) -> dict[str, Any]:
        return await _read_table(request, limits) | {"most_rows": limits.points // 2}

    drawing = {
        "x": source(X_SOURCES),
        "y": source(Y_SOURCES),
        "n_points": requests.whole(1, max(1, limits.points // 2)),
        "noise": requests.real(0, 1),
        "seed": requests.whole(0, 2**31 - 1),
    }
    tolerance = requests.real(0, requests.LARGEST_COORDINATE)
    fitting = {
        "x": list_of_points,
        "y": list_of_points,
        "degree": requests.whole(1, limits.degree),
        "normalization": requests.one_of(requests.PLAIN),
        "tol": tolerance,
        "contrast_tol": tolerance,
    }
    normal = requests.one_of(requests.NORMAL)
    return {
        "scene": reader(drawing),
        "fit": reader(fitting),
        "gallery": reader({"normal": normal}),
        "explain": reader({"normal": normal, "image": requests.pixels}),
        "columns": read_columns,
    }


def _endpoint(task: str, read: Reader, workers: Workers) -> Handler:
    from starlette.requests import ClientDisconnect
    from starlette.responses import Response

    async def handle(request: Any) -> Any:
        arguments = await read(request)
        async with workers.take() as worker:
            if await request.is_disconnected():  # browsers hang up when a slider was moved on
                raise ClientDisconnect
            async for message in worker.ask(task, arguments, workers.limits.work_seconds):
                status, body = message
        return Response(body, status, media_type="application/json", headers=NO_STORE)

    return handle


def _search(workers: Workers) -> Handler:
    """Return what finds the laws of a table.

    The answer is a line of JSON for each message about progress, and the laws in the last line; or
    a refusal, which is the last line if it comes late. A client that hangs up ends the search.
    """
    from starlette.responses import StreamingResponse

    async def ask(table: dict[str, Any]) -> AsyncGenerator[tuple[int, bytes], None]:
        async with workers.take(is_search=True) as worker:
            async for message in worker.ask("laws", table, workers.limits.table_seconds):
                yield message

    async def handle(request: Any) -> Any:
        messages = ask(await _read_table(request, workers.limits))
        status, first = await anext(messages)

        async def list_lines() -> AsyncIterator[bytes]:
            yield first + b"\n"
            try:
                async for _, body in messages:
                    yield body + b"\n"
            except RefusalError as refusal:
                yield json.dumps(refusal.body()).encode() + b"\n"
            finally:
                await messages.aclose()

        status = HTTPStatus.OK if status == HTTPStatus.PROCESSING else status
        return StreamingResponse(list_lines(), status, NO_STORE, "application/x-ndjson")

    return handle


def make_page(path: str) -> str:
    """Return the page at an address, one of ``PAGES``, as HTML."""
    about = PAGES[path]
    links = "\n".join(
        f'      <a href="{other}"{CURRENT * (other == path)}>{each["title"]}</a>'
        for other, each in PAGES.items()
    )
    frame = Template((CONTENTS / "frame.html").read_text(encoding="utf-8"))
    content = (CONTENTS / f"{about['name']}.html").read_text(encoding="utf-8")
    return frame.substitute(about, links=links, content=content.rstrip("\n"))


def _answer(refusal: RefusalError) -> Any:
    from starlette.responses import JSONResponse

    again = {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
    return JSONResponse(refusal.body(), refusal.status, headers=NO_STORE | again)


# --- Running the playground on this computer ------------------------------------------------------

#: How long requests in progress may take once the server is told to stop.
FAREWELL_SECONDS = 2


def serve(
    host: str = "127.0.0.1",
    port: int = 8765,
    *,
    open_browser: bool = False,
    limits: Limits | None = None,
    on_start: Callable[[str], object] | None = None,
) -> None:
    """Serve the playground until Ctrl-C.

    Parameters
    ----------
    host : str, default="127.0.0.1"
        Address to listen on. The default can be reached from this computer alone. Any other than a
        loopback address causes a warning: everyone who can reach it can use this computer's
        processor.
    port : int, default=8765
        0 chooses a free one.
    open_browser : bool, default=False
        Whether to open the page in a browser as soon as it is served.
    limits : Limits, optional
        What requests may ask for.
    on_start : callable, optional
        Called with the address of the page as soon as it is served.

    Raises
    ------
    OSError
        If the port is in use or not permitted; the message says what to do.
    """
    import_extra("uvicorn", extra="web", purpose="the playground")
    import uvicorn

    hosts, address = [*LOOPBACK, _in_url(host)], _find_address(host)
    is_loopback = host.lower() == "localhost" if address is None else address.is_loopback
    if not is_loopback:
        warnings.warn(
            f"the playground listens on {host or 'all addresses'}: everyone who reaches this "
            "computer there can use it, without a password; leave host out to keep it to yourself",
            UserWarning,
            stacklevel=2,
        )
        hosts += [socket.gethostname(), socket.getfqdn()]
    app = create_app(limits, hosts=hosts, any_address=not is_loopback)

    with _listening(host, port) as listener:
        url = f"http://{_in_url(host)}:{listener.getsockname()[1]}/"

        class Announcing(uvicorn.Server):
            async def startup(self, sockets: Any = None) -> None:
                await super().startup(sockets=sockets)
                sys.stderr.write(f"Playground at {url} (Ctrl-C stops it)\n")
                sys.stderr.flush()
                if on_start is not None:
                    on_start(url)
                if open_browser:
                    threading.Thread(target=webbrowser.open, args=[url], daemon=True).start()

        config = uvicorn.Config(
            app,
            loop="asyncio",
            lifespan="on",
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=FAREWELL_SECONDS,
        )
        with suppress(KeyboardInterrupt):  # uvicorn raises it again when all has been closed
            Announcing(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say why there is none."""
    if port not in range(2**16):
        raise ValueError(f"port must be from 0 to 65535, got {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except socket.gaierror:
        raise OSError(f"there is no address {host!r} on this computer; leave host out") from None
    except OSError as error:
        reasons = {
            errno.EADDRINUSE: "is in use, perhaps by another playground: stop that one, or",
            errno.EACCES: "may not be used by you:",
            errno.EADDRNOTAVAIL: "is not on this computer: leave host out, or",
        }
        if error.errno not in reasons:
            raise
        reason = reasons[error.errno]
        raise OSError(
            f"port {port} of {host} {reason} choose another port (0 selects a free one)"
        ) from None


def _in_url(host: str) -> str:
    if host in ("", "0.0.0.0", "::"):
        return "localhost"
    return f"[{host}]" if ":" in host else host


def _find_address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


async def _read_table(request: Any, limits: Limits) -> dict[str, Any]:
    """Return a table as the processes take it."""
    content = base64.b64encode(await requests.read_csv(request, limits)).decode()
    return {"table": content, "most_columns": limits.table_columns}
