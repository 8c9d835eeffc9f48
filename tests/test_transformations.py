"""Sets of transformations: group laws, every array library, what is refused."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from tests.support.cases import BACKENDS, tensor, to_numpy
from vanishing.transformations import (
    AnyOf,
    Flips,
    FunctionTransformation,
    Identity,
    Product,
    RandomAffine,
    Rotations,
    Transformation,
    Transformations,
    Translations,
)

SHAPE = (4, 4)
WIDTH = 16


def doubled(block):
    return 2 * block


def squared(block):
    return block * block


SETS = {
    "rotations": Rotations(SHAPE),
    "rotations of two": Rotations(SHAPE, angles=(0, -90)),
    "translations": Translations(SHAPE, shift=2),
    "translations without identity": Translations(SHAPE, shift=1, identity=False),
    "flips": Flips(SHAPE),
    "channels": Rotations((2, 2, 4)),
    "channels shifted": Translations((4, 4, 1), shift=1),
    "product": Product(Rotations(SHAPE), Translations(SHAPE, shift=1)),
    "mixed product": Product(Flips(SHAPE), RandomAffine(2), Flips(SHAPE)),
    "union": AnyOf(Rotations(SHAPE), Translations(SHAPE, shift=1, identity=False)),
    "random affine": RandomAffine(3, random_state=5),
    "identity": Identity(),
    "callable": FunctionTransformation([doubled, squared], names=["twice", "square"]),
}
SIZES = (4, 2, 9, 8, 4, 4, 9, 36, 32, 12, 3, 1, 2)
TURNED = Product(Rotations(SHAPE), RandomAffine(1))
IMAGE_SETS = [name for name in SETS if not {"affine", "callable", "mixed"} & set(name.split())]


def block(n_rows=7, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).standard_normal((n_rows, WIDTH)).astype(dtype)


def named(transformations, n_features=WIDTH):
    return {t.name: t for t in transformations.for_width(n_features)}


# --- every set ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "size"), list(zip(SETS, SIZES, strict=True)))
def test_size_names_and_types(name, size):
    single = SETS[name].for_width(WIDTH)
    assert isinstance(SETS[name], Transformations)
    assert isinstance(single, tuple)
    assert len(single) == size
    assert all(isinstance(t, Transformation) for t in single)
    assert len({t.name for t in single}) == size


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SETS)
def test_backends_agree_and_keep_library_dtype_and_input(name, backend, dtype):
    X = block(dtype=dtype)
    x = BACKENDS[backend](X.copy())
    for t in SETS[name].for_width(WIDTH):
        image = t(x)
        assert type(image) is type(x)
        assert image.dtype == x.dtype
        assert image.shape == x.shape
        np.testing.assert_allclose(to_numpy(image), t(X), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(to_numpy(x), X)


@pytest.mark.parametrize("name", SETS)
def test_work_stays_on_the_device_of_the_block(name):
    # torch's device without memory: mixing it with another one raises.
    x = tensor(block()).to("meta")
    for t in SETS[name].for_width(WIDTH):
        assert t(x).device.type == "meta"
        assert t(x).shape == x.shape


@pytest.mark.parametrize("name", SETS)
def test_result_shares_no_memory_with_the_input(name):
    X = block()
    for t in SETS[name].for_width(WIDTH):
        assert not np.shares_memory(t(X), X)


@pytest.mark.parametrize("name", SETS)
@given(data=st.data())
def test_image_of_a_row_depends_on_that_row_only(name, data):
    X = block(9)
    rows = data.draw(st.lists(st.integers(0, 8), min_size=1, max_size=12))
    for t in SETS[name].for_width(WIDTH):
        np.testing.assert_allclose(t(X[rows]), t(X)[rows], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_empty_block(name):
    for t in SETS[name].for_width(WIDTH):
        assert t(block(0)).shape == (0, WIDTH)


@pytest.mark.parametrize("restore", [lambda o: pickle.loads(pickle.dumps(o)), copy.deepcopy])
@pytest.mark.parametrize("name", SETS)
def test_saved_and_restored(name, restore):
    original = SETS[name]
    restored = restore(original)
    assert restored == original
    assert hash(restored) == hash(original)
    assert repr(restored) == repr(original)
    X = block()
    for a, b in zip(original.for_width(WIDTH), restore(original.for_width(WIDTH)), strict=True):
        assert a == b
        assert hash(a) == hash(b)
        assert a.name == b.name
        np.testing.assert_array_equal(a(X), b(X))


@pytest.mark.parametrize("name", SETS)
def test_scikit_learn_clones_it(name):
    assert clone(SETS[name], safe=False) == SETS[name]


def test_different_sets_differ():
    assert all(SETS[a] != SETS[b] for a in SETS for b in SETS if a != b)


@pytest.mark.parametrize("name", SETS)
def test_sets_and_maps_cannot_be_changed(name):
    for instance in (SETS[name], *SETS[name].for_width(WIDTH)):
        attribute = next(iter(vars(instance)), "anything")
        with pytest.raises(AttributeError):
            setattr(instance, attribute, None)


def test_arrays_are_read_only_also_after_a_round_trip():
    for t in (*Rotations(SHAPE).for_width(WIDTH), *RandomAffine().for_width(3)):
        for each in (t, pickle.loads(pickle.dumps(t)), copy.deepcopy(t)):
            arrays = [a for a in vars(each).values() if isinstance(a, np.ndarray)]
            assert arrays
            assert not any(a.flags.writeable for a in arrays)


# --- images -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", IMAGE_SETS)
def test_integer_pixels_stay_integers(name, backend, dtype):
    x = BACKENDS[backend](np.arange(2 * WIDTH, dtype=dtype).reshape(2, WIDTH))
    assert all(t(x).dtype == x.dtype for t in SETS[name].for_width(WIDTH))


def test_rotation_is_counterclockwise():
    image = np.arange(9.0).reshape(3, 3)
    for angle, t in zip((0, 90, 180, 270), Rotations((3, 3)).for_width(9), strict=True):
        assert t.name == f"rotated by {angle}°"
        np.testing.assert_array_equal(
            t(image.reshape(1, 9))[0], np.rot90(image, angle // 90).ravel()
        )


@given(side=st.integers(2, 6), channels=st.integers(1, 3), turns=st.integers(1, 3))
def test_rotations_form_a_group(side, channels, turns):
    shape, width = (side, side, channels), side * side * channels
    X = np.random.default_rng(0).standard_normal((3, width))
    rotations = Rotations(shape).for_width(width)
    quarter = rotations[1]
    Z = X
    for _ in range(turns):
        Z = quarter(Z)
    np.testing.assert_array_equal(Z, rotations[turns](X))
    for _ in range(4 - turns):
        Z = quarter(Z)
    np.testing.assert_array_equal(Z, X)


@given(height=st.integers(2, 6), width=st.integers(2, 6), channels=st.integers(1, 3))
def test_flips_are_commuting_involutions(height, width, channels):
    n = height * width * channels
    X = np.random.default_rng(0).standard_normal((3, n))
    unchanged, left_right, up_down, both = Flips((height, width, channels)).for_width(n)
    np.testing.assert_array_equal(unchanged(X), X)
    for flip in (left_right, up_down, both):
        np.testing.assert_array_equal(flip(flip(X)), X)
    np.testing.assert_array_equal(left_right(up_down(X)), both(X))
    np.testing.assert_array_equal(up_down(left_right(X)), both(X))
    images = X.reshape(3, height, width, channels)
    np.testing.assert_array_equal(left_right(X), images[:, :, ::-1].reshape(3, n))
    np.testing.assert_array_equal(up_down(X), images[:, ::-1].reshape(3, n))


def test_rectangles_turn_by_half():
    X = np.arange(6.0).reshape(1, 6)
    _, half = Rotations((2, 3), angles=(0, 180)).for_width(6)
    np.testing.assert_array_equal(half(X), X[:, ::-1])


def test_half_turn_is_both_flips():
    assert Rotations(SHAPE).for_width(WIDTH)[2] == Flips(SHAPE).for_width(WIDTH)[3]


def test_shift_by_hand():
    # One row of four pixels shown of an image whose rows are all alike: a b c d.
    image = np.tile([1, 2, 3, 4], (4, 1)).reshape(1, 16)
    shifts = named(Translations((4, 4), shift=2))
    to_the_right = shifts["shifted by (0, 2)"](image).reshape(4, 4)
    to_the_left = shifts["shifted by (0, -2)"](image).reshape(4, 4)
    np.testing.assert_array_equal(to_the_right, np.tile([3, 2, 1, 2], (4, 1)))
    np.testing.assert_array_equal(to_the_left, np.tile([3, 4, 3, 2], (4, 1)))
    np.testing.assert_array_equal(shifts["shifted by (2, 0)"](image), image)


@given(data=st.data())
def test_shift_moves_the_inside_and_reflects_the_border(data):
    height, width = data.draw(st.integers(3, 7)), data.draw(st.integers(3, 7))
    s = data.draw(st.integers(1, min(height, width) - 2))
    channels = data.draw(st.sampled_from([(), (1,), (3,)]))
    image = np.random.default_rng(0).standard_normal((height, width, *channels))
    padded = np.pad(image, ((s, s), (s, s), (0, 0))[: image.ndim], mode="reflect")
    shifts = named(Translations(image.shape, shift=s), image.size)
    assert len(shifts) == 9
    for dy in (-s, 0, s):
        for dx in (-s, 0, s):
            moved = shifts[f"shifted by ({dy}, {dx})"](image.reshape(1, -1)).reshape(image.shape)
            for y in range(height):
                for x in range(width):
                    expected = padded[y - dy + s, x - dx + s]
                    np.testing.assert_array_equal(moved[y, x], expected)
                    if 0 <= y - dy < height and 0 <= x - dx < width:
                        np.testing.assert_array_equal(moved[y, x], image[y - dy, x - dx])


def test_identity_comes_first_and_may_be_left_out():
    with_identity = Translations(SHAPE, shift=1).for_width(WIDTH)
    assert with_identity[0] == Identity().for_width(WIDTH)[0]
    assert Translations(SHAPE, shift=1, identity=False).for_width(WIDTH) == with_identity[1:]


@pytest.mark.parametrize(
    ("make", "kind"), [(Rotations, "square"), (Flips, "any"), (lambda s: Translations(s, 1), "any")]
)
def test_channels_move_together(make, kind):
    height, width = (4, 4) if kind == "square" else (4, 5)
    n = height * width
    images = np.random.default_rng(0).standard_normal((3, height, width, 3))
    colour = make((height, width, 3)).for_width(3 * n)
    grey = make((height, width)).for_width(n)
    for c, g in zip(colour, grey, strict=True):
        assert c.name == g.name
        result = c(images.reshape(3, -1)).reshape(3, n, 3)
        for channel in range(3):
            plane = images[..., channel].reshape(3, n)
            np.testing.assert_array_equal(result[..., channel], g(plane))


def test_image_shape_may_be_a_list_of_numpy_integers():
    assert Rotations(list(np.array([4, 4]))) == Rotations((4, 4))


# --- combinations -------------------------------------------------------------------------------


def test_product_applies_the_first_set_first():
    rotations, shifts = Rotations(SHAPE), Translations(SHAPE, shift=1)
    X = block()
    product = iter(Product(rotations, shifts).for_width(WIDTH))
    for r in rotations.for_width(WIDTH):
        for s in shifts.for_width(WIDTH):
            t = next(product)
            assert t.name == f"{r.name}, then {s.name}"
            np.testing.assert_array_equal(t(X), s(r(X)))


def test_product_with_maps_that_move_no_pixels():
    affine = RandomAffine(2)
    X = block()
    product = Product(Rotations(SHAPE), affine, FunctionTransformation([doubled])).for_width(WIDTH)
    assert len(product) == 8
    r, a = Rotations(SHAPE).for_width(WIDTH)[3], affine.for_width(WIDTH)[1]
    np.testing.assert_array_equal(product[-1](X), 2 * a(r(X)))
    assert product[-1].name == "rotated by 270°, then random affine map 2, then doubled"


def test_nested_products_are_one_product():
    a, b, c = Rotations(SHAPE, angles=(0, 90)), Flips(SHAPE), RandomAffine(2)
    flat = Product(a, b, c).for_width(WIDTH)
    for nested in (Product(Product(a, b), c), Product(a, Product(b, c))):
        assert nested.for_width(WIDTH) == flat
        assert [t.name for t in nested.for_width(WIDTH)] == [t.name for t in flat]


def test_symmetries_of_the_square_are_closed_under_composition():
    group = Product(Rotations(SHAPE, angles=(0, 90)), Flips(SHAPE))
    members = set(group.for_width(WIDTH))
    assert len(members) == 8
    X = np.arange(WIDTH, dtype=float)[None]
    images = {tuple(t(X)[0]) for t in members}
    assert {tuple(s(t(X))[0]) for s in members for t in members} == images


def test_union_keeps_the_order():
    rotations, shifts = Rotations(SHAPE), Translations(SHAPE, shift=1, identity=False)
    union = AnyOf(rotations, shifts).for_width(WIDTH)
    assert union == rotations.for_width(WIDTH) + shifts.for_width(WIDTH)


@pytest.mark.parametrize(
    ("twice", "message"),
    [
        (AnyOf(Rotations(SHAPE), Translations(SHAPE, shift=1)), r"by 0°' and 'shifted by \(0, 0\)"),
        (AnyOf(Rotations(SHAPE), Identity()), "'rotated by 0°' and 'unchanged'"),
        (AnyOf(Rotations(SHAPE, angles=(180,)), Flips(SHAPE)), "180°' and 'flipped both ways'"),
        (AnyOf(RandomAffine(2), RandomAffine(1)), "affine map 1' and 'random affine map 1'"),
        (
            AnyOf(FunctionTransformation([doubled]), FunctionTransformation([doubled], ["b"])),
            "'doubled' and 'b'",
        ),
        (AnyOf(TURNED, TURNED), "by 0°, then random affine map 1' and"),
        (Product(Rotations(SHAPE), Flips(SHAPE)), "'rotated by 180°, then flipped both ways'"),
        (Rotations(SHAPE, angles=(0, 90, 360)), "'rotated by 0°' and 'rotated by 360°'"),
        (Flips((1, 16)), "'not flipped' and 'flipped up-down'"),
    ],
)
def test_equal_maps_are_refused(twice, message):
    with pytest.raises(ValueError, match=message) as caught:
        twice.for_width(WIDTH)
    assert "are the same map" in str(caught.value)
    assert "leave one of the two out" in str(caught.value)


# --- random affine maps -------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 30])
def test_affine_is_affine(width):
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((2, 5, width))
    for t in RandomAffine().for_width(width):
        offset = t(np.zeros((1, width)))
        np.testing.assert_allclose(t(A + 2 * B) - offset, t(A) + 2 * t(B) - 3 * offset, atol=1e-11)
        expected = [t.matrix @ row + t.offset for row in A]
        np.testing.assert_allclose(t(A), expected, atol=1e-11)


def test_affine_seeds():
    X = block()

    def images(*parameters):
        return [t(X) for t in RandomAffine(*parameters).for_width(WIDTH)]

    np.testing.assert_array_equal(images(4, 0), images(4, 0))
    np.testing.assert_array_equal(images(6, 0)[:4], images(4, 0))
    assert not np.allclose(images(4, 0), images(4, 1))
    assert RandomAffine(np.int64(4), np.int64(0)) == RandomAffine() != RandomAffine(random_state=1)


def test_affine_entries_are_standard_gaussian():
    width = 100
    entries = np.concatenate(
        [t(np.vstack([np.zeros(width), np.eye(width)])) for t in RandomAffine(4).for_width(width)]
    ).reshape(4, width + 1, width)
    offsets, matrices = entries[:, 0], entries[:, 1:] - entries[:, :1]
    for values in (offsets, matrices):
        error = 5 / np.sqrt(values.size)
        assert abs(values.mean()) < error
        assert abs(values.var() - 1) < np.sqrt(2) * error


@pytest.mark.parametrize("backend", BACKENDS)
def test_affine_of_integers_is_in_double_precision(backend):
    X = np.arange(2 * WIDTH).reshape(2, WIDTH)
    t = RandomAffine(1).for_width(WIDTH)[0]
    image = to_numpy(t(BACKENDS[backend](X)))
    assert image.dtype == np.float64
    np.testing.assert_allclose(image, t(X.astype(float)))


# --- functions ----------------------------------------------------------------------------------


def test_functions_may_change_the_width():
    (t,) = FunctionTransformation([lambda x: x[:, :3]]).for_width(WIDTH)
    assert t.name == "function 1"
    assert t(block()).shape == (7, 3)


@pytest.mark.parametrize(
    ("function", "got"),
    [
        (lambda x: x[:-1], r"shape \(6, 16\)"),
        (lambda x: x[:, 0], r"shape \(7,\)"),
        (lambda x: None, "NoneType"),
    ],
)
def test_functions_must_return_a_row_for_each_row(function, got):
    (t,) = FunctionTransformation([function], names=["mine"]).for_width(WIDTH)
    with pytest.raises(ValueError, match=f"'mine' must return .* each of the 7 rows .*{got}"):
        t(block())


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Rotations, Flips, Translations])
def test_image_shape_that_does_not_fit_the_columns(make):
    with pytest.raises(
        ValueError,
        match=r"image shape \(28, 28\) has 784 pixels, the data has 64 columns; .*\(8, 8\)",
    ):
        make((28, 28)).for_width(64)


def test_image_shape_that_does_not_fit_in_a_combination():
    sets = AnyOf(Identity(), Product(Rotations((28, 28, 3)), RandomAffine()))
    with pytest.raises(ValueError, match="has 2352 pixel values, the data has 10 columns; pass"):
        sets.for_width(10)


@pytest.mark.parametrize("name", [n for n in SETS if n != "callable"])
def test_block_of_another_width(name):
    for t in SETS[name].for_width(WIDTH):
        for wrong in (np.zeros((3, WIDTH + 1)), np.zeros((3, WIDTH - 1)), np.zeros(WIDTH)):
            with pytest.raises(ValueError, match="was made for blocks of 16 columns, got an array"):
                t(wrong)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Rotations((4,)), ValueError, r"must be \(height, width\).*got \(4,\)"),
        (lambda: Rotations(16), ValueError, "must be .height, width.*got 16"),
        (lambda: Flips((4, 0)), ValueError, r"got \(4, 0\)"),
        (lambda: Flips((4, 4.5)), ValueError, r"got \(4, 4.5\)"),
        (lambda: Flips((2, 2, 2, 2)), ValueError, "image_shape must be"),
        (lambda: Rotations((4, 4), (0, 45)), ValueError, r"multiples of 90 degrees, got \(0, 45\)"),
        (lambda: Rotations((4, 4), ()), ValueError, "angles is empty"),
        (lambda: Rotations((4, 4), 90), TypeError, "sequence of angles, got 90"),
        (lambda: Rotations((4, 6)), ValueError, r"not square.*pass angles=\(0, 180\)"),
        (lambda: Translations((8, 8)), ValueError, r"got a shift of 8 .*\(8, 8\); .*at most 6"),
        (lambda: Translations((9, 4), 3), ValueError, "smaller than the image.*at most 2"),
        (lambda: Translations((2, 2), 1), ValueError, "use larger images"),
        (
            lambda: Translations((8, 8), 0),
            ValueError,
            "shift must be a whole number of at least 1, got 0",
        ),
        (
            lambda: Translations((8, 8), 1.5),
            ValueError,
            "shift must be a whole number of at least 1",
        ),
        (
            lambda: RandomAffine(0),
            ValueError,
            "n_transformations must be a whole number of at least 1",
        ),
        (lambda: RandomAffine(2.5), ValueError, "n_transformations .* got 2.5"),
        (
            lambda: RandomAffine(random_state=None),
            ValueError,
            "random_state must be a whole number",
        ),
        (lambda: RandomAffine(random_state=-1), ValueError, "at least 0, got -1"),
        (lambda: Product(), ValueError, "Product needs at least one set"),
        (lambda: AnyOf(), ValueError, "AnyOf needs at least one set"),
        (
            lambda: Product(doubled),
            TypeError,
            r"Product takes sets .*wrap functions in FunctionTransformation",
        ),
        (lambda: AnyOf([Identity()]), TypeError, "AnyOf takes sets of transformations"),
        (lambda: FunctionTransformation(doubled), TypeError, "put a single function into a list"),
        (lambda: FunctionTransformation([]), ValueError, "functions is empty"),
        (lambda: FunctionTransformation([doubled, 3]), TypeError, "must be callable, got 3"),
        (
            lambda: FunctionTransformation([doubled], ["a", "b"]),
            ValueError,
            "got 2 names for 1 functions",
        ),
    ],
)
def test_bad_parameters_are_refused_when_given(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.gpu
@pytest.mark.parametrize("name", SETS)
def test_on_a_gpu(name):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    X = block()
    x = torch.asarray(X, device="cuda")
    for t in SETS[name].for_width(WIDTH):
        image = t(x)
        assert image.device == x.device
        np.testing.assert_allclose(image.cpu().numpy(), t(X), atol=1e-12)
