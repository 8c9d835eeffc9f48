"""Zero sets are where polynomials are zero, in the plane and in space."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.text import Text

from vanishing import VanishingIdeal
from vanishing.datasets import describe_variety, make_variety
from vanishing.plotting import ZeroSetDisplay
from vanishing.plotting.zero_set import common_zeros, zero_segments, zero_triangles


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def fitted(name, degree, **parameters):
    X = make_variety(name, 300, noise=parameters.pop("noise", 0.0))
    return X, VanishingIdeal(max_degree=degree, **{"tol": 1e-8} | parameters).fit(X)


AXIS = np.linspace(-1.6, 1.6, 24)
CUBE = (AXIS, AXIS, AXIS)


def area(triangles):
    sides = triangles[:, 1:] - triangles[:, :1]
    return 0.5 * np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1).sum()


# --- marching tetrahedra --------------------------------------------------------------------------


def test_area_of_a_sphere():
    triangles = zero_triangles(lambda x: (x**2).sum(axis=1) - 1, CUBE)
    assert area(triangles) == pytest.approx(4 * np.pi, rel=0.02)


def test_a_plane_is_met_exactly_and_without_holes():
    triangles = zero_triangles(lambda x: x @ [1.0, 2.0, 3.0] - 0.1234, CUBE)
    np.testing.assert_allclose(triangles @ [1.0, 2.0, 3.0], 0.1234, atol=1e-12)
    # Every edge inside of the cube belongs to two triangles: the surface has no holes.
    corners = np.round(triangles, 9)
    edges = {}
    for triangle in corners:
        if area(triangle[None]) < 1e-12:
            continue
        for i in range(3):
            edge = frozenset([tuple(triangle[i]), tuple(triangle[i - 1])])
            edges[edge] = edges.get(edge, 0) + 1
    inside = [edge for edge in edges if max(abs(c) for p in edge for c in p) < 1.6 - 1e-9]
    assert inside
    assert {edges[edge] for edge in inside} == {2}


def test_length_of_a_circle_in_space():
    triangles = zero_triangles(lambda x: (x**2).sum(axis=1) - 1, CUBE)
    segments = zero_segments(triangles, lambda x: x[:, 2] - 0.3)
    length = np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1).sum()
    assert length == pytest.approx(2 * np.pi * np.sqrt(1 - 0.09), rel=0.01)


def test_nothing_is_found_where_there_are_no_zeros():
    triangles = zero_triangles(lambda x: np.ones(len(x)), CUBE)
    assert triangles.shape == (0, 3, 3)
    assert zero_segments(triangles, lambda x: x[:, 0]).shape == (0, 2, 3)


@given(st.integers(0, 2**32 - 1))
def test_surfaces_of_random_quadrics_are_their_zeros(seed):
    rng = np.random.default_rng(seed)
    matrix, vector = rng.normal(size=(3, 3)), rng.normal(size=3)

    def quadric(x):
        return np.einsum("ni,ij,nj->n", x, matrix, x) + x @ vector

    triangles = zero_triangles(quadric, CUBE)
    # Linear interpolation along an edge of length h is off by h² / 8 times the second derivative.
    steps = np.sqrt(3) * (AXIS[1] - AXIS[0])
    bound = steps**2 / 8 * 2 * np.linalg.norm((matrix + matrix.T) / 2, 2)
    assert np.abs(quadric(triangles.reshape(-1, 3))).max(initial=0) <= bound * (1 + 1e-9)


# --- curves in space ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["viviani", "twisted-cubic", "axes"])
def test_curves_are_where_all_equations_hold(name):
    X, ideal = fitted(name, 2)
    display = ZeroSetDisplay.from_estimator(ideal, X)
    segments = common_zeros(display.basis, display.limits, None)
    record = describe_variety(name)
    assert np.abs(record.evaluate(segments.reshape(-1, 3))).max() < 1e-3
    # ... and all of the points are on the curve.
    gaps = np.linalg.norm(X[:, None] - segments.mean(axis=1)[None], axis=2).min(axis=1)
    assert np.quantile(gaps, 0.99) < 0.1


def test_noise_does_not_break_a_curve():
    X, ideal = fitted("twisted-cubic", 2, noise=0.005, tol=0.02)
    display = ZeroSetDisplay.from_estimator(ideal, X)
    segments = common_zeros(display.basis, display.limits, None)
    gaps = np.linalg.norm(X[:, None] - segments.mean(axis=1)[None], axis=2).min(axis=1)
    assert gaps.max() < 0.1


# --- displays -------------------------------------------------------------------------------------


def test_contours_are_zeros():
    X, ideal = fitted("lemniscate", 4)
    display = ZeroSetDisplay.from_estimator(ideal, X)
    (contours,) = display.ax_.collections[1:]  # the points come first
    (path,) = contours.get_paths()
    values = display.basis.evaluate(path.vertices)
    slopes = np.linalg.norm(display.basis.jacobian(path.vertices)[:, 0], axis=1)
    assert np.median(np.abs(values[:, 0]) / slopes) < 1e-4


def test_combinations_are_left_out_unless_asked_for():
    X, ideal = fitted("circle", 4)
    assert ideal.basis_.count() > 1
    assert ZeroSetDisplay.from_estimator(ideal, X).basis.count() == 1
    chosen = ZeroSetDisplay.from_estimator(ideal, X, polynomials=[0, 2])
    np.testing.assert_array_equal(chosen.basis.extents, ideal.extents_[[0, 2]])


def test_points_and_contrast_are_drawn_and_set_the_limits():
    rng = np.random.default_rng(0)
    X, Y = make_variety("circle", 50), rng.uniform(-3, 3, size=(40, 2))
    ideal = VanishingIdeal(max_degree=2, tol=0.01, normalization="contrastive")
    display = ZeroSetDisplay.from_estimator(ideal.fit(X, contrast=Y), X, contrast=Y)
    contrast, points = display.ax_.collections[:2]
    np.testing.assert_array_equal(contrast.get_offsets(), Y)
    np.testing.assert_array_equal(points.get_offsets(), X)
    assert display.limits[0, 0] < Y[:, 0].min()
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names[:2] == ["X", "contrast"]
    assert names[2].startswith("g = 0, degree 2, extent ")


def test_sign_regions_are_of_either_sign():
    X, ideal = fitted("circle", 2)
    display = ZeroSetDisplay.from_estimator(ideal, X, sign_regions=True)
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names[-2:] == ["g > 0", "g < 0"]


def test_what_is_outside_of_the_limits_is_said_to_be():
    _, ideal = fitted("circle", 2)
    display = ZeroSetDisplay.from_estimator(ideal, limits=[(4, 5), (4, 5)])
    (name,) = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert name.endswith("(not in the picture)")


@pytest.mark.parametrize(
    ("name", "degree", "kind"),
    [
        ("sphere", 2, "auto"),
        ("viviani", 2, "auto"),
        ("twisted-cubic", 2, "auto"),
        ("viviani", 2, "surfaces"),
        ("viviani", 2, "curve"),
    ],
)
def test_space(name, degree, kind):
    X, ideal = fitted(name, degree)
    display = ZeroSetDisplay.from_estimator(ideal, X, kind=kind, resolution=20)
    kinds = [type(each).__name__ for each in display.ax_.collections]
    n_surfaces = {"sphere": 1, "viviani": 2, "twisted-cubic": 0}[name]
    assert kinds.count("Poly3DCollection") == (0 if kind == "curve" else n_surfaces)
    assert kinds.count("Line3DCollection") == (kind != "surfaces" and name != "sphere")


@pytest.mark.parametrize(("name", "degree"), [("lemniscate", 4), ("viviani", 2)])
def test_everything_written_is_on_the_picture(name, degree):
    X, ideal = fitted(name, degree)
    display = ZeroSetDisplay.from_estimator(ideal, X, resolution=20)
    display.figure_.canvas.draw()
    whole = display.figure_.bbox
    written = [*display.ax_.get_legend().get_texts(), display.ax_.yaxis.label]
    for text in written:
        assert isinstance(text, Text)
        box = text.get_window_extent()
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1, text
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1, text


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "pass X, contrast or limits"),
        ({"limits": [(0, 1)]}, r"2 pairs \(lower, upper\)"),
        ({"limits": [(0, 1), (1, 0)]}, r"2 pairs \(lower, upper\)"),
        ({"limits": [(0, 1)] * 2, "polynomials": 7}, "numbers from 0 to 0"),
        ({"limits": [(0, 1)] * 2, "polynomials": []}, "at least one"),
        ({"limits": [(0, 1)] * 2, "kind": "curve"}, "two or more equations in three variables"),
        ({"limits": [(0, 1)] * 2, "kind": "line"}, "kind must be"),
        ({"limits": [(0, 1)] * 2, "resolution": 1}, "at least 2, got 1"),
        ({"limits": [(0, 1)] * 2, "feature_names": ["a"]}, "expected 2 feature names"),
    ],
)
def test_errors_say_what_was_expected(parameters, message):
    _, ideal = fitted("circle", 2)
    with pytest.raises(ValueError, match=message):
        ZeroSetDisplay.from_estimator(ideal, **parameters)


def test_what_cannot_be_drawn_is_refused():
    X, ideal = fitted("rational-normal-curve", 2)
    with pytest.raises(ValueError, match="2 or 3 variables, the ideal has 4"):
        ZeroSetDisplay.from_estimator(ideal, X)
    X, ideal = fitted("viviani", 2)
    with pytest.raises(ValueError, match="sign_regions shows one polynomial in two variables"):
        ZeroSetDisplay.from_estimator(ideal, X, sign_regions=True)
    with pytest.raises(ValueError, match='projection="3d"'):
        ZeroSetDisplay.from_estimator(ideal, X, ax=plt.subplots()[1])
    noise = np.random.default_rng(0).normal(size=(50, 2))
    nothing = VanishingIdeal(max_degree=1, tol=1e-6).fit(noise)
    with pytest.raises(ValueError, match=r"nothing vanishes.*smallest extent"):
        ZeroSetDisplay.from_estimator(nothing, noise)


def test_space_without_zeros_within_the_limits_is_empty():
    X = make_variety("viviani", 300, random_state=0)
    basis = VanishingIdeal(max_degree=2, tol=1e-9).fit(X).basis_
    far = np.array([[50.0, 51.0], [50.0, 51.0], [50.0, 51.0]])
    assert common_zeros(basis, far, 8).shape[0] == 0
    assert len(common_zeros(basis, np.array([[-2.0, 2.0]] * 3), 12))


def test_axes_of_the_user_are_drawn_on():
    X = make_variety("circle", 100, random_state=0)
    _, ax = plt.subplots()
    display = ZeroSetDisplay.from_estimator(VanishingIdeal(tol=1e-9).fit(X), X, ax=ax)
    assert display.ax_ is ax
    plt.close("all")


def test_surfaces_outside_of_the_limits_in_columns_of_other_units():
    X = make_variety("viviani", 300, random_state=0) * [1.0, 1.0, 1000.0]
    ideal = VanishingIdeal(max_degree=2, tol=1e-6).fit(X)
    display = ZeroSetDisplay.from_estimator(ideal, limits=[(50, 51), (50, 51), (9e4, 9.1e4)])
    assert not display.ax_.collections
    plt.close("all")
