"""The command line: ``vanishing``, or ``python -m vanishing``."""

import atexit
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process, without the name of the program.

    Returns
    -------
    int
        0 on success.
    """
    for needed in ("typer", "rich", "pyarrow"):
        if find_spec(needed) is None:
            message = f"the command line needs {needed}: pip install 'vanishing[cli]'"
            sys.stderr.write(f"vanishing: {message}\n")
            if "--json" in (sys.argv[1:] if arguments is None else arguments):
                sys.stdout.write(json.dumps({"error": message, "code": 6}) + "\n")
            return 6
    code = 1

    def leave() -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # closed by whoever read it
                stream.flush()
        os._exit(code)

    if arguments is None:
        # The last function of all, since it is the first: without the destructors of C++. Those of
        # Arrow's thread pools abort now and then, long after all is done, and spoil the exit code
        # (apache/arrow#34314).
        atexit.register(leave)
    try:
        from vanishing.app.cli.commands import run

        code = run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:  # before the command began
        code = 130
        with suppress(OSError, ValueError):  # the stream may just have been changed
            sys.stderr.write("vanishing: interrupted: nothing was left half written\n")
    except SystemExit as done:  # how typer ends when a shell asks for completions
        code = int(done.code or 0)
    if arguments is None:
        # All is done and written: Ctrl-C would only print a traceback while the process ends.
        with suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code
