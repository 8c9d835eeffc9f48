"""Processes that do the work, so that it can be stopped and the server goes on meanwhile."""

import asyncio
import json
import logging
import os
import struct
import sys
import traceback
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import IO, Any

from vanishing.app.playground.requests import Limits, RefusalError, internal_error

# --- In the server --------------------------------------------------------------------------------

logger = logging.getLogger(__name__)

#: Time for a process to import what it needs, on a slow and busy machine.
START_SECONDS = 120.0
#: The environment of a process: several of them share the cores, so that each has one thread.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
#: What helps against work that takes too long, unless it is about points.
TOO_SLOW = {
    "columns": "Keep a part of the rows.",
    "laws": "Keep fewer columns, those that may belong together.",
}
#: It finds modules where this process does, and runs nobody's main script.
BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from vanishing.app.playground.workers import main; main()"
)


#: Takes the body of a message about progress.
OnProgress = Callable[[bytes], Awaitable[object]]


class Worker:
    """One process."""

    def __init__(self, process: Process) -> None:
        self.process = process

    @classmethod
    async def start(cls) -> "Worker":
        """Start a process and wait until it is ready."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            BOOT,
            json.dumps(sys.path),
            stdin=PIPE,
            stdout=PIPE,
            env=os.environ | ONE_THREAD,
            start_new_session=True,  # Ctrl-C in the terminal is for the server
        )
        worker = cls(process)
        try:
            async with asyncio.timeout(START_SECONDS):
                await worker.read()
        except BaseException:
            await worker.kill()
            raise
        return worker

    async def ask(
        self, task: str, arguments: dict[str, Any], on_progress: OnProgress | None = None
    ) -> tuple[int, bytes]:
        """Have one task done; return status and body of the answer."""
        assert self.process.stdin is not None
        asked = json.dumps({"task": task, "arguments": arguments}).encode()
        self.process.stdin.write(MESSAGE.pack(len(asked)) + asked)
        await self.process.stdin.drain()
        while (message := await self.read())[0] == PROGRESS:
            if on_progress is not None:
                await on_progress(message[1])
        return message

    async def read(self) -> tuple[int, bytes]:
        """Wait for the next answer; return its status and body."""
        assert self.process.stdout is not None
        length, status = ANSWER.unpack(await self.process.stdout.readexactly(ANSWER.size))
        return status, await self.process.stdout.readexactly(length)

    async def kill(self) -> None:
        """End the process, whatever it is doing."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.kill()
        await self.process.wait()


class Workers:
    """A fixed number of processes, and the requests that wait for them.

    A process that takes too long is killed and replaced while the others go on. A
    ``concurrent.futures.ProcessPoolExecutor`` fails as a whole when one of its processes is killed.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._idle: asyncio.Queue[Worker] = asyncio.Queue()
        self._all: set[Worker] = set()
        self._waiting = 0
        self._starting: set[asyncio.Task[None]] = set()

    @property
    def pids(self) -> list[int]:
        """Numbers of the processes that run."""
        return [worker.process.pid for worker in self._all]

    async def start(self) -> None:
        """Start all processes and wait until they are ready."""
        await asyncio.gather(*(self._add() for _ in range(self.limits.workers)))

    async def stop(self) -> None:
        """End all processes."""
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(worker.kill() for worker in self._all))
        self._all.clear()

    async def run(
        self,
        task: str,
        arguments: dict[str, Any],
        *,
        seconds: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> tuple[int, bytes]:
        """Do a task in the next free process; return status and body of the answer.

        Parameters
        ----------
        task : str
        arguments : dict
        seconds : float, optional
            By default the limit for most tasks.
        on_progress : coroutine function, optional
            Called with what the process says about its progress.

        Raises
        ------
        RefusalError
            If too many are waiting, it takes too long, or the process ends.
        """
        limit = self.limits.work_seconds if seconds is None else seconds
        worker = await self._next_idle()
        try:
            async with asyncio.timeout(limit):
                answer = await worker.ask(task, arguments, on_progress)
        except TimeoutError:
            await self._replace(worker)
            raise RefusalError(
                504,
                "too-slow",
                expected=f"work of at most {limit:g} s",
                got="more, so that it was stopped",
                remedy=TOO_SLOW.get(task, "Use fewer points or a lower degree."),
            ) from None
        except (asyncio.IncompleteReadError, ConnectionError):
            await self._replace(worker)
            raise RefusalError(
                500,
                "worker-ended",
                expected="an answer",
                got="the end of the process that worked on it",
                remedy="Another one takes its place: try again, with less data if that fails.",
                retry_after=1,
            ) from None
        except BaseException:  # cancelled: what the process does now, nobody waits for
            await self._replace(worker)
            raise
        self._idle.put_nowait(worker)
        return answer

    async def _next_idle(self) -> Worker:
        if self._idle.empty() and self._waiting >= self.limits.queue:
            raise busy(f"{self._waiting} others that wait already")
        self._waiting += 1
        try:
            async with asyncio.timeout(self.limits.queue_seconds):
                while (worker := await self._idle.get()).process.returncode is not None:
                    await self._replace(worker)  # it ended while nobody looked
                return worker
        except TimeoutError:
            raise busy(f"none within {self.limits.queue_seconds:g} s") from None
        finally:
            self._waiting -= 1

    async def _replace(self, worker: Worker) -> None:
        self._all.discard(worker)
        starting = asyncio.create_task(self._add_until_it_works())
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)
        await worker.kill()

    async def _add(self) -> None:
        worker = await Worker.start()
        self._all.add(worker)
        self._idle.put_nowait(worker)

    async def _add_until_it_works(self) -> None:
        while True:
            try:
                return await self._add()
            except (OSError, EOFError, TimeoutError):
                logger.exception("a process of the playground could not be started")
                await asyncio.sleep(1.0)


def busy(got: str) -> RefusalError:
    """Return the refusal of a request that comes while all processes work."""
    return RefusalError(
        503,
        "busy",
        expected="a free process",
        got=got,
        remedy="The server is busy: try again in a second.",
        retry_after=1,
    )


# --- In the process: one request after the other, until the input ends ----------------------------

Task = Callable[..., dict[str, Any]]

#: Length of a message; length and status of an answer.
MESSAGE, ANSWER = struct.Struct(">I"), struct.Struct(">IH")
#: The status of a message that is no answer yet: HTTP's "Processing".
PROGRESS = 102


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
        send(outgoing, *answer(incoming.read(*MESSAGE.unpack(head)), tasks))


def send(outgoing: IO[bytes], status: int, body: bytes) -> None:
    """Write one message."""
    outgoing.write(ANSWER.pack(len(body), status) + body)
    outgoing.flush()


def main() -> None:
    """Work on standard input and output."""
    # What libraries print must not come between the answers.
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    from vanishing.app.playground.scenes import explain, fit, gallery, scene
    from vanishing.app.playground.tables import find_laws, read_columns

    def report(progress: dict[str, Any]) -> None:
        send(outgoing, PROGRESS, json.dumps({"progress": progress}).encode())

    tasks: dict[str, Task] = {
        "scene": scene,
        "fit": fit,
        "gallery": gallery,
        "explain": explain,
        "columns": read_columns,
        "laws": partial(find_laws, report=report),
    }
    send(outgoing, 200, json.dumps(sorted(tasks)).encode())
    with suppress(BrokenPipeError):  # the server is gone
        work(sys.stdin.buffer, outgoing, tasks)
