"""How much one request may ask for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What the server of the playground accepts.

    Parameters
    ----------
    points : int, default=5000
        Of X and Y together.
    degree : int, default=8
        Largest degree.
    header_seconds : float, default=10.0
        Time in which the headers of a request have to arrive; then the connection is closed.
    body_bytes : int, default=1_000_000
        Size of a request.
    body_seconds : float, default=10.0
        Time in which the rest of a request has to arrive.
    work_seconds : float, default=5.0
        Time for the work of one request; then the process that does it is killed and replaced.
    workers : int, default=2
        Processes that work, each on one request at a time and with one thread.
    queue : int, default=100
        Requests that may wait for a process; more are told that the server is busy.
    queue_seconds : float, default=1.0
        How long a request waits before it is told so.
    """

    points: int = 5000
    degree: int = 8
    header_seconds: float = 10.0
    body_bytes: int = 1_000_000
    body_seconds: float = 10.0
    work_seconds: float = 5.0
    workers: int = 2
    queue: int = 100
    queue_seconds: float = 1.0

    def __post_init__(self) -> None:
        for name, least in (("points", 1), ("degree", 1), ("body_bytes", 1), ("workers", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)!r}")
        for name in ("header_seconds", "body_seconds", "work_seconds", "queue", "queue_seconds"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)!r}")
