"""Processes that do the work, so that it can be stopped and the server goes on meanwhile."""

import asyncio
import json
import logging
import os
import sys
import traceback
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from http import HTTPStatus
from typing import IO, Any

from vanishing.app.playground.requests import Limits, RefusalError, internal_error

# --- In the server --------------------------------------------------------------------------------

logger = logging.getLogger(__name__)

#: The environment of a process: several of them share the cores, so that each has one thread.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
#: What helps against work that takes too long, unless it is about points.
TOO_SLOW = {
    "columns": "Keep a part of the rows.",
    "laws": "Keep fewer columns, those that may be related.",
}
#: Finds modules where this process does. ``multiprocessing`` and its executors would import the
#: main script of whoever serves the playground once more in each process.
BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from vanishing.app.playground.workers import main; main()"
)


class Worker:
    """One process. It is asked in a line of JSON, and answers in lines of a status and JSON."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.is_ready = False

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
            limit=sys.maxsize,  # a line is as long as an answer
            env=os.environ | ONE_THREAD,
            start_new_session=True,  # Ctrl-C in the terminal is for the server
        )
        worker = cls(process)
        try:
            await worker.read()
        except BaseException:
            await worker.kill()
            raise
        return worker

    async def ask(
        self, task: str, arguments: dict[str, Any], seconds: float
    ) -> AsyncGenerator[tuple[int, bytes], None]:
        """Have one task done; yield messages about progress, then the answer."""
        assert self.process.stdin is not None
        self.is_ready = False
        end = asyncio.get_running_loop().time() + seconds
        try:
            asked = json.dumps({"task": task, "arguments": arguments})
            self.process.stdin.write(f"{asked}\n".encode())
            while not self.is_ready:
                async with asyncio.timeout_at(end):
                    await self.process.stdin.drain()
                    message = await self.read()
                yield message
        except TimeoutError:
            expected, got = f"work of at most {seconds:g} s", "more, so it was stopped"
            remedy = TOO_SLOW.get(task, "Use fewer points or a lower degree.")
            raise RefusalError(504, "too-slow", expected, got, remedy) from None
        except (EOFError, ConnectionError):
            got = "the end of the process that worked on it"
            remedy = "Another one takes its place: try again, with less data if that fails."
            raise RefusalError(500, "worker-ended", "an answer", got, remedy, 1) from None

    async def read(self) -> tuple[int, bytes]:
        """Wait for the next message; return its status and body."""
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise EOFError("a process of the playground has ended")
        status, _, body = line[:-1].partition(b" ")
        self.is_ready = int(status) != HTTPStatus.PROCESSING
        return int(status), body

    async def kill(self) -> None:
        """End the process, whatever it is doing."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.kill()
        await self.process.wait()


class Workers:
    """A fixed number of processes, for which requests wait in the order in which they come.

    A process that takes too long is killed and replaced while the others go on. A
    ``concurrent.futures.ProcessPoolExecutor`` fails as a whole when one of its processes is killed.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._idle: asyncio.Queue[Worker] = asyncio.Queue()
        self._searches = asyncio.Semaphore(limits.searches)
        self._n_waiting = 0
        self._all: set[Worker] = set()
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

    @asynccontextmanager
    async def take(self, *, is_search: bool = False) -> AsyncIterator[Worker]:
        """Wait for a process, or refuse; replace it in the end if its work was not finished."""
        is_free = not self._idle.empty() and not (is_search and self._searches.locked())
        if self._n_waiting >= self.limits.queue and not is_free:
            raise _busy(f"{self._n_waiting} others that are already waiting")
        async with AsyncExitStack() as places:
            self._n_waiting += 1
            try:
                async with asyncio.timeout(self.limits.queue_seconds):
                    if is_search:
                        await places.enter_async_context(self._searches)
                    while (worker := await self._idle.get()).process.returncode is not None:
                        await self._replace(worker)  # it ended while nobody looked
            except TimeoutError:
                raise _busy(f"none within {self.limits.queue_seconds:g} s") from None
            finally:
                self._n_waiting -= 1
            try:
                yield worker
            finally:
                if worker.is_ready:
                    self._idle.put_nowait(worker)
                else:
                    await self._replace(worker)

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
            except (OSError, EOFError):
                logger.exception("a process of the playground could not be started")
                await asyncio.sleep(1.0)


def _busy(got: str) -> RefusalError:
    remedy = "The server is busy: try again in a second."
    return RefusalError(503, "busy", "a free process", got, remedy, 1)


# --- In the process: one request after the other, until the input ends ----------------------------

Task = Callable[..., dict[str, Any]]


def answer(message: bytes, tasks: Mapping[str, Task]) -> tuple[int, bytes]:
    """Do the "task" that a message asks for; return the status and the body of the answer."""
    try:
        asked = json.loads(message)
        found = tasks[asked["task"]](**asked["arguments"])
        return HTTPStatus.OK, json.dumps(found, allow_nan=False, separators=(",", ":")).encode()
    except RefusalError as refusal:
        return refusal.status, json.dumps(refusal.body()).encode()
    except BrokenPipeError:  # of a report about progress: the server is gone
        raise
    except Exception:
        # To the terminal of whoever runs the server, and not to whoever asked.
        traceback.print_exc(file=sys.stderr)
        return 500, json.dumps(internal_error().body()).encode()


def send(outgoing: IO[bytes], status: int, body: bytes) -> None:
    """Write one message."""
    outgoing.write(b"%d %s\n" % (status, body))
    outgoing.flush()


def main() -> None:
    """Work on standard input and output."""
    # What libraries print must not come between the answers.
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    from vanishing.app.playground.scenes import explain, fit, gallery, scene
    from vanishing.app.playground.tables import find_laws, read_columns

    def report(progress: dict[str, Any]) -> None:
        send(outgoing, HTTPStatus.PROCESSING, json.dumps({"progress": progress}).encode())

    tasks: dict[str, Task] = {
        "scene": scene,
        "fit": fit,
        "gallery": gallery,
        "explain": explain,
        "columns": read_columns,
        "laws": partial(find_laws, report=report),
    }
    send(outgoing, HTTPStatus.OK, json.dumps(sorted(tasks)).encode())
    with suppress(BrokenPipeError):  # the server is gone
        for message in sys.stdin.buffer:
            send(outgoing, *answer(message, tasks))
