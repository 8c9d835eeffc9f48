"""The server of the playground: answers, refusals, limits, time-outs, guards."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("starlette")

import httpx
from tests.support.playground import assert_refused, fit_request

from vanishing import VanishingIdeal
from vanishing.app.playground import requests, scenes
from vanishing.app.playground import scenes as plane
from vanishing.app.playground.server import PAGES, STATIC, make_page

# --- answers --------------------------------------------------------------------------------------


def test_fit_is_the_estimators(server):
    asked = fit_request()
    answer = server.post("fit", asked).json()
    X, Y = np.array(asked["x"]), np.array(asked["y"])
    for name, keywords, contrast in (
        ("plain", {"normalization": "gradient"}, None),
        ("contrastive", {"normalization": "contrastive"}, Y),
    ):
        ideal = VanishingIdeal(max_degree=2, tol=0.01, **keywords).fit(X, contrast=contrast)
        exponents, coefficients = ideal.basis_.expand()
        found = answer[name]
        assert found["exponents"] == exponents.tolist()
        columns = np.array([equation["coefficients"] for equation in found["equations"]])
        np.testing.assert_allclose(columns, coefficients.T, atol=1e-12)
        sizes = [equation["onContrast"] for equation in found["equations"]]
        np.testing.assert_allclose(sizes, np.sqrt(np.mean(ideal.transform(Y) ** 2, axis=0)))
        for step, shown in zip(ideal.trace_, found["degrees"], strict=True):
            assert shown["vanishing"] == step.vanishing
            np.testing.assert_allclose(shown["spectrum"], step.spectrum, atol=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "plain", "contrastive"),
    [
        ([], [], "no-points", "no-points"),
        ([[0.0, 0.0]], [], None, "no-contrast"),
        ([[1.0, 2.0]], [[1.0, 2.0]], None, "contrast-within"),
        ([[1.0, 2.0]] * 5, [[3.0, 1.0]], None, None),
        ([[1e6, -1e6], [1e-300, 0.0]], [[5.0, 0.0]], None, None),
    ],
)
def test_few_points(server, x, y, plain, contrastive):
    answer = server.post("fit", fit_request(x=x, y=y, degree=3))
    assert answer.status_code == 200, answer.text
    assert answer.json()["plain"]["problem"] == plain
    assert answer.json()["contrastive"]["problem"] == contrastive


@pytest.mark.parametrize("source", scenes.X_SOURCES)
def test_scene_has_points_on_the_curve(source):
    drawn = scenes.scene(x=source, y="uniform", n_points=40, noise=0.0, seed=3)
    assert len(drawn["x"]) == len(drawn["y"]) == 40
    degree = 6 if source == "lissajous" else 4
    found = plane.fit(
        x=drawn["x"], y=drawn["y"], degree=degree, normalization="vca", tol=1e-9, contrast_tol=1e-9
    )
    assert found["plain"]["equations"]


COORDINATES = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e6, 1e-300]),
    st.floats(-1e6, 1e6).filter(np.isfinite),
    st.integers(-3, 3),
)


@given(
    x=st.lists(st.lists(COORDINATES, min_size=2, max_size=2), max_size=12),
    y=st.lists(st.lists(COORDINATES, min_size=2, max_size=2), max_size=12),
    degree=st.integers(1, 4),
    normalization=st.sampled_from(requests.PLAIN),
    tol=st.sampled_from([0.0, 1e-4, 0.1, 10.0, 1e6]),
)
def test_all_points_are_answered(x, y, degree, normalization, tol):
    """Duplicates, lines, single points, huge and tiny ones: always an answer that is JSON."""
    found = plane.fit(
        x=x, y=y, degree=degree, normalization=normalization, tol=tol, contrast_tol=tol
    )
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for fitted in found.values():
        assert fitted["problem"] is not None or len(fitted["degrees"]) <= degree


def test_scene_keeps_points_that_are_given(server):
    own = [[0.25, -1.5], [3.0, 2.0]]
    asked = {"x": own, "y": "permuted", "n_points": 2, "noise": 0, "seed": 0}
    answer = server.post("scene", asked).json()
    assert answer["x"] == own
    assert np.sort(answer["y"], axis=0).tolist() == np.sort(own, axis=0).tolist()
    assert server.post("scene", asked | {"x": []}).json() == {"x": [], "y": []}


def test_the_starting_scene_shows_the_idea():
    """Without contrast the equation is as true of Y as of X, with contrast it is not."""
    drawn = scenes.scene(x="arc", y="rest", n_points=160, noise=0.02, seed=12)
    found = plane.fit(**drawn, degree=2, normalization="gradient", tol=0.05, contrast_tol=0.05)
    ratios = {}
    for name, fitted in found.items():
        best = min(fitted["equations"], key=lambda equation: equation["extent"])
        ratios[name] = best["onContrast"] / best["extent"]
    assert ratios["plain"] < 3
    assert ratios["contrastive"] > 30


def test_digits_and_explanations(server):
    gallery = server.post("gallery", {"normal": "2"}).json()
    scores, is_normal = np.array(gallery["scores"]), np.array(gallery["isNormal"])
    assert np.median(scores[~is_normal]) > gallery["threshold"] > np.median(scores[is_normal])
    text = gallery["images"][int(np.argmax(scores))]
    image = [(ord(character) - 48) / 16 for character in text]
    found = server.post("explain", {"normal": "2", "image": image}).json()
    assert found["score"] == pytest.approx(scores.max())
    assert sum(found["attribution"]) == pytest.approx(
        found["score"] - found["counterfactualScore"], rel=1e-2
    )
    assert sum(turn["loss"] for turn in found["rotations"]) == pytest.approx(found["score"])
    assert found["rotations"][0]["image"] == pytest.approx(image)
    blank = server.post("explain", {"normal": "even", "image": [0] * 64})
    assert blank.status_code == 200


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"degree": 0},
        {"degree": 9},
        {"degree": 2.5},
        {"degree": True},
        {"degree": "2"},
        {"tol": -1},
        {"tol": None},
        {"tol": 10**400},
        {"normalization": "contrastive"},
        {"normalization": ["gradient"]},
        {"x": "circle"},
        {"x": [[1, 2], [3]]},
        {"x": [[1, "2"]]},
        {"x": [[1, None]]},
        {"x": [[1, 1e7]]},
        {"x": {"0": [1, 2]}},
        {"y": 3},
    ],
)
def test_bad_values(server, changes):
    assert_refused(server.post("fit", fit_request(**changes)), 422, "bad-value")


def test_fields_that_lack_or_are_unknown(server):
    asked = fit_request()
    del asked["tol"]
    assert_refused(server.post("fit", asked), 422, "bad-value")
    assert_refused(server.post("fit", fit_request(path="/etc")), 422, "unknown-field")
    assert_refused(server.post("fit", [1, 2]), 422, "bad-value")
    assert_refused(server.post("gallery", {"normal": "10"}), 422, "bad-value")
    assert_refused(server.post("explain", {"normal": "1", "image": [2] * 64}), 422, "bad-value")
    assert_refused(server.post("explain", {"normal": "1", "image": [0] * 63}), 422, "bad-value")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b'{"x": NaN}', b"\xff\xfe", b"[" * 100_000, b'{"tol": ' + b"1" * 5000 + b"}"],
    ids=["empty", "cut", "nan", "no text", "deep", "long number"],
)
def test_bodies_that_are_not_json(server, content):
    response = server.client.post(
        "/api/fit", content=content, headers={"Content-Type": "application/json"}
    )
    assert_refused(response, 422, "not-json")


def test_other_content_types(server):
    response = server.client.post("/api/fit", data={"x": "1"})
    assert_refused(response, 415, "not-json")


def test_too_many_points(server):
    points = [[0.0, 1.0]] * 2501
    assert_refused(server.post("fit", fit_request(x=points, y=points)), 413, "too-many-points")
    asked = {"x": points, "y": "uniform", "n_points": 2500, "noise": 0, "seed": 0}
    assert_refused(server.post("scene", asked), 413, "too-many-points")
    assert_refused(server.post("fit", fit_request(x=points * 2)), 413, "too-many-points")


def test_too_many_bytes(server):
    def chunks():
        for _ in range(300):
            yield b" " * 10_000

    headers = {"Content-Type": "application/json"}
    announced = server.client.post("/api/fit", content=b" " * 2_000_000, headers=headers)
    assert_refused(announced, 413, "too-large")
    try:
        streamed = server.client.post("/api/fit", content=chunks(), headers=headers)
    except httpx.WriteError:
        return  # the server hung up while we were still sending
    assert_refused(streamed, 413, "too-large")


def test_other_addresses_and_methods(server):
    assert_refused(server.client.get("/nowhere"), 404, "not-found")
    assert_refused(server.client.get("/api/fit"), 405, "wrong-method")
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/"):
        assert_refused(server.client.get(path), 404, "not-found")


# --- guards ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:99", "[::1]:8765", "LOCALHOST.:8765"])
def test_own_names(server, host):
    assert server.client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:80", "localhost@evil", "10.0.0.1", "", "[::2]"]
)
def test_other_names_are_refused(server, host):
    """A page that makes its own name point to this computer is not answered (DNS rebinding)."""
    assert_refused(server.client.get("/", headers={"Host": host}), 421, "unknown-host")


def test_requests_of_other_pages_are_refused(server):
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://[::1"},
        {"Origin": server.url.replace("127.0.0.1", "localhost")},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ):
        assert_refused(server.post("fit", fit_request(), headers=headers), 403, "cross-origin")
    own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    assert server.post("fit", fit_request(), headers=own).status_code == 200


@pytest.mark.parametrize("path", ["/", "/images", "/static/js/plane.js", "/api/about", "/nowhere"])
def test_headers(server, path):
    headers = server.client.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


def test_pages_hold_nothing_inline_and_nothing_from_elsewhere():
    served = {str(file): file.read_text() for file in STATIC.rglob("*.*")}
    for name, text in (served | {path: make_page(path) for path in PAGES}).items():
        assert "http://" not in text.replace("http://www.w3.org/", ""), name
        assert "https://" not in text, name
    for path in PAGES:
        page = make_page(path)
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*src=)", page), path
        assert page.count(' aria-current="page"') == 1
        assert "$" not in page


def test_errors_of_ours_carry_the_headers_and_nothing_of_the_machine():
    import asyncio

    from vanishing.app.playground.server import HEADERS, LOOPBACK, Guard

    async def broken(scope, receive, send):
        raise RuntimeError("/home/somebody/secret.py")

    async def ask():
        guard = Guard(broken, hosts=LOOPBACK, any_address=False)
        transport = httpx.ASGITransport(app=guard, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get("/")

    answer = asyncio.run(ask())
    assert_refused(answer, 500, "internal")
    assert "secret" not in answer.text
    for name, value in HEADERS.items():
        assert answer.headers[name] == value


def test_an_answer_that_has_begun_is_not_begun_again():
    import asyncio

    from vanishing.app.playground.server import LOOPBACK, Guard

    async def broken(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("in the middle")

    sent = []

    async def keep(message):
        sent.append((message["type"], message["status"]))

    guard = Guard(broken, hosts=LOOPBACK, any_address=False)
    scope = {"type": "http", "path": "/", "headers": [(b"host", b"localhost")]}
    with pytest.raises(RuntimeError, match="in the middle"):
        asyncio.run(guard(scope, None, keep))
    assert sent == [("http.response.start", 200)]
    # Nothing but HTTP reaches the pages, since only there host and origin are checked.
    asyncio.run(guard(scope | {"type": "websocket"}, None, keep))
    assert len(sent) == 1
