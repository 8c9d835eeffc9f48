"""The page's own computations agree with NumPy."""

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright")

from tests.support.browser import View

from vanishing import VanishingIdeal

pytestmark = pytest.mark.programs

REACH, SIZE = 1.7, 31


@pytest.fixture(scope="module")
def page(server, browser):
    view = View(browser, server.url)
    yield view.open().page
    view.close()


def call(page, module, function, *arguments):
    return page.evaluate(
        """async ([module, name, values]) => {
          const found = (await import(`/static/js/${module}.js`))[name](...values);
          return ArrayBuffer.isView(found) ? Array.from(found) : found;
        }""",
        [module, function, arguments],
    )


def grid():
    axis = np.linspace(-REACH, REACH, SIZE)
    x, y = np.meshgrid(axis, axis[::-1])
    return np.column_stack([x.ravel(), y.ravel()])


@pytest.mark.parametrize("degree", [1, 2, 5, 8])
def test_values_on_the_grid(page, degree):
    rng = np.random.default_rng(degree)
    X, Y = rng.normal(size=(2, 12 + degree, 2))
    ideal = VanishingIdeal(max_degree=degree, tol=1e9, normalization="contrastive")
    ideal.fit(X, contrast=Y)
    exponents, coefficients = ideal.basis_.expand()
    expected = ideal.transform(grid(), output="signed")
    for column in range(expected.shape[1]):
        values = call(
            page, "polynomial", "onGrid", exponents.tolist(), coefficients[:, column].tolist(),
            REACH, SIZE,
        )  # fmt: skip
        scale = np.abs(expected[:, column]).max()
        np.testing.assert_allclose(values, expected[:, column], atol=1e-10 * scale)


def test_zero_set_lies_on_the_curve(page):
    x, y = grid().T
    segments = np.array(call(page, "polynomial", "zeroSet", (x**2 + y**2 - 1).tolist(), SIZE))
    ends = segments.reshape(-1, 2) * 2 * REACH / (SIZE - 1) - REACH
    assert len(ends) > 60
    np.testing.assert_allclose(np.linalg.norm(ends, axis=1), 1, atol=0.005)
    # The curve is closed: every end is that of two segments.
    _, counts = np.unique(ends.round(9), axis=0, return_counts=True)
    assert set(counts) == {2}


@pytest.mark.parametrize(
    ("values", "cut_off"),
    [
        ([2.0, -1.0, -1.0, 1.0], "negative"),
        ([1.0, -2.0, -1.0, 1.0], "positive"),
        ([-1.0, 2.0, 1.0, -1.0], "negative"),
        ([-2.0, 1.0, 1.0, -1.0], "positive"),
    ],
)
def test_zero_set_at_a_saddle(page, values, cut_off):
    """Where opposite corners have one sign, those of the sign that the middle lacks are cut off."""
    segments = np.array(call(page, "polynomial", "zeroSet", values, 2)).reshape(2, 2, 2)
    corners = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    nearest = [int(np.argmin(np.linalg.norm(corners - s.mean(axis=0), axis=1))) for s in segments]
    assert len(set(nearest)) == 2
    assert {np.sign(values[k]) for k in nearest} == {-1 if cut_off == "negative" else 1}


def test_points_survive_the_link(page):
    rng = np.random.default_rng(0)
    for points in ([], [[0.0, 0.0]], (1e3 * rng.normal(size=(50, 2))).tolist(), [[1e-5, -1e-5]]):
        packed = call(page, "state", "pack", points)
        once = call(page, "state", "unpack", packed)
        largest = np.abs(points).max() if points else 0
        np.testing.assert_allclose(once, points, atol=2e-5 * largest + 1e-12)
        assert call(page, "state", "pack", once) == packed


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (-0.5, "−0.5"), (1234.56, "1230"), (1e-7, "1 × 10⁻⁷"), (-2.5e12, "−2.5 × 10¹²")],
)
def test_numbers_as_text(page, value, text):
    assert call(page, "numbers", "numberText", value) == text


def test_turning_is_that_of_the_detector(page):
    image = np.arange(64.0)
    turned = call(page, "pixels", "turned", image.tolist())
    np.testing.assert_array_equal(turned, np.rot90(image.reshape(8, 8)).ravel())


def test_area_under_the_curve(page):
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    scores, is_normal = rng.normal(size=60), rng.random(60) < 0.4
    area = call(page, "histogram", "areaUnderCurve", scores.tolist(), is_normal.tolist())
    assert area == pytest.approx(roc_auc_score(~is_normal, scores))
