"""``vanishing serve``: the playground in the browser."""

from typing import Annotated

import typer

from vanishing.cli.exits import OutputError
from vanishing.cli.optional import required


def serve(
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="Port; 0 takes a free one.")
    ] = 8765,
    host: Annotated[
        str, typer.Option("--host", help="Address; others than the default let others in.")
    ] = "127.0.0.1",
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
) -> None:
    """Serve the playground: draw points, see their equations at once. Ctrl-C stops it."""
    start = required("vanishing.playground", "serve", extra="web")
    try:
        start(host, port, open_browser=open_browser)
    except OSError as error:
        raise OutputError(str(error)) from error
