"""The playground: a web page on this computer where equations are seen while they are found.

The server (``server``, ``requests``, ``checks``) does no mathematics: it checks what comes and
hands it to processes (``workers``) that can be stopped. What they compute is in ``tables``
and ``scenes``, and the pages themselves in ``static``.
"""

from vanishing.app.playground.requests import Limits
from vanishing.app.playground.server import create_app, serve

__all__ = ["Limits", "create_app", "serve"]
