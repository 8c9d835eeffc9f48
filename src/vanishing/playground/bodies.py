"""Reading what comes with a request, within limits."""

import asyncio
import json
from typing import Any

from vanishing.playground.limits import Limits
from vanishing.playground.refusal import RefusalError


async def read_json(request: Any, limits: Limits) -> Any:
    """Read the body of a request as JSON.

    Parameters
    ----------
    request : starlette.requests.Request
    limits : Limits

    Raises
    ------
    RefusalError
        If it is too large, too slow, or not JSON.
    """
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        # Also a guard: pages of other origins cannot send this type without asking first.
        raise RefusalError(
            415,
            "not-json",
            expected="the content type application/json",
            got=repr(kind[:60]) if kind else "none",
            remedy="Send JSON.",
        )
    try:
        async with asyncio.timeout(limits.body_seconds):
            content = await _read(request, limits)
    except TimeoutError:
        raise RefusalError(
            408,
            "too-slow-to-arrive",
            expected=f"a request that arrives within {limits.body_seconds:g} s",
            got="a part of it",
            remedy="Send it again.",
        ) from None
    return _parsed(content)


async def _read(request: Any, limits: Limits) -> bytes:
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limits.body_bytes:
        raise _too_large(limits, f"{announced} bytes")
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > limits.body_bytes:
            raise _too_large(limits, "more")
    return bytes(content)


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):  # also numbers of too many digits, bytes that are no text
        raise RefusalError(
            422,
            "not-json",
            expected="JSON",
            got=f"{len(content)} bytes that are none, or hold NaN or infinity",
            remedy="Send numbers, lists and objects as RFC 8259 has them.",
        ) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _too_large(limits: Limits, got: str) -> RefusalError:
    return RefusalError(
        413,
        "too-large",
        expected=f"a request of at most {limits.body_bytes} bytes",
        got=got,
        remedy="Send fewer points.",
    )
