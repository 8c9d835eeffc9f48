"""The application: which address gives what."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from vanishing.playground import checks
from vanishing.playground.bodies import read_json
from vanishing.playground.guard import LOOPBACK, Guard
from vanishing.playground.limits import Limits
from vanishing.playground.refusal import RefusalError
from vanishing.playground.scenes import CURVES, X_SOURCES, Y_SOURCES
from vanishing.playground.workers import Workers

STATIC = Path(__file__).parent / "static"
PAGES = {"/": "plane.html", "/images": "images.html"}
#: Files are asked for again each time, and are sent only if they changed.
REVALIDATE = {"Cache-Control": "no-cache"}
NO_STORE = {"Cache-Control": "no-store"}

Handler = Callable[[Any], Awaitable[Any]]


def create_app(
    limits: Limits | None = None,
    *,
    hosts: Collection[str] = LOOPBACK,
    any_address: bool = False,
) -> Any:
    """Make the web application of the playground, for a server of one's own.

    Parameters
    ----------
    limits : Limits, optional
        What requests may ask for.
    hosts : collection of str
        Names by which browsers may call the server, without the port; by default those of this
        computer itself. Requests to other names are refused.
    any_address : bool, default=False
        Whether IP addresses are accepted as names as well.

    Returns
    -------
    ASGI application
    """
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.routing import Mount, Route
        from starlette.staticfiles import StaticFiles
    except ImportError as error:
        raise ImportError("the playground needs Starlette: pip install 'vanishing[web]'") from error

    chosen = Limits() if limits is None else limits
    workers = Workers(chosen)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        try:
            await workers.start()
            yield
        finally:
            await workers.stop()

    class Files(StaticFiles):
        def file_response(self, *arguments: Any, **keywords: Any) -> Any:
            response = super().file_response(*arguments, **keywords)
            response.headers.update(REVALIDATE)
            return response

    app = Starlette(
        routes=[
            *(Route(path, _page(name)) for path, name in PAGES.items()),
            Route("/api/about", _about(chosen)),
            *(
                Route(f"/api/{task}", _endpoint(task, check, chosen, workers), methods=["POST"])
                for task, check in _checks(chosen).items()
            ),
            Mount("/static", Files(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, hosts=hosts, any_address=any_address)],
        exception_handlers={
            RefusalError: _refused,
            404: _not_found,
            405: _wrong_method,
        },
        lifespan=lifespan,
    )
    app.state.workers = workers
    return app


def _checks(limits: Limits) -> dict[str, Callable[[Any], dict[str, Any]]]:
    """Return the check of what comes with each task."""
    list_of_points = checks.points(limits)

    def source(names: Collection[str]) -> checks.Check:
        known = checks.one_of(names)
        return lambda name, value: (known if isinstance(value, str) else list_of_points)(
            name, value
        )

    def scene(body: Any) -> dict[str, Any]:
        asked = checks.checked(
            body,
            {
                "x": source(X_SOURCES),
                "y": source(Y_SOURCES),
                "n_points": checks.whole(1, max(1, limits.points // 2)),
                "noise": checks.real(0, 1),
                "seed": checks.whole(0, 2**31 - 1),
            },
        )
        return _within(limits, asked, drawn=asked["n_points"])

    def fit(body: Any) -> dict[str, Any]:
        asked = checks.checked(
            body,
            {
                "x": list_of_points,
                "y": list_of_points,
                "degree": checks.whole(1, limits.degree),
                "normalization": checks.one_of(checks.PLAIN),
                "tol": checks.real(0, 1e6),
                "contrast_tol": checks.real(0, 1e6),
            },
        )
        return _within(limits, asked, drawn=0)

    normal = checks.one_of(checks.NORMAL)
    return {
        "scene": scene,
        "fit": fit,
        "gallery": lambda body: checks.checked(body, {"normal": normal}),
        "explain": lambda body: checks.checked(body, {"normal": normal, "image": checks.pixels}),
    }


def _within(limits: Limits, asked: dict[str, Any], *, drawn: int) -> dict[str, Any]:
    """Refuse more points than the limit, those that will be drawn included."""
    count = sum(len(s) if isinstance(s, list) else drawn for s in (asked["x"], asked["y"]))
    if count > limits.points:
        raise checks.too_many_points(limits, count)
    return asked


def _endpoint(
    task: str, check: Callable[[Any], dict[str, Any]], limits: Limits, workers: Workers
) -> Handler:
    from starlette.responses import Response

    async def handle(request: Any) -> Any:
        arguments = check(await read_json(request, limits))
        status, body = await workers.run(task, arguments)
        return Response(body, status, media_type="application/json", headers=NO_STORE)

    return handle


def _page(name: str) -> Handler:
    from starlette.responses import FileResponse

    async def page(_: Any) -> Any:
        return FileResponse(STATIC / name, headers=REVALIDATE)

    return page


def _about(limits: Limits) -> Handler:
    from starlette.responses import JSONResponse

    about = {"points": limits.points, "degree": limits.degree, "curves": CURVES}

    async def answer(_: Any) -> Any:
        return JSONResponse(about, headers=NO_STORE)

    return answer


async def _refused(_: Any, refusal: RefusalError) -> Any:
    from starlette.responses import JSONResponse

    return JSONResponse(refusal.body(), refusal.status, headers=NO_STORE | refusal.headers())


async def _not_found(request: Any, _: Exception) -> Any:
    expected = "an address of the playground"
    remedy = "Its pages are / and /images."
    got = "another one"
    return await _refused(
        request, RefusalError(404, "not-found", expected=expected, got=got, remedy=remedy)
    )


async def _wrong_method(request: Any, _: Exception) -> Any:
    return await _refused(
        request,
        RefusalError(
            405,
            "wrong-method",
            expected="GET for pages, POST for tasks",
            got=repr(request.method[:20]),
            remedy="Send the other one.",
        ),
    )
