"""A process that works for the server, one request after the other, until its input ends.

Messages are JSON behind their length in four bytes. An answer has its status, in two bytes, in
between, so that the server passes it on without reading it.
"""

import json
import os
import struct
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any

from vanishing.app.playground.requests import RefusalError, internal_error

Task = Callable[..., dict[str, Any]]

#: Length of a message; length and status of an answer.
MESSAGE, ANSWER = struct.Struct(">I"), struct.Struct(">IH")


def answer(message: bytes, tasks: Mapping[str, Task]) -> tuple[int, bytes]:
    """Do what a message asks for; return the status and the body of the answer.

    Parameters
    ----------
    message : bytes
        JSON with the name of a task, "task", and its "arguments".
    tasks : mapping of str to callable
    """
    try:
        asked = json.loads(message)
        found = tasks[asked["task"]](**asked["arguments"])
        return 200, json.dumps(found, allow_nan=False, separators=(",", ":")).encode()
    except RefusalError as refusal:
        return refusal.status, json.dumps(refusal.body()).encode()
    except Exception:
        # To the terminal of whoever runs the server, and not to whoever asked.
        traceback.print_exc(file=sys.stderr)
        return 500, json.dumps(internal_error().body()).encode()


def work(incoming: IO[bytes], outgoing: IO[bytes], tasks: Mapping[str, Task]) -> None:
    """Answer messages until there are no more."""
    while len(head := incoming.read(MESSAGE.size)) == MESSAGE.size:
        status, body = answer(incoming.read(*MESSAGE.unpack(head)), tasks)
        outgoing.write(ANSWER.pack(len(body), status) + body)
        outgoing.flush()


def main() -> None:
    """Work on standard input and output."""
    # What libraries print must not come between the answers.
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    from vanishing.app.playground.scenes import explain, fit, gallery, scene

    tasks: dict[str, Task] = {
        "scene": scene,
        "fit": fit,
        "gallery": gallery,
        "explain": explain,
    }
    ready = json.dumps(sorted(tasks)).encode()
    outgoing.write(ANSWER.pack(len(ready), 200) + ready)
    outgoing.flush()
    with suppress(BrokenPipeError):  # the server is gone
        work(sys.stdin.buffer, outgoing, tasks)
