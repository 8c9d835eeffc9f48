"""Layers of torch compute what transform computes, with gradients; networks are cut."""

import copy

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, make_circles
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from tests.support.cases import KNOWN_IDEALS, NORMALIZATIONS, fit
from vanishing import ClassVanishingFeatures, VanishingDetector, VanishingIdeal

torch = pytest.importorskip("torch")
layers = pytest.importorskip("vanishing.layers")
VanishingLayer, cut_network = layers.VanishingLayer, layers.cut_network


def noisy_surface(n_rows=400):
    """Near z = x y and w = x + y."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 4))
    X[:, 2] = X[:, 0] * X[:, 1] + 0.05 * rng.standard_normal(n_rows)
    X[:, 3] = X[:, 0] + X[:, 1] + 0.05 * rng.standard_normal(n_rows)
    return X


def around(X):
    """Points beside the surface, where values are as large as the terms they are sums of."""
    return X + np.random.default_rng(1).standard_normal(X.shape)


def class_features(max_degree=2, tol=0.3):
    X, y = load_iris(return_X_y=True)
    ideal = VanishingIdeal(max_degree=max_degree, tol=tol, normalization="contrastive")
    model = make_pipeline(StandardScaler(), PCA(3), ClassVanishingFeatures(ideal))
    return model.fit(X, y), X


def relative_error(found, expected):
    return np.max(np.abs(found.detach().numpy() - expected)) / np.max(np.abs(expected))


# --- Values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_degree", [1, 2, 3])
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_same_as_transform(normalization, max_degree):
    X = noisy_surface()
    ideal = fit(X, normalization, max_degree=max_degree, tol=0.2)
    assert len(ideal.extents_)
    double = VanishingLayer(ideal, dtype=torch.float64)
    assert relative_error(double(torch.tensor(X)), ideal.transform(X)) < 1e-13
    single = around(X).astype(np.float32)
    found = VanishingLayer(ideal)(torch.tensor(single))
    assert found.dtype == torch.float32
    assert relative_error(found, ideal.transform(single.astype(np.float64))) < 1e-6
    assert relative_error(found, ideal.transform(single)) < 1e-6


@pytest.mark.filterwarnings("ignore::vanishing.ideal.InterpolationWarning")  # of twelve points
@pytest.mark.parametrize("known", KNOWN_IDEALS, ids=lambda known: known.name)
def test_same_as_transform_on_exact_ideals(known):
    ideal = fit(known.points, "gradient", max_degree=known.max_degree, tol=1e-9)
    layer = VanishingLayer(ideal, output="signed", dtype=torch.float64)
    expected = ideal.transform(known.off_points, output="signed")
    assert relative_error(layer(torch.tensor(known.off_points)), expected) < 1e-12


@pytest.mark.parametrize("max_degree", [1, 2, 3, 4])
def test_pipelines_of_class_features(max_degree):
    model, X = class_features(max_degree)
    layer = VanishingLayer(model, dtype=torch.float64)
    assert (layer.in_features, layer.out_features) == (4, model.transform(X).shape[1])
    assert relative_error(layer(torch.tensor(X)), model.transform(X)) < 1e-13
    single = X.astype(np.float32)
    found = VanishingLayer(model)(torch.tensor(single))
    assert relative_error(found, model.transform(single.astype(np.float64))) < 1e-6


def test_single_precision_far_from_the_origin():
    X = noisy_surface() + 1000
    ideal = fit(X, "gradient", tol=0.2)
    single = around(X).astype(np.float32)
    expected = ideal.transform(single.astype(np.float64))
    assert relative_error(VanishingLayer(ideal)(torch.tensor(single)), expected) < 1e-6
    # A float32 evaluation that does not subtract the mean first has lost four digits more.
    assert relative_error(torch.tensor(ideal.transform(single)), expected) > 1e-5


def test_basis_gives_signed_values():
    X = noisy_surface()
    ideal = VanishingIdeal(tol=0.2).fit(X)
    layer = VanishingLayer(ideal.basis_, dtype=torch.float64)
    expected = ideal.transform(X, output="signed")
    assert relative_error(layer(torch.tensor(X)), expected) < 1e-13
    signed = VanishingLayer(VanishingIdeal(tol=0.2, output="signed").fit(X), dtype=torch.float64)
    assert torch.equal(signed(torch.tensor(X)), layer(torch.tensor(X)))


def test_ideals_of_a_detector():
    X = noisy_surface()
    detector = VanishingDetector(ideal=VanishingIdeal(max_degree=2, tol=0.5)).fit(X)
    (ideals, *_) = detector.ideals_
    layer = VanishingLayer(ideals, dtype=torch.float64)
    expected = np.hstack([ideal.transform(X) for ideal in ideals])
    assert relative_error(layer(torch.tensor(X)), expected) < 1e-13


def test_ideals_that_end_at_different_degrees():
    X = noisy_surface()
    ideals = [VanishingIdeal(max_degree=d, tol=t).fit(X) for d, t in [(3, 0.3), (1, 0.9), (2, 0.3)]]
    exact = VanishingIdeal(max_degree=3, tol=0.3).fit(X[:, [0, 1, 2, 2]])  # nothing above degree 1
    empty = VanishingIdeal(max_degree=2, tol=0.0).fit(X)
    layer = VanishingLayer([*ideals, exact, empty], dtype=torch.float64)
    expected = np.hstack([ideal.transform(X) for ideal in [*ideals, exact, empty]])
    assert relative_error(layer(torch.tensor(X)), expected) < 1e-12


def test_any_leading_axes():
    model, X = class_features()
    layer = VanishingLayer(model)
    x = torch.tensor(X, dtype=torch.float32)
    expected = layer(x)
    torch.testing.assert_close(layer(x.reshape(5, 30, 4)), expected.reshape(5, 30, -1))
    torch.testing.assert_close(layer(x[0]), expected[0])
    assert layer(x[:0]).shape == (0, layer.out_features)


def test_ideal_without_polynomials():
    empty = VanishingIdeal(max_degree=1, tol=0.0).fit(noisy_surface())
    layer = VanishingLayer(empty)
    assert layer(torch.zeros(3, 4)).shape == (3, 0)


# --- Gradients ------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_degree", [1, 2, 3])
def test_gradients_in_points_and_coefficients(max_degree):
    model, X = class_features(max_degree)
    layer = VanishingLayer(model, trainable=True, dtype=torch.float64)
    x = torch.tensor(X[::50] + 0.1, requires_grad=True)
    names = [name for name, _ in layer.named_parameters()]

    def evaluate(points, *coefficients):
        given = dict(zip(names, coefficients, strict=True))
        return torch.func.functional_call(layer, given, (points,))

    assert torch.autograd.gradcheck(layer, (x,))
    assert torch.autograd.gradcheck(evaluate, (x, *layer.parameters()), fast_mode=True)


def test_gradient_is_the_jacobian():
    X = noisy_surface(5)
    ideal = VanishingIdeal(tol=0.2, output="signed").fit(noisy_surface())
    layer = VanishingLayer(ideal, dtype=torch.float64)
    found = torch.func.vmap(torch.func.jacrev(layer))(torch.tensor(X))
    np.testing.assert_allclose(found, ideal.basis_.jacobian(X), rtol=1e-9, atol=1e-12)


def test_coefficients_are_trained_only_if_wanted():
    model, X = class_features()
    layer = VanishingLayer(model)
    assert not any(each.requires_grad for each in layer.parameters())
    trainable = VanishingLayer(model, trainable=True)
    before = copy.deepcopy(trainable.state_dict())
    descent = torch.optim.SGD(trainable.parameters(), 1e-3)
    trainable(torch.tensor(X, dtype=torch.float32)).sum().backward()
    descent.step()
    changed = [
        name for name, value in trainable.named_parameters() if (value != before[name]).any()
    ]
    assert changed == [name for name, _ in trainable.named_parameters()]


def test_coefficients_are_no_more_than_the_polynomials_have():
    X = noisy_surface()
    ideal = VanishingIdeal(max_degree=2, tol=0.2).fit(X)
    (first, second) = ideal.basis_.blocks
    n_lower = first.nonvanishing.shape[1]
    expected = (4 + 1) * (n_lower + first.vanishing.shape[1])
    expected += (n_lower + second.n_candidates + 1) * second.vanishing.shape[1]
    assert sum(each.numel() for each in VanishingLayer(ideal).parameters()) == expected


# --- What torch does with modules -----------------------------------------------------------------


def test_state_dict():
    X = noisy_surface()
    first, second = (VanishingIdeal(tol=0.2).fit(points) for points in (X, 2 * X[::-1] + 1))
    source, target = VanishingLayer(first), VanishingLayer(second)
    x = torch.tensor(X, dtype=torch.float32)
    assert not torch.equal(source(x), target(x))
    target.load_state_dict(source.state_dict())
    assert torch.equal(source(x), target(x))
    assert torch.equal(source(x), copy.deepcopy(source)(x))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_compiles_as_one_graph(backend):
    model, X = class_features(3)
    layer = VanishingLayer(model, trainable=True, dtype=torch.float64)
    compiled = torch.compile(layer, backend=backend, fullgraph=True)
    x = torch.tensor(X, requires_grad=True)
    torch.testing.assert_close(compiled(x), layer(x), rtol=1e-10, atol=1e-12)
    compiled(x).sum().backward()
    found, x.grad = x.grad, None
    layer(x).sum().backward()
    torch.testing.assert_close(found, x.grad, rtol=1e-9, atol=1e-10)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_exports_for_any_number_of_points():
    model, X = class_features()
    layer = VanishingLayer(model)
    x = torch.tensor(X, dtype=torch.float32)
    rows = torch.export.Dim("rows", min=1)
    exported = torch.export.export(layer, (x[:7],), dynamic_shapes=({0: rows},))
    torch.testing.assert_close(exported.module()(x), layer(x))


def test_moves_to_devices_and_precisions():
    model, X = class_features()
    layer = VanishingLayer(model).to("meta")
    assert layer(torch.empty(5, 4, device="meta")).shape == (5, layer.out_features)
    tensors = [*layer.parameters(), *layer.buffers()]
    assert {each.device.type for each in tensors} == {"meta"}
    half = VanishingLayer(model, dtype=torch.bfloat16)
    assert half(torch.tensor(X, dtype=torch.bfloat16)).dtype == torch.bfloat16


@pytest.mark.gpu
def test_same_on_a_gpu():
    model, X = class_features(3)
    layer = VanishingLayer(model, device="cuda", dtype=torch.float64)
    found = layer(torch.tensor(X, device="cuda"))
    assert relative_error(found.cpu(), model.transform(X)) < 1e-12


def test_making_a_layer_draws_no_random_numbers():
    model, _ = class_features()
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    VanishingLayer(model)
    assert torch.rand(1) == expected


def test_printed():
    model, _ = class_features()
    assert "in_features=4, out_features=" in repr(VanishingLayer(model))


# --- Bad input ------------------------------------------------------------------------------------


def test_points_of_the_wrong_width():
    layer = VanishingLayer(class_features()[0])
    with pytest.raises(ValueError, match=r"expected points with 4 coordinates, got .*\(5, 3\)"):
        layer(torch.zeros(5, 3))


def test_models_that_are_no_ideals():
    X = noisy_surface()
    with pytest.raises(TypeError, match=r"got VanishingDetector; .* detector.ideals_\[0\]"):
        VanishingLayer(VanishingDetector().fit(X))
    with pytest.raises(TypeError, match="got list"):
        VanishingLayer([])
    with pytest.raises(NotFittedError):
        VanishingLayer(VanishingIdeal())
    with pytest.raises(NotFittedError):
        VanishingLayer(ClassVanishingFeatures())
    ideal = VanishingIdeal().fit(X)
    with pytest.raises(ValueError, match=r"same variables, got ideals in \[2, 4\]"):
        VanishingLayer([ideal, VanishingIdeal().fit(X[:, :2])])
    with pytest.raises(ValueError, match="output must be 'abs' or 'signed', got 'squared'"):
        VanishingLayer(ideal, output="squared")
    with pytest.raises(ValueError, match="FunctionTransformer"):
        VanishingLayer(make_pipeline(FunctionTransformer(), ideal))


# --- Cut networks ---------------------------------------------------------------------------------


def digits():
    X, y = load_digits(return_X_y=True)
    return torch.tensor(X / 16, dtype=torch.float32).reshape(-1, 1, 8, 8), y


def random_body():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 12, 3), torch.nn.ReLU(), torch.nn.BatchNorm2d(12), torch.nn.Dropout(0.5)
    )


def share_right(network, images, y):
    with torch.no_grad():
        return float((network(images).argmax(1).numpy() == y).mean())


@pytest.mark.parametrize("linear", [True, False])
def test_cut_network_classifies(linear):
    images, y = digits()
    body = random_body()
    cut = cut_network(body, images[:1000], y[:1000], linear=linear, C=0.1)
    assert cut.body is body
    assert not cut.training
    assert cut(images[:3]).shape == (3, 10)
    assert share_right(cut, images[1000:], y[1000:]) > (0.9 if linear else 0.87)


def test_cut_network_is_what_its_parts_are():
    images, y = digits()
    cut = cut_network(random_body(), images[:500], y[:500], linear=False, n_components=10)
    latent = cut.flatten(cut.pool(cut.body(images)))
    assert latent.shape[1] == 12 * 3 * 3 == cut.polynomials.in_features
    torch.testing.assert_close(cut(images), cut.classify(cut.polynomials(latent)))


def test_training_the_polynomials_improves_the_fit():
    images, y = digits()
    cut = cut_network(random_body(), images[:600], y[:600], linear=False)
    cut.polynomials.requires_grad_(True)
    labels = torch.tensor(y[:600])
    losses = []
    trained = [*cut.polynomials.parameters(), *cut.classify.parameters()]
    descent = torch.optim.Adam(trained, 1e-3)
    for _ in range(20):
        loss = torch.nn.functional.cross_entropy(cut(images[:600]), labels)
        descent.zero_grad()
        loss.backward()
        descent.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


def test_fewer_polynomials_and_samples():
    images, y = digits()
    cut = cut_network(random_body(), images, y, linear=False, max_polynomials=3, max_samples=50)
    assert cut.polynomials.out_features == 30


def test_the_same_seed_gives_the_same_network():
    images, y = digits()
    first, second = (
        cut_network(random_body(), images, y, max_samples=100, random_state=seed) for seed in (0, 0)
    )
    torch.testing.assert_close(first(images[:5]), second(images[:5]), rtol=0, atol=0)


def test_two_classes_with_names():
    X, y = make_circles(400, factor=0.5, noise=0.05, random_state=0)
    names = np.array(["outer", "inner"])[y]
    cut = cut_network(torch.nn.Identity(), X, names, n_components=2, linear=False, C=1.0)
    found = np.unique(names)[cut(torch.tensor(X, dtype=torch.float32)).argmax(1)]
    assert np.mean(found == names) > 0.99


def test_all_coordinates_are_kept_in_any_units():
    """Without principal components the coordinates are standardized."""
    X, y = make_circles(400, factor=0.5, noise=0.05, random_state=0)
    points = X * [1e3, 1e-3] + [5e3, 0.0]
    cut = cut_network(torch.nn.Identity(), points, y, n_components=None, linear=False, C=1.0)
    assert cut.polynomials.in_features == 2
    assert share_right(cut, torch.tensor(points, dtype=torch.float32), y) > 0.99


def test_integers_are_not_made_floats():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    tokens = rng.integers(0, 5, (300, 6)) + 3 * y[:, None]
    torch.manual_seed(0)
    body = torch.nn.Sequential(torch.nn.Embedding(8, 4), torch.nn.Flatten())
    ideal = VanishingIdeal(max_degree=1, tol=0.9, normalization="contrastive")
    cut = cut_network(body, tokens, y, ideal=ideal, n_components=6)
    assert share_right(cut, torch.tensor(tokens), y) > 0.9


def test_precision_of_the_body():
    images, y = digits()
    cut = cut_network(random_body().double(), images[:300], y[:300])
    assert cut(images[:2].double()).dtype == torch.float64


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"n_components": 500}, "n_components=500 .* 200 latent vectors of 108 coordinates"),
        ({"n_components": 0}, "n_components must be a whole number of at least 1, got 0"),
        ({"pool": 0}, "pool must be a whole number of at least 1, got 0"),
        ({"ideal": VanishingIdeal(max_degree=1, tol=1e-9)}, "no polynomial vanishes .* raise tol"),
        (
            {"body": torch.nn.Unflatten(1, (1, 1))},
            r"body must return tensors .* got \(1, 1, 1, 8",
        ),
        ({"y": np.zeros(3)}, "X has 200 samples, but y has 3 labels"),
    ],
    ids=["components", "none", "pool", "tol", "body", "labels"],
)
def test_cuts_that_cannot_be_made(changed, complaint):
    images, y = digits()
    given = {"body": random_body(), "X": images[:200], "y": y[:200]} | changed
    with pytest.raises(ValueError, match=complaint):
        cut_network(given.pop("body"), given.pop("X"), given.pop("y"), **given)


def test_nonvanishing_polynomials_are_refused():
    ideal = VanishingIdeal(output="nonvanishing").fit(np.random.default_rng(0).normal(size=(50, 2)))
    with pytest.raises(ValueError, match="set its output to 'abs' or 'signed'"):
        VanishingLayer(ideal)
