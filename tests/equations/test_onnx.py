"""Graphs of ONNX give what the models give, under onnxruntime, for any number of rows."""

import json
import sys
from functools import cache

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, IncrementalPCA, KernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import LinearSVC
from tests.support.cases import NORMALIZATIONS, fit
from tests.support.paths import find_image_sets
from tests.support.processes import run_python

from vanishing import (
    ClassVanishingFeatures,
    TransformationDetector,
    VanishingDetector,
    VanishingIdeal,
    load,
)
from vanishing.detectors import ChristoffelDetector, image_detector
from vanishing.equations import onnx as onnx_model
from vanishing.equations import to_onnx
from vanishing.levels import BLOCK
from vanishing.transformations import (
    AnyOf,
    Flips,
    FunctionTransformation,
    Identity,
    Product,
    RandomAffine,
    Rotations,
    Translations,
)

TYPES = ("float32", "float64")
#: What is promised, relative to the largest number of an output.
ERROR = {"float32": 1e-6, "float64": 1e-12}
BATCHES = (0, 1, 7, 1000)


def session(model, **options):
    """A session of onnxruntime on the checked graph of a model."""
    graph = to_onnx(model, **options)
    onnx.checker.check_model(graph, full_check=True)
    chosen = onnxruntime.SessionOptions()
    chosen.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        graph.SerializeToString(), chosen, providers=["CPUExecutionProvider"]
    )


def run(opened, X):
    """All outputs of a session, by name."""
    names = [output.name for output in opened.get_outputs()]
    return dict(zip(names, opened.run(names, {"X": X}), strict=True))


def assert_close(found, expected, dtype):
    """Compare with what was computed in double precision."""
    assert found.dtype == np.dtype(dtype)
    assert found.shape == expected.shape
    largest = np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=ERROR[dtype] * largest)


def assert_scores_agree(detector, X, dtype, **options):
    """Compare scores, decisions and labels of a detector on batches of several sizes."""
    opened = session(detector, dtype=dtype, **options)
    for n_rows in sorted({min(n, len(X)) for n in BATCHES}):
        rows = X[:n_rows].astype(dtype)
        found = run(opened, rows)
        if n_rows == 0:
            assert [found[name].shape for name in ("scores", "decision", "label")] == [(0,)] * 3
            continue
        if isinstance(detector, Pipeline):  # detectors compute in double precision by themselves
            rows = rows.astype(np.float64)
        assert_close(found["scores"], detector.score_samples(rows), dtype)
        assert_close(found["decision"], detector.decision_function(rows), dtype)
        assert found["label"].dtype == np.int64
        np.testing.assert_array_equal(found["label"], detector.predict(rows))


def curve(n_samples=300, noise=0.02, seed=0):
    """Points near a curve in space, with a column of noise."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 6, n_samples)
    X = np.column_stack([np.cos(angle), np.sin(angle), np.cos(2 * angle)])
    X = X + noise * rng.normal(size=X.shape)
    return np.column_stack([X, rng.normal(size=n_samples)])


def points(n_samples=1000, n_features=4, seed=1):
    """Points anywhere."""
    return np.random.default_rng(seed).normal(size=(n_samples, n_features))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:240][y[:240] % 2 == 0], X[800:]


# --- polynomials and transformers --------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_ideal(normalization, degree, dtype):
    tol = {"coefficient": 0.3, "vca": 0.2}.get(normalization, 0.4)
    ideal = fit(curve(), normalization, max_degree=degree, tol=tol)
    assert degree == 1 or ideal.basis_.count() > 0
    opened = session(ideal, dtype=dtype)
    for n_rows in BATCHES:
        X = points(n_rows).astype(dtype)
        found = run(opened, X)
        expected = ideal.basis_.evaluate(X.astype(np.float64))
        assert_close(found["values"], expected, dtype)
        assert_close(found["features"], np.abs(expected), dtype)


def test_basis_has_signed_values():
    basis = fit(curve(), "gradient", tol=0.3).basis_
    found = run(session(basis, dtype="float64"), points(5))
    assert list(found) == ["values"]
    assert_close(found["values"], basis.evaluate(points(5)), "float64")


def test_features_are_what_transform_returns():
    ideal = VanishingIdeal(tol=0.3, output="signed").fit(curve())
    found = run(session(ideal, dtype="float64"), points())
    assert_close(found["features"], ideal.transform(points()), "float64")
    assert (found["features"] < 0).any()


@pytest.mark.parametrize("dtype", TYPES)
def test_nonvanishing_polynomials(dtype):
    ideal = VanishingIdeal(max_degree=3, tol=0.3, output="nonvanishing").fit(curve())
    X = curve(200, seed=1).astype(dtype)
    found = run(session(ideal, dtype=dtype), X)
    assert found["features"].shape == (200, len(ideal.get_feature_names_out()))
    assert_close(found["features"], ideal.transform(X.astype(np.float64)), dtype)
    np.testing.assert_array_equal(found["features"], found["values"])


def test_nothing_vanishes():
    ideal = VanishingIdeal(max_degree=1, tol=0.0).fit(curve())
    assert ideal.basis_.count() == 0
    for n_rows in (0, 3):
        found = run(session(ideal), points(n_rows).astype(np.float32))
        assert found["features"].shape == found["values"].shape == (n_rows, 0)


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_features=st.integers(1, 4),
    dimensions=st.lists(st.integers(0, 3), min_size=2, max_size=4),
    degree=st.integers(1, 3),
    tol=st.sampled_from([0.05, 0.3, 0.9]),
)
def test_classes_of_different_shape(seed, n_features, dimensions, degree, tol):
    """Bases with different numbers of polynomials and products are padded and stacked."""
    rng = np.random.default_rng(seed)
    classes = [
        rng.normal(size=(30, d)) @ rng.normal(size=(d, n_features)) + rng.normal(size=n_features)
        for d in dimensions
    ]
    X = np.concatenate(classes) + 0.01 * rng.normal(size=(30 * len(classes), n_features))
    ideal = VanishingIdeal(max_degree=degree, tol=tol)
    model = ClassVanishingFeatures(ideal).fit(X, np.repeat(np.arange(len(classes)), 30))
    found = run(session(model, dtype="float64"), X)
    assert_close(found["features"], model.transform(X), "float64")


# --- preprocessing -----------------------------------------------------------------------------

PREPROCESSING = {
    "standard": StandardScaler(),
    "not centred": StandardScaler(with_mean=False),
    "not scaled": StandardScaler(with_std=False),
    "robust": RobustScaler(),
    "min-max": MinMaxScaler((-1, 2)),
    "max-abs": MaxAbsScaler(),
    "pca": PCA(3),
    "whitened": PCA(4, whiten=True),
    "incremental": IncrementalPCA(3),
    "nested": Pipeline(
        [("a", StandardScaler()), ("b", make_pipeline(PCA(3), "passthrough")), ("c", None)]
    ),
}


@pytest.mark.parametrize("trained", TYPES)
@pytest.mark.parametrize("name", PREPROCESSING)
def test_preprocessing(name, trained):
    X = (100 * curve() + [1e4, 0, -50, 7]).astype(trained)
    ideal = VanishingIdeal(max_degree=2, tol=0.9, normalization="vca")
    model = make_pipeline(PREPROCESSING[name], ideal).fit(X)
    assert ideal.basis_.count() > 0
    for dtype in TYPES:
        rows = X.astype(dtype)
        found = run(session(model, dtype=dtype), rows)["features"]
        # In double precision, since scikit-learn would scale in that of the rows.
        assert_close(found, model.transform(rows.astype(np.float64)), dtype)


def test_pipeline_with_a_detector():
    model = make_pipeline(StandardScaler(), PCA(3), VanishingDetector()).fit(curve())
    assert_scores_agree(model, curve(seed=5), "float64")
    assert_scores_agree(model, curve(seed=5), "float32")


# --- detectors ---------------------------------------------------------------------------------


def contrastive(**parameters):
    return VanishingIdeal(normalization="contrastive", **parameters)


TABLE_DETECTORS = {
    "recipe": VanishingDetector(),
    "single": VanishingDetector(VanishingIdeal(max_degree=3, tol=0.2)),
    "single, contrastive": VanishingDetector(contrastive(max_degree=2, tol=0.5)),
    "pieces": VanishingDetector(contrastive(max_degree=2, tol=0.5), n_components=4),
    "calibrated": VanishingDetector(calibration=0.3, contamination=0.05),
    "random maps": TransformationDetector(contamination=0.05),
    "random maps, pieces": TransformationDetector(
        RandomAffine(3),
        preprocessor=PCA(3),
        n_components=3,
        smoothing=0.01,
        center=False,
        contamination=0.05,
    ),
    "Christoffel function": ChristoffelDetector(3),
    "several resolutions": TransformationDetector(
        AnyOf(Identity(), RandomAffine(2)),
        n_components=(1, 4),
        distance_weight=0.5,
        contamination=0.05,
    ),
}


@cache
def table_detector(name):
    return TABLE_DETECTORS[name].fit(curve())


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", TABLE_DETECTORS)
def test_table_detector(name, dtype):
    detector = table_detector(name)
    assert_scores_agree(detector, np.vstack([curve(seed=4), points(100)]), dtype)


SHAPE = (8, 8)
IMAGE_DETECTORS = {
    "rotations": TransformationDetector(Rotations(SHAPE), preprocessor=PCA(12), contamination=0.05),
    "weights": TransformationDetector(
        Rotations(SHAPE),
        preprocessor=PCA(12),
        weighting="convex",
        smoothing=1e-3,
        contamination=0.05,
    ),
    "flips before maps": TransformationDetector(
        Product(Flips(SHAPE), RandomAffine(1)),
        preprocessor=make_pipeline(StandardScaler(), PCA(6, whiten=True)),
        ideal=contrastive(max_degree=1, tol=0.95),
        weighting="descent",
        contamination=0.05,
    ),
    "shifts, no preprocessing": TransformationDetector(
        Translations(SHAPE, shift=2),
        ideal=contrastive(max_degree=1, tol=0.9, reduction="gram"),
        contamination=0.05,
    ),
    "all of it": image_detector(SHAPE, n_components=(1, 5)),
}


@pytest.mark.parametrize("name", IMAGE_DETECTORS)
def test_image_detector(name, digits):
    normal, others = digits
    detector = IMAGE_DETECTORS[name].fit(normal)
    for dtype in TYPES:
        assert_scores_agree(detector, others, dtype)


def test_trained_in_single_precision(digits):
    """scikit-learn then rounds the mean under PCA to single precision, and so do we."""
    normal, others = digits
    detector = image_detector(SHAPE, n_components=1).fit(normal.astype(np.float32))
    assert_scores_agree(detector, others, "float64")


def test_polynomials_without_weight_are_left_out(digits):
    normal, others = digits
    detector = TransformationDetector(
        Rotations(SHAPE), preprocessor=PCA(8), weighting="convex", sparsity=1.0, n_components=3,
        distance_weight=0.3, contamination=0.05
    ).fit(normal)  # fmt: skip
    counts = {len(weights) for pieces in detector.weights_ for weights in pieces}
    assert len(counts) > 1  # pieces of different sizes, some perhaps empty
    assert_scores_agree(detector, others, "float64")


def test_constant_columns():
    X = np.column_stack([curve(), np.full(300, 0.1), np.full(300, -7.0)])
    detector = VanishingDetector().fit(X)
    broken = X.copy()
    broken[::2, 4] += 1e-4
    broken[::3, 5] = 12.0
    for dtype in TYPES:
        assert_scores_agree(detector, X, dtype)
        assert_scores_agree(detector, broken, dtype)


def test_constant_columns_in_single_precision():
    """0.1 as a single is no broken constant, though it differs from 0.1 as a double."""
    X = np.column_stack([curve(), np.full(300, 0.1)])
    detector = VanishingDetector().fit(X)
    np.testing.assert_allclose(
        detector.score_samples(X.astype(np.float32)), detector.score_samples(X), rtol=1e-3
    )
    found = run(session(detector), X.astype(np.float32))
    np.testing.assert_allclose(found["scores"], detector.score_samples(X), rtol=1e-3)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_constant_columns_that_are_no_numbers(bad):
    X = np.column_stack([curve(), np.full(300, 0.1)])
    rows = X[:3].copy()
    rows[1, 4] = bad
    found = run(session(VanishingDetector().fit(X), dtype="float64"), rows)
    assert found["label"][1] == -1
    assert found["scores"][1] == -np.inf
    assert np.isfinite(found["scores"][[0, 2]]).all()


def test_only_constant_columns():
    X = np.full((50, 2), 3.0)
    detector = VanishingDetector().fit(X)
    assert_scores_agree(detector, np.vstack([X, X + 1]), "float64")


def test_exact_equations():
    """Logarithms of what is rounding only depend on the batch, in the library as well."""
    x = np.linspace(-1, 1, 400)
    X = np.column_stack([x, x**2])
    detector = VanishingDetector().fit(X)
    scores = detector.score_samples(X)
    one_by_one = np.concatenate([detector.score_samples(row[None, :]) for row in X])
    found = run(session(detector, dtype="float64"), X)
    assert np.abs(found["scores"] - scores).max() <= 10 * np.abs(one_by_one - scores).max() + 1e-12


@pytest.mark.parametrize("name", ["recipe", "pieces", "random maps", "several resolutions"])
@pytest.mark.parametrize("far", [1e4, 1e100, 1e200])
@pytest.mark.filterwarnings("ignore::vanishing.ideal.OverflowWarning")
def test_far_rows(name, far):
    detector = table_detector(name)
    rows = far * points(20)
    found = run(session(detector, dtype="float64"), rows)
    expected = detector.score_samples(rows)
    np.testing.assert_allclose(found["scores"], expected, rtol=1e-12)
    np.testing.assert_array_equal(found["label"], detector.predict(rows))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", TABLE_DETECTORS)
def test_rows_that_are_no_numbers_are_anomalous(name, bad):
    """The library refuses them; a graph cannot, and must not call them normal."""
    rows = points(3)
    rows[1, 2] = bad
    found = run(session(table_detector(name)), rows.astype(np.float32))
    assert found["label"][1] == -1
    assert found["scores"][1] == -np.inf
    assert np.isfinite(found["scores"][[0, 2]]).all()


# --- what runtimes make of a graph --------------------------------------------------------------


def transposed_factors(graph):
    """Products of a graph, and of the bodies of its loops, that a Transpose leads to."""
    made_by = {name: node for node in graph.node for name in node.output}
    led_to = set()
    for node in graph.node:  # in the order of evaluation
        before = [made_by[name] for name in node.input if name in made_by]
        if any(b.op_type == "Transpose" or b.output[0] in led_to for b in before):
            led_to.update(node.output)
    found = [n for n in graph.node if n.op_type in ("MatMul", "Gemm") and n.output[0] in led_to]
    for node in graph.node:
        for attribute in node.attribute:
            found += transposed_factors(attribute.g)
    return found


def exported_models(digits):
    normal, _ = digits
    yield VanishingIdeal(max_degree=3, tol=0.3).fit(curve())
    yield make_pipeline(StandardScaler(), PCA(3), VanishingIdeal(tol=0.4)).fit(curve())
    yield from (table_detector(name) for name in TABLE_DETECTORS)
    yield image_detector(SHAPE, n_components=(1, 5)).fit(normal)


@pytest.mark.parametrize("wide", [0, 2**12], ids=["in blocks", "at once"])
def test_no_transpose_leads_to_a_product(digits, monkeypatch, wide):
    """onnxruntime fuses the two, and has no kernel for that in float64 before 1.26.

    Elementwise nodes in between do not help, since its optimizer moves a Transpose past them.
    """
    monkeypatch.setattr(onnx_model, "WIDE_SAMPLE", wide)
    for model in exported_models(digits):
        graph = to_onnx(model, dtype="float64").graph
        assert not transposed_factors(graph), model


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_ALL"])
@pytest.mark.parametrize("dtype", TYPES)
def test_every_level_of_optimization_loads_and_agrees(dtype, level):
    detector = table_detector("random maps")
    chosen = onnxruntime.SessionOptions()
    chosen.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    graph = to_onnx(detector, dtype=dtype).SerializeToString()
    opened = onnxruntime.InferenceSession(graph, chosen, providers=["CPUExecutionProvider"])
    rows = points(20).astype(dtype)
    assert_close(run(opened, rows)["scores"], detector.score_samples(rows), dtype)


# --- large models ------------------------------------------------------------------------------


@pytest.mark.parametrize("rows_of_a_block", [1, 3, 100])
def test_blocks_change_nothing(monkeypatch, rows_of_a_block):
    detector = table_detector("random maps")
    expected = {n: run(session(detector, dtype="float64"), points(n)) for n in range(8)}
    graph = to_onnx(detector)
    assert "Loop" not in {node.op_type for node in graph.graph.node}
    monkeypatch.setattr(onnx_model, "WIDE_SAMPLE", 0)
    monkeypatch.setattr(onnx_model, "rows_of_a_block", lambda widest: rows_of_a_block)
    graph = to_onnx(detector)
    assert "Loop" in {node.op_type for node in graph.graph.node}
    opened = session(detector, dtype="float64")
    for n, wanted in expected.items():
        for name, found in run(opened, points(n)).items():
            assert found.dtype == wanted[name].dtype
            np.testing.assert_allclose(found, wanted[name], rtol=1e-13)


def test_features_in_blocks(monkeypatch):
    ideal = VanishingIdeal(max_degree=3, tol=0.3).fit(curve())
    monkeypatch.setattr(onnx_model, "WIDE_SAMPLE", 0)
    monkeypatch.setattr(onnx_model, "rows_of_a_block", lambda widest: 4)
    opened = session(ideal, dtype="float64")
    for n_rows in (0, 1, 4, 9):
        found = run(opened, points(n_rows))
        expected = ideal.basis_.evaluate(points(n_rows))
        assert_close(found["values"], expected, "float64")


def test_pieces_are_stacked(digits):
    """Sixty times the pieces make a handful of nodes more."""
    normal, _ = digits

    def n_nodes(**parameters):
        detector = image_detector(SHAPE, **parameters).fit(normal)
        graph = to_onnx(detector).graph
        inner = [
            len(attribute.g.node)
            for node in graph.node
            for attribute in node.attribute
            if node.op_type == "Loop"
        ]
        return len(graph.node) + sum(inner)

    assert n_nodes(n_components=(30,)) <= n_nodes(n_components=(1,)) + 30 < 200


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_thousand_images():
    from vanishing.datasets import load_mnist

    images = load_mnist(folder=find_image_sets())
    normal = images.train_images[images.train_labels == 5][:2500]
    detector = image_detector(images.image_shape, n_components=(1, 10)).fit(normal)
    rows = images.test_images
    assert rows.shape == (10_000, 784)
    expected = detector.score_samples(rows)
    labels = np.where(expected < detector.offset_, -1, 1)
    for dtype in TYPES:
        found = run(session(detector, dtype=dtype), rows.astype(dtype))
        assert_close(found["scores"], expected, dtype)
        np.testing.assert_array_equal(found["label"], labels)


# --- what is in a file -------------------------------------------------------------------------


def props(graph):
    return {each.key: each.value for each in graph.metadata_props}


def test_metadata():
    X = pd.DataFrame(curve(), columns=["Größe", "y", "速度", "a b"])
    detector = VanishingDetector().fit(X)
    graph = to_onnx(detector)
    assert graph.producer_name == "vanishing"
    assert graph.producer_version
    assert [(each.domain, each.version) for each in graph.opset_import] == [("", 18)]
    assert graph.ir_version == 8
    found = props(graph)
    assert found["model"] == "VanishingDetector"
    assert json.loads(found["feature_names"]) == ["Größe", "y", "速度", "a b"]
    assert float(found["threshold"]) == detector.offset_
    batch, width = graph.graph.input[0].type.tensor_type.shape.dim
    assert batch.dim_param == "n_samples"
    assert width.dim_value == 4


def test_names_of_features():
    model = make_pipeline(StandardScaler(), VanishingIdeal(tol=0.4)).fit(curve())
    names = json.loads(props(to_onnx(model))["features"])
    assert names == list(model.get_feature_names_out())


def test_no_rows_of_the_data():
    X = curve()
    graph = to_onnx(VanishingDetector().fit(X), dtype="float64")
    content = graph.SerializeToString()
    assert not any(row.tobytes() in content for row in X)
    # The means are there in this form, so rows would have been found. The detector adds up by BLAS:
    # its means differ from those of NumPy by rounding.
    constants = [onnx.numpy_helper.to_array(each) for each in graph.graph.initializer]
    means = [each for each in constants if each.shape == (4,) and np.allclose(each, X.mean(axis=0))]
    assert means
    assert means[0].tobytes() in content


def test_same_model_same_file(tmp_path):
    detector = TransformationDetector(n_components=2, contamination=0.05).fit(curve())
    detector.save(tmp_path / "model.safetensors")
    content = to_onnx(detector).SerializeToString(deterministic=True)
    loaded = load(tmp_path / "model.safetensors")
    assert to_onnx(loaded).SerializeToString(deterministic=True) == content


def test_method_writes_a_file(tmp_path):
    detector = VanishingDetector().fit(curve())
    path = tmp_path / "detector.onnx"
    graph = detector.to_onnx(path, dtype="float64")
    assert list(tmp_path.iterdir()) == [path]
    opened = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert_close(run(opened, points())["scores"], detector.score_samples(points()), "float64")
    assert detector.to_onnx(dtype="float64") == graph == onnx.load(path)


def test_arithmetic_in_single_precision(digits):
    normal, others = digits
    detector = TransformationDetector(
        Rotations(SHAPE), preprocessor=PCA(12), contamination=0.05
    ).fit(normal)
    options = {"dtype": "float32", "arithmetic": "float32"}
    graph = to_onnx(detector, **options)
    kinds = {each.data_type for each in graph.graph.initializer}
    assert kinds <= {onnx.TensorProto.FLOAT, onnx.TensorProto.INT64}
    found = run(session(detector, **options), others.astype(np.float32))["scores"]
    expected = detector.score_samples(others)
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


# --- what is refused ---------------------------------------------------------------------------


def refused(message, model, **options):
    with pytest.raises((TypeError, ValueError), match=message):
        to_onnx(model, **options)


def test_functions_are_refused():
    signs = FunctionTransformation([np.positive, np.negative])
    detector = TransformationDetector(signs).fit(curve() + 1)
    refused("'positive' is a Function.*use Rotations", detector)
    combined = TransformationDetector(
        Product(RandomAffine(2), FunctionTransformation([np.tanh]))
    ).fit(curve())
    refused("'tanh' is a Function", combined)


def test_other_preprocessors_are_refused():
    detector = TransformationDetector(RandomAffine(2), preprocessor=KernelPCA(3)).fit(curve())
    refused("KernelPCA cannot be exported.*StandardScaler.*beforehand", detector)
    clipped = make_pipeline(MinMaxScaler(clip=True), VanishingIdeal(tol=0.4)).fit(curve())
    refused("clip=True", clipped)


def test_other_models_are_refused():
    X, y = np.vstack([curve(), curve() + 3]), np.repeat([0, 1], 300)
    model = make_pipeline(ClassVanishingFeatures(), LinearSVC()).fit(X, y)
    refused(r"LinearSVC cannot be exported.*pipeline\[:-1\]", model)
    assert to_onnx(model[:-1]).graph.name == "ClassVanishingFeatures"
    refused("StandardScaler cannot be exported", make_pipeline(StandardScaler()).fit(curve()))
    refused("without steps", Pipeline([("nothing", "passthrough")]).fit(curve()))
    refused("str cannot be exported", "model")

    class Other(VanishingIdeal):
        def transform(self, X, *, output=None):
            return 2 * super().transform(X, output=output)

    refused("Other cannot be exported", Other(tol=0.4).fit(curve()))


def test_models_that_are_not_fitted_are_refused():
    with pytest.raises(NotFittedError):
        to_onnx(VanishingDetector())


def test_types_are_checked():
    ideal = VanishingIdeal(tol=0.4).fit(curve())
    refused("dtype must be 'float32' or 'float64', got 'float16'", ideal, dtype="float16")
    refused("arithmetic must be", ideal, arithmetic="double")
    refused("would throw away", ideal, dtype="float64", arithmetic="float32")


def test_models_beyond_the_format_are_refused(monkeypatch):
    monkeypatch.setattr("onnx.checker.MAXIMUM_PROTOBUF", 8 * BLOCK + 100)
    refused("the largest size of an ONNX file", VanishingIdeal(tol=0.4).fit(curve()))


def test_extra_is_named(monkeypatch):
    ideal = VanishingIdeal(tol=0.4).fit(curve())
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"vanishing\[onnx\]"):
        ideal.to_onnx()


def test_onnx_is_imported_late():
    code = "import vanishing, sys; sys.exit('onnx' in sys.modules)"
    assert run_python(code).returncode == 0
