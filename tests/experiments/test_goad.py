"""GOAD, the deep baseline of the experiments: maps, formulas, small trainings on the CPU."""

import pickle
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

torch = pytest.importorskip("torch")
pytest.importorskip("experiments", reason="experiments are in the repository only")

from experiments.images.goad import GOAD  # noqa: E402
from experiments.images.goad.loss import (  # noqa: E402
    center_triplet_loss,
    cross_entropy,
    log_probabilities,
    squared_distances,
)
from experiments.images.goad.network import WideResidualNetwork  # noqa: E402
from experiments.images.goad.transformations import (  # noqa: E402
    geometric_transformations,
    index_table,
    transformed,
)


def shaded(n_images, seed):
    """Images that get brighter from left to right, and noise: which way is up can be told."""
    rng = np.random.default_rng(seed)
    ramp = np.linspace(0, 200, 8)[np.newaxis, np.newaxis, :]
    return (ramp + rng.uniform(0, 55, size=(n_images, 8, 8))).astype(np.uint8)


def blurred(n_images, seed):
    """Images of the same brightness that look the same from all sides."""
    rng = np.random.default_rng(seed)
    return (100 + rng.uniform(0, 55, size=(n_images, 8, 8))).astype(np.uint8)


def small(**parameters):
    settings = {
        "image_shape": (8, 8),
        "epochs": 2,
        "n_transformations": 4,
        "shift": 3,
        "widen_factor": 1,
        "device": "cpu",
    }
    return GOAD(**(settings | parameters))


@pytest.fixture(scope="module")
def fitted():
    return small(epochs=4).fit(shaded(160, seed=0))


def test_72_maps_are_distinct_and_right():
    image = np.random.default_rng(0).integers(256, size=(28, 28), dtype=np.uint8)
    table = index_table(geometric_transformations((28, 28), shift=8), 784)
    copies = transformed(torch.tensor(image.reshape(1, -1)), table)
    assert copies.shape == (1, 72, 784)
    assert copies.dtype == torch.uint8

    expected = []
    for flip, dy, dx, turns in product((False, True), (0, -8, 8), (0, -8, 8), range(4)):
        flipped = image[:, ::-1] if flip else image
        window = np.pad(flipped, 8, mode="reflect")[8 - dy : 36 - dy, 8 - dx : 36 - dx]
        expected.append(np.rot90(window, turns).reshape(-1))
    np.testing.assert_array_equal(copies[0].numpy(), expected)
    assert len({copy.tobytes() for copy in expected}) == 72


@pytest.mark.parametrize(("widen_factor", "n_parameters"), [(1, 76_912), (4, 1_195_952)])
def test_network_is_a_wide_residual_network_of_depth_10(widen_factor, n_parameters):
    network = WideResidualNetwork(widen_factor)
    assert sum(parameter.numel() for parameter in network.parameters()) == n_parameters
    features = network(torch.zeros(2, 28, 28))
    assert features.shape == (2, 64 * widen_factor)
    assert features.dtype == torch.float32
    convolutions = [m for m in network.modules() if isinstance(m, torch.nn.Conv2d)]
    assert sum(layer.kernel_size == (3, 3) for layer in convolutions) == 7


def features_and_centers(n_images=5, n_maps=6, n_features=3):
    rng = np.random.default_rng(0)
    return 4 + rng.normal(size=(n_images, n_maps, n_features)), 4 + rng.normal(size=(n_maps, 3))


def plain_distances(features, centers):
    return np.array([[[np.sum((f - c) ** 2) for c in centers] for f in fs] for fs in features])


def test_triplet_loss_is_the_formula():
    features, centers = features_and_centers()
    losses = []
    for per_image in plain_distances(features, centers):
        for m, d in enumerate(per_image):
            losses.append(max(0, d[m] + 0.7 - min(np.delete(d, m))))
    assert 0 in losses
    distances = squared_distances(torch.tensor(features), torch.tensor(centers))
    np.testing.assert_allclose(center_triplet_loss(distances, margin=0.7), np.mean(losses))


def test_cross_entropy_is_that_of_torch():
    logits = torch.tensor(features_and_centers(n_features=6)[0])
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.arange(6).repeat(5))
    torch.testing.assert_close(cross_entropy(logits), expected)


@pytest.mark.parametrize("smoothing", [0, 1e-3])
def test_probabilities_are_the_formula(smoothing):
    features, centers = features_and_centers()
    expected = []
    for per_image in np.exp(-plain_distances(features, centers)):
        for m, e in enumerate(per_image):
            expected.append(np.log((e[m] + smoothing) / (e.sum() + 6 * smoothing)))
    distances = squared_distances(torch.tensor(features), torch.tensor(centers))
    found = log_probabilities(distances, smoothing).flatten()
    np.testing.assert_allclose(found, expected)


def test_probabilities_far_from_all_centers_are_those_of_the_smoothing():
    distances = torch.full((1, 6, 6), 1e6)
    torch.testing.assert_close(log_probabilities(distances, 1e-6).exp(), torch.full((1, 6), 1 / 6))


def test_training_lowers_the_loss(fitted):
    assert fitted.loss_curve_.shape == (4,)
    assert fitted.loss_curve_[-1] < fitted.loss_curve_[0] / 2


def test_images_without_direction_are_anomalous_among_shaded_ones(fitted):
    new = np.concatenate([shaded(40, seed=1), blurred(40, seed=2)])
    scores = fitted.score_samples(new)
    assert scores.shape == (80,)
    assert roc_auc_score([1] * 40 + [0] * 40, scores) > 0.95


def test_scores_are_made_of_features_and_centers(fitted):
    images = shaded(3, seed=1)
    mean, deviation = shaded(160, seed=0).mean(), shaded(160, seed=0).std()
    expected = np.zeros(3)
    for m in range(4):
        copies = torch.tensor((np.rot90(images, m, axes=(1, 2)) - mean) / deviation)
        with torch.no_grad():
            features = fitted.network_(copies.float()).double()
        e = torch.exp(-(features[:, None] - fitted.centers_.double()).square().sum(dim=2)).numpy()
        expected += np.log((e[:, m] + 1e-6) / (e.sum(axis=1) + 4e-6))
    np.testing.assert_allclose(fitted.score_samples(images), expected, rtol=1e-4, atol=1e-5)


def test_centers_are_means_over_the_training_images(fitted):
    images = shaded(160, seed=0)
    copies = np.rot90((images - images.mean()) / images.std(), axes=(1, 2))
    with torch.no_grad():
        features = fitted.network_(torch.tensor(copies.copy()).float())
    torch.testing.assert_close(fitted.centers_[1], features.mean(dim=0), rtol=1e-4, atol=1e-5)


def test_all_72_transformations():
    model = small(n_transformations=None, epochs=1, batch_size=4).fit(shaded(8, seed=0))
    assert model.centers_.shape == (72, 64)
    assert np.isfinite(model.score_samples(blurred(2, seed=0))).all()


def test_same_seed_same_scores_and_the_caller_s_random_numbers_are_left_alone():
    images = shaded(33, seed=0)
    state = torch.get_rng_state()
    first, second = (small(seed=3).fit(images).score_samples(images) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert torch.equal(torch.get_rng_state(), state)
    assert not np.array_equal(first, small(seed=4).fit(images).score_samples(images))


def test_scores_do_not_depend_on_the_batch(fitted):
    images = np.concatenate([shaded(21, seed=5), blurred(20, seed=6)])
    alone = np.concatenate([fitted.score_samples(image[np.newaxis]) for image in images])
    np.testing.assert_allclose(fitted.score_samples(images), alone, rtol=1e-4, atol=1e-4)


def test_form_and_scale_of_the_images_do_not_matter():
    images = shaded(20, seed=0)
    expected = small().fit(images).score_samples(images)
    other = images.reshape(20, 64) / 255
    other.setflags(write=False)
    found = small().fit(other).score_samples(other.tolist())
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_clone_and_pickle(fitted):
    images = blurred(3, seed=0)
    assert clone(fitted).get_params() == fitted.get_params()
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.score_samples(images), fitted.score_samples(images))


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((5, 28, 28)), r"shape \(n_images, 8, 8\).*got shape \(5, 28, 28\)"),
        (np.zeros(64), "shape"),
        (np.zeros((0, 8, 8)), "at least one image"),
        (np.zeros((1, 8, 8)), "at least two"),
        (np.ones((5, 8, 8)), "equal"),
        (np.full((5, 8, 8), np.nan), "NaN"),
        (np.full((5, 8, 8), 1e300), "too large"),
    ],
)
def test_images_that_do_not_fit_are_refused(images, message):
    with pytest.raises(ValueError, match=message):
        small().fit(images)


def test_images_must_be_numbers(fitted):
    with pytest.raises(TypeError, match="real numbers"):
        fitted.score_samples(np.full((2, 64), "a"))


@pytest.mark.parametrize(
    "parameters",
    [
        {"epochs": 0},
        {"batch_size": 1},
        {"learning_rate": -1.0},
        {"margin": -1.0},
        {"smoothing": -1e-6},
        {"n_transformations": 73},
        {"shift": 7},
        {"image_shape": (8, 8, 1)},
        {"image_shape": (4, 16)},
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters)).split("_")[0]):
        small(**parameters).fit(shaded(4, seed=0).reshape(4, 64))


def test_scores_need_a_fit():
    with pytest.raises(NotFittedError):
        small().score_samples(shaded(2, seed=0))


def test_divergence_is_told():
    with pytest.raises(RuntimeError, match="lower it"):
        small(learning_rate=1e30).fit(shaded(64, seed=0))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda():
    images = shaded(160, seed=0)
    new = np.concatenate([shaded(40, seed=1), blurred(40, seed=2)])
    first, second = (
        small(epochs=4, device="cuda").fit(images).score_samples(new) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    assert roc_auc_score([1] * 40 + [0] * 40, first) > 0.95
