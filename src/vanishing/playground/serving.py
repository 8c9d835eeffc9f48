"""Running the playground on this computer."""

import errno
import socket
import sys
import threading
import warnings
import webbrowser
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

from vanishing.playground.app import create_app
from vanishing.playground.connections import impatient
from vanishing.playground.guard import LOOPBACK
from vanishing.playground.limits import Limits

#: How long requests in progress may take once the server is told to stop.
FAREWELL_SECONDS = 2


def serve(
    host: str = "127.0.0.1",
    port: int = 8765,
    *,
    open_browser: bool = False,
    limits: Limits | None = None,
) -> None:
    """Serve the playground until Ctrl-C.

    Parameters
    ----------
    host : str, default="127.0.0.1"
        Address to listen on. The default can be reached from this computer alone. With any other
        than a loopback address a warning is given: whoever reaches it can make this computer work.
    port : int, default=8765
        0 takes one that is free.
    open_browser : bool, default=False
        Whether to open the page in a browser as soon as it is there.
    limits : Limits, optional
        What requests may ask for.

    Raises
    ------
    OSError
        If the port is in use or may not be used; the message says what helps.
    """
    try:
        import uvicorn
        from uvicorn.protocols.http.auto import AutoHTTPProtocol
    except ImportError as error:
        raise ImportError("the playground needs uvicorn: pip install 'vanishing[web]'") from error

    hosts, any_address = [*LOOPBACK, _in_url(host)], not _is_loopback(host)
    if any_address:
        warnings.warn(
            f"the playground listens on {host or 'all addresses'}: everyone who reaches this "
            "computer there can use it, without a password; leave host out to keep it to yourself",
            UserWarning,
            stacklevel=2,
        )
        hosts += [socket.gethostname(), socket.getfqdn()]
    limits = Limits() if limits is None else limits
    app = create_app(limits, hosts=hosts, any_address=any_address)

    with _listening(host, port) as listener:
        url = f"http://{_in_url(host)}:{listener.getsockname()[1]}/"

        class Announcing(uvicorn.Server):
            async def startup(self, sockets: Any = None) -> None:
                await super().startup(sockets=sockets)
                sys.stderr.write(f"Playground at {url} (Ctrl-C stops it)\n")
                sys.stderr.flush()
                if open_browser:
                    threading.Thread(target=webbrowser.open, args=[url], daemon=True).start()

        config = uvicorn.Config(
            app,
            http=impatient(AutoHTTPProtocol, limits.header_seconds),
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
    if not 0 <= port <= 65535:
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
            f"port {port} of {host} {reason} choose another port (0 takes a free one)"
        ) from None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _in_url(host: str) -> str:
    if host in ("", "0.0.0.0", "::"):
        return "localhost"
    return f"[{host}]" if ":" in host else host
