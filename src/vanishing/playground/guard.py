"""What every request passes before it is looked at, and every answer carries.

A page on this computer is within reach of every web page that is open in the same browser. The
guard answers only requests that name this server (against DNS rebinding), and has work done only
for its own pages.
"""

import json
from collections.abc import Collection
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from vanishing.playground.refusal import RefusalError, internal_error

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")

HEADERS = {
    "Content-Security-Policy": "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ]
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
    """ASGI middleware.

    Parameters
    ----------
    app : ASGI application
    hosts : collection of str
        Names by which the server may be called.
    any_address : bool
        Whether every IP address is one too. A rebound name is not an address, so that this is safe.
    """

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

        begun = False

        async def send_with_headers(message: Any) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": [*message["headers"], *ENCODED]}
            await send(message)

        headers = {name.decode("latin-1"): v.decode("latin-1") for name, v in scope["headers"]}
        try:
            self._check_host(headers.get("host", ""))
            if scope["path"].startswith("/api/"):
                _check_origin(headers)
        except RefusalError as refusal:
            await _send(refusal, send_with_headers)
        else:
            try:
                await self.app(scope, receive, send_with_headers)
            except Exception:
                # Here and not by Starlette, whose own answer would come without the headers.
                if not begun:
                    await _send(internal_error(), send_with_headers)
                raise

    def _check_host(self, header: str) -> None:
        name = _without_port(header).lower().rstrip(".")
        if name not in self.hosts and not (self.any_address and _is_address(name)):
            raise RefusalError(
                421,
                "unknown-host",
                expected="a request to a name of this server",
                got=repr(header[:80]),
                remedy="Open the address that the server printed when it started.",
            )


def _check_origin(headers: dict[str, str]) -> None:
    """Refuse what the page of another origin sent; programs that are no browsers send neither."""
    site, origin = headers.get("sec-fetch-site", "same-origin"), headers.get("origin")
    if site != "same-origin" or (origin is not None and _netloc(origin) != headers["host"]):
        raise RefusalError(
            403,
            "cross-origin",
            expected="a request from the playground's own page",
            got=f"one from {origin[:80]!r}" if origin else f"a {site[:20]!r} request",
            remedy="Use the page itself, or a program that is no browser.",
        )


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # half an address, such as http://[::1
        return ""


def _without_port(header: str) -> str:
    name, colon, port = header.rpartition(":")
    return name if colon and port.isdecimal() else header


def _is_address(name: str) -> bool:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


async def _send(refusal: RefusalError, send: Any) -> None:
    body = json.dumps(refusal.body()).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
