"""Processes that do the work, so that it can be stopped and the server goes on meanwhile."""

import asyncio
import hashlib
import json
import logging
import os
import struct
import sys
import time
import traceback
from asyncio.subprocess import PIPE, Process
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from math import ceil
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
#: Seconds that a request takes, before any was measured, and the weight of the latest one.
USUAL_SECONDS, RECENT = 0.05, 0.1
#: Seconds after which clients are told to come again, at most.
LATEST_RETRY = 20
#: The status of a request whose client has hung up; nobody gets it.
HUNG_UP = 499
#: What helps against work that takes too long, unless it is about points.
TOO_SLOW = {
    "columns": "Keep a part of the rows.",
    "laws": "Keep fewer columns, those that may be related.",
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
        while (answer := await self.read())[0] == PROGRESS:
            if on_progress is not None:
                await on_progress(answer[1])
        return answer

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


class Line:
    """Requests that wait for a process. Their clients take turns, however many each has sent."""

    def __init__(self) -> None:
        self._places: dict[str, deque[asyncio.Future[Worker]]] = {}  # who is next comes first

    def __len__(self) -> int:
        return sum(map(len, self._places.values()))

    def join(self, client: str) -> "asyncio.Future[Worker]":
        """Return a place, which will hold a process."""
        place = asyncio.get_running_loop().create_future()
        self._places.setdefault(client, deque()).append(place)
        return place

    def leave(self, client: str, place: "asyncio.Future[Worker]") -> None:
        """Give up a place, if it is still there."""
        places = self._places.get(client, deque())
        with suppress(ValueError):
            places.remove(place)
        if not places:
            self._places.pop(client, None)

    def serve(self, worker: Worker) -> bool:
        """Give a process to whoever is next; return whether somebody was there."""
        while self._places:
            client = next(iter(self._places))
            places = self._places.pop(client)
            place = places.popleft()
            if places:
                self._places[client] = places
            if not place.done():  # cancelled, and about to leave
                place.set_result(worker)
                return True
        return False


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
        self._idle: deque[Worker] = deque()
        self._all: set[Worker] = set()
        self._line = Line()
        self._n_searches = 0
        self._usual_seconds = USUAL_SECONDS
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

    async def take(self, client: str) -> Worker:
        """Wait for a process. Who is cancelled meanwhile leaves the line.

        Parameters
        ----------
        client : str
            Who asks. Clients take turns.

        Raises
        ------
        RefusalError
            If too many are waiting, or it takes too long.
        """
        while self._idle:
            if (worker := self._idle.popleft()).process.returncode is None:
                return worker
            await self._replace(worker)  # it ended while nobody looked
        if len(self._line) >= self.limits.queue:
            raise busy(
                f"{len(self._line)} others that are already waiting", self._expected_seconds()
            )
        if self._expected_seconds() > self.limits.queue_seconds:  # say so now rather than later
            raise busy(
                f"{len(self._line)} others that are already waiting", self._expected_seconds()
            )
        try:
            async with asyncio.timeout(self.limits.queue_seconds):
                while (worker := await self._wait(client)).process.returncode is not None:
                    await self._replace(worker)
                return worker
        except TimeoutError:
            waited = f"none within {self.limits.queue_seconds:g} s"
            raise busy(waited, self._expected_seconds()) from None

    async def work(
        self,
        worker: Worker,
        task: str,
        arguments: dict[str, Any],
        *,
        seconds: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> tuple[int, bytes]:
        """Do a task in a process that was taken; return status and body of the answer.

        If this is cancelled, the process is replaced.

        Parameters
        ----------
        worker : Worker
        task : str
        arguments : dict
        seconds : float, optional
            By default the limit for most tasks. Given for searches, which take long.
        on_progress : coroutine function, optional
            Called with what the process says about its progress.

        Raises
        ------
        RefusalError
            If it takes too long, or the process ends.
        """
        limit = self.limits.work_seconds if seconds is None else seconds
        self._n_searches += seconds is not None
        begun = time.monotonic()
        try:
            async with asyncio.timeout(limit):
                answer = await worker.ask(task, arguments, on_progress)
        except TimeoutError:
            await self._replace(worker)
            raise RefusalError(
                504,
                "too-slow",
                expected=f"work of at most {limit:g} s",
                got="more, so it was stopped",
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
        finally:
            self._n_searches -= seconds is not None
            if seconds is None:
                took = time.monotonic() - begun
                self._usual_seconds += RECENT * (took - self._usual_seconds)
        self._offer(worker)
        return answer

    async def run(
        self,
        client: str,
        task: str,
        arguments: dict[str, Any],
        *,
        seconds: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> tuple[int, bytes]:
        """Do a task in the next free process; see ``take`` and ``work``."""
        worker = await self.take(client)
        return await self.work(worker, task, arguments, seconds=seconds, on_progress=on_progress)

    async def _wait(self, client: str) -> Worker:
        place = self._line.join(client)
        try:
            return await place
        except BaseException:  # cancelled, perhaps when a process had just come
            if place.done() and not place.cancelled():
                self._offer(place.result())
            raise
        finally:
            self._line.leave(client, place)

    def _offer(self, worker: Worker) -> None:
        if not self._line.serve(worker):
            self._idle.append(worker)

    def _expected_seconds(self) -> float:
        """Return how long the next request will probably wait."""
        n_processes = max(1, self.limits.workers - self._n_searches)
        return self._usual_seconds * len(self._line) / n_processes

    async def _replace(self, worker: Worker) -> None:
        self._all.discard(worker)
        starting = asyncio.create_task(self._add_until_it_works())
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)
        await worker.kill()

    async def _add(self) -> None:
        worker = await Worker.start()
        self._all.add(worker)
        self._offer(worker)

    async def _add_until_it_works(self) -> None:
        while True:
            try:
                return await self._add()
            except (OSError, EOFError, TimeoutError):
                logger.exception("a process of the playground could not be started")
                await asyncio.sleep(1.0)


def busy(got: str, seconds: float = 1.0) -> RefusalError:
    """Return the refusal of a request that comes while all processes work.

    Parameters
    ----------
    got : str
    seconds : float
        How long others will probably keep the processes busy.
    """
    retry_after = min(max(1, ceil(seconds)), LATEST_RETRY)
    return RefusalError(
        503,
        "busy",
        expected="a free process",
        got=got,
        remedy="The server is busy: try again in "
        + ("a second." if retry_after == 1 else f"{retry_after} seconds."),
        retry_after=retry_after,
    )


class Answers:
    """Answers to requests, those to equal ones computed once.

    Tasks draw nothing at random, so that their answers can be kept. Requests that come while an
    equal one is worked on wait for its answer. Work for which nobody waits any more, since browsers
    hang up when a slider was moved on, is not begun.

    Parameters
    ----------
    workers : Workers
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()  # the one that was used last is last
        self._n_bytes = 0
        self._pending: dict[bytes, _Pending] = {}

    async def get(
        self,
        client: str,
        task: str,
        content: bytes,
        hanging_up: "asyncio.Task[None]",
        read: Callable[[], dict[str, Any]],
    ) -> tuple[int, bytes]:
        """Return status and body of the answer.

        Parameters
        ----------
        client : str
            Who asks.
        task : str
        content : bytes
            The request. Those with the same bytes are equal.
        hanging_up : asyncio.Task
            Done when nobody waits for the answer any more.
        read : callable
            Returns the arguments of the task, or raises a ``RefusalError``. Not called for a
            request that is equal to one before.

        Raises
        ------
        RefusalError
            As ``read`` and ``Workers`` do.
        """
        key = hashlib.sha256(task.encode() + b" " + content).digest()
        if key in self._kept:
            self._kept.move_to_end(key)
            return 200, self._kept[key]
        pending = self._pending.get(key)
        if pending is None:
            arguments = read()
            pending = self._pending[key] = _Pending()
            pending.work = asyncio.create_task(self._work(client, task, arguments, key, pending))
            pending.work.add_done_callback(_ignore_error)
        pending.n_waiting += 1
        try:
            await asyncio.wait({pending.work, hanging_up}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            pending.n_waiting -= 1
            if not pending.n_waiting and not pending.is_begun:
                pending.work.cancel()
                self._pending.pop(key, None)
        if pending.work.done():
            return pending.work.result()
        return HUNG_UP, b""

    async def stop(self) -> None:
        """Stop working."""
        works = [pending.work for pending in self._pending.values()]
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)

    async def _work(
        self, client: str, task: str, arguments: dict[str, Any], key: bytes, pending: "_Pending"
    ) -> tuple[int, bytes]:
        try:
            worker = await self._workers.take(client)
            pending.is_begun = True
            status, body = await self._workers.work(worker, task, arguments)
        finally:
            if self._pending.get(key) is pending:
                del self._pending[key]
        if status == 200:
            self._keep(key, body)
        return status, body

    def _keep(self, key: bytes, body: bytes) -> None:
        self._n_bytes += len(body) - len(self._kept.pop(key, b""))
        self._kept[key] = body
        while self._n_bytes > self._workers.limits.kept_bytes:
            _, oldest = self._kept.popitem(last=False)
            self._n_bytes -= len(oldest)


def _ignore_error(work: "asyncio.Task[tuple[int, bytes]]") -> None:
    """Keep asyncio from complaining about an error that nobody waits for any more."""
    if not work.cancelled():
        work.exception()


class _Pending:
    """Work on a request, and how many wait for it."""

    work: asyncio.Task[tuple[int, bytes]]

    def __init__(self) -> None:
        self.n_waiting = 0
        self.is_begun = False


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
    except BrokenPipeError:  # of a report about progress: the server is gone
        raise
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
