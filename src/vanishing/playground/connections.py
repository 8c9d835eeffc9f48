"""Connections on which no request comes are closed.

uvicorn waits as long as it takes for the end of a request's headers; whoever sends half of them on
many connections would use up the files that the server may open.
"""

import asyncio
from typing import Any

REFUSAL = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def impatient(protocol: Any, seconds: float) -> Any:
    """Return a protocol of uvicorn that waits so long, and no longer, for the headers of a request.

    Parameters
    ----------
    protocol : class
        Of uvicorn: ``uvicorn.protocols.http.auto.AutoHTTPProtocol``.
    seconds : float
        From the beginning of the connection, or from the first byte of a later request.

    Returns
    -------
    class
    """

    class Impatient(protocol):
        app: Any

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._answering = 0
            self._more = False  # has come in the meantime, perhaps the next request
            self._deadline: asyncio.TimerHandle | None = None
            answer = self.app

            async def app(scope: Any, receive: Any, send: Any) -> None:
                self._calm()  # called when the headers are there
                self._answering += 1
                try:
                    await answer(scope, receive, send)
                finally:
                    self._answering -= 1
                    if self._more:
                        self._wait()

            self.app = app

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            self._more = True
            self._wait()
            super().data_received(data)

        def connection_lost(self, exc: Exception | None) -> None:
            self._calm()
            super().connection_lost(exc)

        def _wait(self) -> None:
            # Not put off by more bytes: they may come one by one.
            if self._answering or self._deadline is not None or self.transport.is_closing():
                return
            self._more = False
            self._deadline = asyncio.get_running_loop().call_later(seconds, self._give_up)

        def _calm(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _give_up(self) -> None:
            self._deadline = None
            if self.transport.is_closing():
                return
            if self.transport.get_write_buffer_size():  # of an answer that nobody reads
                self.transport.abort()
                return
            self.transport.write(REFUSAL)
            self.transport.close()

    return Impatient
