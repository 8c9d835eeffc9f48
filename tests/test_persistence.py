"""A model that was saved and loaded is the model that was fitted, and bad files do no harm."""

import io
import json
import os
import pickle
import random
import re
import time
import tracemalloc
import warnings
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from safetensors import safe_open
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import vanishing
from vanishing import (
    ClassVanishingFeatures,
    TransformationDetector,
    VanishingDetector,
    VanishingIdeal,
)
from vanishing.construction.border import AbmGradient, Oavi
from vanishing.construction.normalizations import Gradient, Normalization
from vanishing.construction.passes import Gram
from vanishing.contrasts import GaussianNoise, Mixture, Permuted, Uniform
from vanishing.detectors import ChristoffelDetector
from vanishing.equations import to_sympy
from vanishing.persistence import ModelFileError, save, unpack
from vanishing.saving import digest, pack
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

SQUARE = (4, 4)


def table(n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 3))
    X[:, 2] = X[:, 0] * X[:, 1] + 0.05 * rng.standard_normal(n_rows)
    return X


def with_constant(X):
    return np.column_stack([X, np.full(len(X), 3.0)])


def images(n_rows=50, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(n_rows, 2)) @ rng.uniform(size=(2, 16)) + 0.1 * rng.uniform(
        size=(n_rows, 16)
    )


def labels(X):
    return np.where(X[:, 0] > 0, "right", "left")


def wide(n_rows=80):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n_rows, 5)) @ rng.standard_normal(
        (5, 24)
    ) + 0.1 * rng.standard_normal((n_rows, 24))


IDEALS = {
    "default": VanishingIdeal(),
    "cubic": VanishingIdeal(max_degree=3, tol=0.3, output="signed"),
    "until exhausted": VanishingIdeal(max_degree=None, tol=0.5, max_nonvanishing=2),
    "objects": VanishingIdeal(normalization=Gradient(), reduction=Gram(), tol=np.float64(0.2)),
    "vca": VanishingIdeal(normalization="vca", tol_norm="euclidean", tol=1.0, products="all"),
    "abm": VanishingIdeal(construction="abm", tol=0.2, max_degree=3),
    "oavi": VanishingIdeal(construction=Oavi(order="degrevlex", oracle="l1"), tol=0.2),
    "full border": VanishingIdeal(construction=AbmGradient(border="full"), tol=0.9),
    "minimal": VanishingIdeal(max_degree=3, tol=0.3, generators="minimal"),
    "nonvanishing": VanishingIdeal(tol=0.3, output="nonvanishing"),
}
CONTRASTIVE = VanishingIdeal(normalization="contrastive", tol=0.9)
DETECTORS = {
    "recipe": (VanishingDetector(), table()),
    "constant column": (VanishingDetector(), with_constant(table())),
    "nothing varies": (VanishingDetector(), np.ones((20, 2))),
    "recipe on wide data": (VanishingDetector(), wide()),
    "one ideal": (VanishingDetector(VanishingIdeal(tol=10.0)), table()),
    "calibrated pieces": (
        VanishingDetector(
            CONTRASTIVE,
            contrast=Mixture(Permuted(), GaussianNoise(0.5), Uniform(), weights=[2, 1, 1]),
            n_components=3,
            contamination=0.1,
            calibration=0.3,
        ),
        table(),
    ),
    "Christoffel function": (ChristoffelDetector(3), table()),
    "random maps": (TransformationDetector(), table()),
    "several resolutions": (
        TransformationDetector(
            n_components=(1, 2), distance_weight=0.5, weighting="convex", contamination=0.05
        ),
        table(),
    ),
    "pipeline": (
        TransformationDetector(
            Product(Rotations(SQUARE, angles=(0, 90)), Flips(SQUARE)),
            preprocessor=make_pipeline(StandardScaler(), "passthrough", PCA(4, whiten=True)),
            contamination=0.05,
        ),
        images(),
    ),
    "maps after moves": (
        TransformationDetector(
            AnyOf(
                Identity(),
                Translations(SQUARE, shift=1, identity=False),
                Product(Rotations(SQUARE, angles=(90,)), RandomAffine(1)),
            ),
            preprocessor=PCA(3),
            ideal=CONTRASTIVE,
            smoothing=0.1,
            contamination=0.05,
        ),
        images(),
    ),
}


ON_IMAGES = TransformationDetector(
    Product(Flips(SQUARE), RandomAffine(1)), preprocessor=make_pipeline(StandardScaler(), PCA(2))
)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The file of a detector of images."""
    path = tmp_path_factory.mktemp("file") / "model.safetensors"
    clone(ON_IMAGES).fit(images(30)).save(path)
    return path


def round_trip(model, folder):
    path = folder / "model.safetensors"
    model.save(path)
    return vanishing.load(path)


def assert_same(first, second, path="model"):
    """Compare all that two objects hold, arrays with their layout in memory."""
    assert type(first) is type(second), path
    if isinstance(first, np.ndarray):
        assert first.dtype == second.dtype, path
        np.testing.assert_array_equal(first, second, err_msg=path)
        if first.ndim == 2 and min(first.shape) > 1:
            by_columns = [array.strides[0] < array.strides[1] for array in (first, second)]
            assert by_columns[0] == by_columns[1], path
    elif isinstance(first, list | tuple):
        assert len(first) == len(second), path
        for i, (a, b) in enumerate(zip(first, second, strict=True)):
            assert_same(a, b, f"{path}.{i}")
    elif is_dataclass(first):
        for each in fields(first):
            a, b = getattr(first, each.name), getattr(second, each.name)
            assert_same(a, b, f"{path}.{each.name}")
    elif isinstance(first, BaseEstimator):
        private = {"_fit_svd_solver"}  # scikit-learn's note to itself
        assert vars(first).keys() - private == vars(second).keys() - private, path
        for name in vars(second):
            assert_same(vars(first)[name], vars(second)[name], f"{path}.{name}")
    else:
        assert first == second or (first != first and second != second), path


# --- what is kept ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", IDEALS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ideal(name, dtype, tmp_path):
    X = table().astype(dtype)
    ideal = clone(IDEALS[name]).fit(X)
    loaded = round_trip(ideal, tmp_path)
    assert_same(ideal, loaded)
    np.testing.assert_array_equal(ideal.transform(X), loaded.transform(X))
    jacobians = [each.basis_.jacobian(X) for each in (ideal, loaded)]
    np.testing.assert_array_equal(*jacobians)
    assert ideal.to_sympy() == loaded.to_sympy()
    assert ideal.get_params().keys() == loaded.get_params().keys()
    np.testing.assert_array_equal(clone(loaded).fit(X).transform(X), ideal.transform(X))


@pytest.mark.parametrize("make_labels", [labels, lambda X: (X[:, 0] > 0).astype(np.int8)])
def test_class_features(make_labels, tmp_path):
    X = table()
    features = ClassVanishingFeatures(n_jobs=1).fit(X, make_labels(X))
    loaded = round_trip(features, tmp_path)
    assert_same(features, loaded)
    np.testing.assert_array_equal(features.transform(X), loaded.transform(X))
    assert list(features.get_feature_names_out()) == list(loaded.get_feature_names_out())


@pytest.mark.parametrize("name", DETECTORS)
def test_detector(name, tmp_path):
    template, X = DETECTORS[name]
    detector = clone(template).fit(X)
    loaded = round_trip(detector, tmp_path)
    assert_same(detector, loaded)
    new = np.vstack([X[:20], X[:20] + 1.5])
    for method in ("score_samples", "decision_function", "predict"):
        np.testing.assert_array_equal(getattr(detector, method)(new), getattr(loaded, method)(new))
    np.testing.assert_array_equal(
        detector.score_samples(new.astype(np.float32)), loaded.score_samples(new.astype(np.float32))
    )
    if name != "nothing varies":
        assert_same(detector.explain(new[-1:]), loaded.explain(new[-1:]))
    assert repr(clone(loaded)) == repr(clone(detector))
    assert_same(round_trip(pickle.loads(pickle.dumps(loaded)), tmp_path), loaded)


def test_columns_and_frames(tmp_path):
    frame = pd.DataFrame(table(), columns=["speed", "höhe", "x y"])
    ideal = VanishingIdeal(tol=10.0).set_output(transform="pandas").fit(frame)
    loaded = round_trip(ideal, tmp_path)
    pd.testing.assert_frame_equal(ideal.transform(frame), loaded.transform(frame))
    assert loaded.to_latex() == ideal.to_latex()
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame[["x y", "speed", "höhe"]])


def test_strings_of_numpy(tmp_path):
    """They are what a grid of parameters in an array holds."""
    for name in np.array(["gradient", "coefficient"]):
        loaded = round_trip(VanishingIdeal(normalization=name, tol=10.0).fit(table()), tmp_path)
        assert type(loaded.normalization) is str
        assert loaded.normalization == name


def test_classes_that_are_dates(tmp_path):
    X = table()
    days = np.where(X[:, 0] > 0, np.datetime64("2026-01-05"), np.datetime64("2026-01-06"))
    features = ClassVanishingFeatures(n_jobs=1).fit(X, days)
    with pytest.raises(ModelFileError, match=r"classes_ is an array of .* datetime64.*strings"):
        features.save(tmp_path / "model.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_infinite_numbers(tmp_path):
    detector = VanishingDetector(VanishingIdeal(tol=10.0)).fit(table())
    detector.offset_ = -np.inf
    assert round_trip(detector, tmp_path).offset_ == -np.inf


def test_templates_are_kept_unfitted(tmp_path):
    X = images()
    used = PCA(3).fit(X)
    detector = TransformationDetector(Flips(SQUARE), preprocessor=used).fit(X)
    loaded = round_trip(detector, tmp_path)
    assert not hasattr(loaded.preprocessor, "components_")
    np.testing.assert_array_equal(loaded.score_samples(X), detector.score_samples(X))


def test_manifest_says_what_it_is_and_holds_no_data(tmp_path):
    X = table()
    path = tmp_path / "model.safetensors"
    VanishingDetector().fit(X).save(path)
    with safe_open(path, framework="np") as file:
        manifest = json.loads(file.metadata()["manifest"])
    assert manifest["format_version"] == 3
    assert manifest["versions"].keys() == {"numpy", "scikit-learn", "vanishing"}
    assert manifest["data"]["n_features"] == 3
    assert manifest["model"]["class"] == "VanishingDetector"
    content = path.read_bytes()
    assert not any(row.tobytes() in content for row in X)
    assert not any(str(number).encode() in content for number in X.ravel())


def test_fingerprint_tells_data_apart(tmp_path):
    def fingerprint(X):
        path = tmp_path / "model.safetensors"
        VanishingIdeal().fit(X).save(path)
        with safe_open(path, framework="np") as file:
            return json.loads(file.metadata()["manifest"])["data"]["fingerprint"]

    assert fingerprint(table()) == fingerprint(table())
    assert fingerprint(table()) != fingerprint(table(seed=1))


def test_five_hundred_polynomials_are_small_and_quick(tmp_path):
    X = 0.3 * np.random.default_rng(0).standard_normal((1000, 32))
    ideal = VanishingIdeal(tol=0.21, normalization="coefficient").fit(X)
    assert ideal.basis_.count() >= 500
    path = tmp_path / "model.safetensors"
    ideal.save(path)
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        vanishing.load(path)
        seconds.append(time.perf_counter() - started)
    assert min(seconds) < 0.05
    assert path.stat().st_size < 5e6


PIPELINES = {
    "ideal": make_pipeline(StandardScaler(), PCA(2, whiten=True), VanishingIdeal(tol=0.5)),
    "nested": make_pipeline(make_pipeline(StandardScaler(), PCA(3)), VanishingIdeal(tol=0.5)),
    "passed through": make_pipeline("passthrough", PCA(2), None, VanishingIdeal(tol=0.5)),
    "alone": make_pipeline(VanishingIdeal(tol=0.5)),
    "class features": make_pipeline(StandardScaler(), ClassVanishingFeatures()),
    "detector": make_pipeline(StandardScaler(), VanishingDetector()),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_pipeline_that_ends_in_a_model(name, tmp_path):
    frame = pd.DataFrame(table(), columns=["a", "b", "c"])
    model = clone(PIPELINES[name]).fit(frame, labels(table()))
    path = tmp_path / "model.safetensors"
    save(model, path)
    loaded = vanishing.load(path)
    assert_same(model, loaded)
    use = "score_samples" if name == "detector" else "transform"
    np.testing.assert_array_equal(getattr(model, use)(frame), getattr(loaded, use)(frame))
    with safe_open(path, framework="np") as file:
        assert json.loads(file.metadata()["manifest"])["data"]["n_features"] == 3
    if name in ("ideal", "nested"):
        assert to_sympy(model) == to_sympy(loaded)


# --- what is refused ------------------------------------------------------------------------------


class OwnNormalization(Normalization):
    def form(self, stage):
        return Gradient().form(stage)


class OwnPCA(PCA):
    pass


class OwnTransformer(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X


def on_images(preprocessor):
    return TransformationDetector(Flips(SQUARE), preprocessor=preprocessor)


REFUSED = {
    "callback": (VanishingIdeal(callback=id), table(), "callback.*function"),
    "OwnNormalization": (
        VanishingIdeal(normalization=OwnNormalization()),
        table(),
        "OwnNormalization",
    ),
    "FunctionTransformation": (
        TransformationDetector(FunctionTransformation([np.positive, np.negative])),
        table(),
        "transformations is a FunctionTransformation.*code",
    ),
    "FunctionTransformation inside": (
        TransformationDetector(AnyOf(RandomAffine(2), FunctionTransformation([np.negative]))),
        table(),
        r"transformations\.sets\.1 is a FunctionTransformation",
    ),
    "MinMaxScaler": (on_images(MinMaxScaler()), images(), "MinMaxScaler.*PCA, StandardScaler"),
    "OwnPCA": (on_images(OwnPCA(3)), images(), "OwnPCA"),
    "OwnTransformer": (on_images(OwnTransformer()), images(), "OwnTransformer"),
    "step": (
        on_images(make_pipeline(PCA(3), MinMaxScaler())),
        images(),
        r"steps\.1\.1 is a MinMax",
    ),
    "ideal as preprocessor": (
        on_images(VanishingIdeal(tol=10.0, max_degree=1)),
        images(),
        "preprocessor is a VanishingIdeal",
    ),
    "RandomState": (
        on_images(PCA(3, random_state=np.random.RandomState(0))),
        images(),
        "RandomState",
    ),
    "memory": (
        on_images(Pipeline([("pca", PCA(3))], memory="cache")),
        images(),
        "memory is 'cache'",
    ),
    "ideal as step": (
        on_images(make_pipeline(PCA(3), VanishingIdeal(tol=10.0, max_degree=1))),
        images(),
        "steps.*VanishingIdeal",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_kept_is_named_before_anything_is_written(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, X, message = REFUSED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of data that says little
        model = clone(model).fit(X)
    before = set(tmp_path.iterdir())
    with pytest.raises(ModelFileError, match=message):
        model.save(tmp_path / "model.safetensors")
    assert set(tmp_path.iterdir()) == before


def test_pipelines_that_cannot_be_kept(tmp_path):
    X = table()
    ideal = VanishingIdeal(tol=0.9)
    for model, message in (
        (make_pipeline(MinMaxScaler(), ideal), r"steps\.0\.1 is a MinMaxScaler"),
        (make_pipeline(ideal, clone(ideal)), "no other one"),
        (make_pipeline(ideal, PCA(1)), "pipelines that end in one, got PCA"),
        (Pipeline([("ideal", ideal)], memory="cache"), "memory is 'cache'"),
    ):
        with pytest.raises(ModelFileError, match=message):
            save(
                clone(model).set_params(memory=None).fit(X).set_params(memory=model.memory),
                tmp_path / "model",
            )
    half = Pipeline([("scaler", StandardScaler()), ("ideal", clone(ideal).fit(X))])
    with pytest.raises(NotFittedError):
        save(half, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_other_objects(tmp_path):
    with pytest.raises(ModelFileError, match="got PCA"):
        save(PCA(2).fit(table()), tmp_path / "pca")
    with pytest.raises(NotFittedError):
        VanishingIdeal().save(tmp_path / "unfitted")
    ideal = VanishingIdeal().fit(table())
    ideal.note_ = "mine"
    with pytest.raises(ModelFileError, match="note_"):
        ideal.save(tmp_path / "note")
    with pytest.raises(IsADirectoryError):
        VanishingIdeal().fit(table()).save(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file(failing, tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    VanishingIdeal().fit(table()).save(path)
    before = path.read_bytes()

    def fail(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os if failing == "fsync" else Path, failing, fail)
    with pytest.raises(OSError, match="no space left"):
        VanishingIdeal(max_degree=3).fit(table()).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# --- what is read ---------------------------------------------------------------------------------


def content_of(path):
    """Return the bytes of a file, and the two parts that it was packed from."""
    content = path.read_bytes()
    manifest, _, arrays = unpack(io.BytesIO(content), len(content))
    return content, manifest, arrays


def load_bytes(content, folder):
    path = folder / "mutated"
    path.write_bytes(content)
    return vanishing.load(path)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda m: m.update(format_version=4), "version 4"),
        (lambda m: m.update(format_version=2), "version 2, and .* reads 3; .* fit the model again"),
        (lambda m: m.update(format_version=True), "version True"),
        (lambda m: m.update(format="other"), "not a model file"),
        (lambda m: m["model"].update({"class": "os.system"}), "not of a kind"),
        (lambda m: m.update(model=[]), "no model"),
        (lambda m: m.update(model=None), "no model"),
        (lambda m: m["model"]["parameters"].update(n_components=-1), "n_components"),
        (lambda m: m["model"]["parameters"].update(other=1), "other"),
        (lambda m: m["model"]["fitted"].pop("offset_"), "offset_"),
        (lambda m: m["model"]["fitted"].update(offset_="0"), "offset_"),
        (lambda m: m["model"]["fitted"].update(n_features_in_=10**18), "columns"),
        (lambda m: m["model"]["fitted"].update(_mean_row=None), "_mean_row"),
    ],
)
def test_manifests_that_say_something_else(edit, message, file, tmp_path):
    _, text, arrays = content_of(file)
    manifest = json.loads(text)
    edit(manifest)
    with pytest.raises(ModelFileError, match=message):
        load_bytes(pack(json.dumps(manifest), arrays), tmp_path)


def test_damage_is_noticed(file, tmp_path):
    content, _, _ = content_of(file)
    flipped = bytearray(content)
    flipped[-20] ^= 1  # the last digit of a coefficient
    with pytest.raises(ModelFileError, match="checksum"):
        load_bytes(bytes(flipped), tmp_path)
    for size in (0, 5, 8, 100, len(content) - 1):
        with pytest.raises(ModelFileError):
            load_bytes(content[:size], tmp_path)
    with pytest.raises(ModelFileError):
        load_bytes(content + b"\0", tmp_path)


def test_bytes_that_are_neither_true_nor_false(tmp_path):
    path = tmp_path / "model.safetensors"
    VanishingDetector().fit(with_constant(table(30))).save(path)
    content, _, arrays = content_of(path)
    header_size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + header_size])
    start, stop = header["model.anomaly_score_.constants.constant"]["data_offsets"]
    assert (
        content[8 + header_size :][start:stop]
        == arrays["model.anomaly_score_.constants.constant"].tobytes()
    )
    mutated = bytearray(content)
    mutated[8 + header_size + start] = 66
    with pytest.raises(ModelFileError, match="true and false"):
        load_bytes(bytes(mutated), tmp_path)


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, '{"model":' * 200_000, "NaN", "9" * 10_000, "", "\ud800"],
    ids=["lists", "objects", "nan", "digits", "empty", "surrogate"],
)
def test_hostile_json(text, tmp_path):
    header = json.dumps({"__metadata__": {"manifest": text, "sha256": ""}}).encode()
    for content in (header, text.encode("utf-8", "replace")):
        with pytest.raises(ModelFileError):
            load_bytes(len(content).to_bytes(8, "little") + content, tmp_path)


def test_deep_values(file, tmp_path):
    _, text, arrays = content_of(file)
    manifest = json.loads(text)
    deep = 0
    for depth in range(400):
        deep = [deep]
        if depth % 100 == 99:
            manifest["model"]["parameters"]["ideal"] = deep
            with pytest.raises(ModelFileError):
                load_bytes(pack(json.dumps(manifest), arrays), tmp_path)


def test_strings_that_would_fill_the_memory(file, tmp_path):
    _, text, arrays = content_of(file)
    manifest = json.loads(text)
    strings = ["x" * 10**6] + [""] * 10**5  # 400 GB in an array
    manifest["model"]["parameters"]["n_components"] = {"strings": strings, "kind": "U"}
    with pytest.raises(ModelFileError, match="strings that are too long"):
        load_bytes(pack(json.dumps(manifest), arrays), tmp_path)


def test_arrays_of_other_types(file, tmp_path):
    content, _, _ = content_of(file)
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    name = next(name for name, each in header.items() if each.get("dtype") == "F64")
    header[name] |= {"dtype": "BF16", "shape": [4, *header[name]["shape"]]}  # of as many bytes
    header = json.dumps(header).encode()
    wrong = len(header).to_bytes(8, "little") + header + content[8 + size :]
    with pytest.raises(ModelFileError, match=f"array '{name}' has the dtype BF16, which no"):
        load_bytes(wrong, tmp_path)


def test_parts_that_do_not_fit_each_other(tmp_path):
    """As in files that somebody made of two."""
    path = tmp_path / "model.safetensors"
    detector = VanishingDetector(VanishingIdeal(tol=10.0)).fit(table())
    score = detector.anomaly_score_
    (view,) = score.views
    other = VanishingDetector(VanishingIdeal(tol=10.0)).fit(table()[:, :2]).anomaly_score_.views
    cases = [
        (replace(score, normal=None), "the columns of the detector are not described"),
        (replace(score, views=list(other)), "its parts do not fit each other"),
        (replace(score, views=[replace(view, images=(1,))]), "looks at images that do not exist"),
    ]
    for wrong, said in cases:
        detector.anomaly_score_ = wrong
        detector.save(path)
        with pytest.raises(ModelFileError, match=said):
            vanishing.load(path)


def test_a_claim_of_much_memory(tmp_path):
    claims = {"x": {"dtype": "F64", "shape": [10**12], "data_offsets": [0, 8 * 10**12]}}
    header = json.dumps({"__metadata__": {"manifest": "{}", "sha256": ""}} | claims).encode()
    for size in (len(header), 2**60):
        with pytest.raises(ModelFileError):
            load_bytes(size.to_bytes(8, "little") + header, tmp_path)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        vanishing.load(tmp_path / "none")


# --- mutations ------------------------------------------------------------------------------------

HOSTILE = [
    0,
    -1,
    1,
    2,
    7,
    10**9,
    10**18,
    10**40,
    1.5,
    -1e308,
    True,
    None,
    "",
    "gap",
    [],
    {},
    {"tuple": []},
    {"float": "nan"},
    {"array": "F"},
    {"strings": [], "kind": "U"},
    {"class": "VanishingIdeal", "parameters": {}},
    {"class": "transformations.Identity", "fields": {}},
]


def fuzzed_models():
    X = table(30)
    return [
        VanishingIdeal(max_degree=3, tol=0.3).fit(pd.DataFrame(X, columns=["a", "b", "c"])),
        ClassVanishingFeatures().fit(X, labels(X)),
        VanishingDetector().fit(with_constant(X)),
        VanishingDetector(CONTRASTIVE, n_components=2, contrast=Mixture(Permuted())).fit(X),
        VanishingDetector(VanishingIdeal(tol=10.0)).fit(X),
        VanishingDetector().fit(wide(30)),
        ChristoffelDetector(2).partial_fit(X),
        VanishingIdeal(construction="abm", tol=0.2).fit(X),
        TransformationDetector(n_components=(1, 2), distance_weight=1.0).fit(X),
        clone(ON_IMAGES).fit(images(30)),
        make_pipeline(StandardScaler(), PCA(2), VanishingIdeal(tol=0.5)).fit(X),
    ]


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    found = []
    for number, model in enumerate(fuzzed_models()):
        path = folder / str(number)
        save(model, path)
        found.append(content_of(path))
    return found


def mutated_bytes(rng, content, other):
    """Flip, cut and splice; half of them anywhere, half in the header."""
    header_end = 8 + int.from_bytes(content[:8], "little")
    end = rng.choice([header_end, len(content)])
    result = bytearray(content)
    kind = rng.randrange(5)
    if kind == 0:
        for _ in range(rng.choice([1, 1, 2, 8])):
            result[rng.randrange(end)] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del result[rng.randrange(len(content)) :]
    elif kind == 2:
        start = rng.randrange(end)
        result[start : start + rng.randrange(64)] = other[start : start + rng.randrange(64)]
    elif kind == 3:
        start = rng.randrange(min(len(content), len(other)))
        result[start:] = other[start:]
    else:
        numbers = list(re.finditer(rb"-?\d+", content[8:header_end]))
        chosen = rng.choice(numbers)
        new = str(rng.choice([0, 1, -1, 2**31, 2**63, 10**30, int(chosen[0]) + 1])).encode()
        result[8 + chosen.start() : 8 + chosen.end()] = new
        result[:8] = (header_end - 8 + len(new) - len(chosen[0])).to_bytes(8, "little")
    return bytes(result)


def with_new_digest(content):
    """Return the file with the digest of what it says now, where it can be read so far."""
    try:
        manifest, sha256, arrays = unpack(io.BytesIO(content), len(content))
        return content.replace(sha256.encode(), digest(manifest, arrays).encode())
    except (ModelFileError, UnicodeEncodeError):
        return content


def places(node):
    """Yield every (container, key) of parsed JSON."""
    for key in node if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from places(node[key])


def with_mutated_manifest(rng, manifest, arrays):
    tree = json.loads(manifest)
    everything = list(places(tree["model"]))
    for _ in range(rng.choice([1, 1, 1, 3])):
        container, key = rng.choice(everything)
        kind = rng.randrange(4)
        if kind == 0 and isinstance(container, dict):
            container.pop(key, None)
        elif kind == 1:
            other, name = rng.choice(everything)
            # A copy: a node inside itself would have no end.
            if isinstance(other, list) or name in other:
                container[key] = json.loads(json.dumps(other[name]))
        else:
            container[key] = rng.choice(HOSTILE)
    return pack(json.dumps(tree), arrays)


def with_mutated_array(rng, manifest, arrays):
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    kind = rng.randrange(7)
    if kind == 0:
        changed = array.T
    elif kind == 1:
        changed = array[..., :-1] if array.ndim else array.reshape(1)
    elif kind == 2:
        changed = array.astype(rng.choice([np.float32, np.int64, np.uint8, np.bool_]))
    elif kind == 3:
        changed = array.reshape(-1)
    elif kind == 4:
        changed = np.zeros((0, rng.choice([0, 1, 2**20, 2**40])))
    else:
        changed = array.copy()
        if changed.size:
            extremes = [-1, 0, 1, 10**6, 2**62] if changed.dtype.kind == "i" else [0, 1, 1e300]
            if changed.dtype.kind == "f":
                extremes.append(np.nan)
            changed.reshape(-1)[rng.randrange(changed.size)] = rng.choice(extremes)
    with np.errstate(invalid="ignore"):
        return pack(manifest, {**arrays, name: changed})


def use(model):
    """Use a model on some rows; numbers may be absurd, but nothing may be amiss otherwise."""
    X = np.ones((2, model.n_features_in_))
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if hasattr(model, "feature_names_in_"):
                X = pd.DataFrame(X, columns=model.feature_names_in_)
            values = model.score_samples(X) if hasattr(model, "predict") else model.transform(X)
            assert len(values) == 2
    except ValueError as error:  # a scale of zero between two steps
        if not re.search("NaN|infinity", str(error)):
            raise


def fuzz(originals, n_files, folder, seed):
    rng = random.Random(seed)
    n_valid = 0
    tracemalloc.start()
    try:
        for number in range(n_files):
            content, manifest, arrays = rng.choice(originals)
            kind = number % 4
            if kind < 2:
                mutated = mutated_bytes(rng, content, rng.choice(originals)[0])
                mutated = with_new_digest(mutated) if kind else mutated
            elif kind == 2:
                mutated = with_mutated_manifest(rng, manifest, arrays)
            else:
                mutated = with_mutated_array(rng, manifest, arrays)
            path = folder / "mutated"
            path.write_bytes(mutated)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            try:
                model = vanishing.load(path)
            except ModelFileError:
                model = None
            peak = tracemalloc.get_traced_memory()[1] - before
            assert peak < 2**20 + 40 * len(mutated)
            if model is not None:
                n_valid += 1
                use(model)
    finally:
        tracemalloc.stop()
    return n_valid


def test_mutated_files(originals, tmp_path):
    n_valid = fuzz(originals, 150, tmp_path, seed=0)
    assert 0 < n_valid < 150  # both ends are reached


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_mutated_files(originals, tmp_path):
    n_valid = fuzz(originals, 10_000, tmp_path, seed=1)
    assert 0 < n_valid < 10_000


def test_the_same_model_makes_the_same_file(tmp_path):
    ideal = VanishingIdeal(max_degree=2).fit(np.random.default_rng(0).normal(size=(30, 3)))
    contents = set()
    for _ in range(10):  # the order of the metadata was random
        ideal.save(tmp_path / "m.safetensors")
        contents.add((tmp_path / "m.safetensors").read_bytes())
    assert len(contents) == 1


@pytest.mark.parametrize("kind", [VanishingIdeal, ClassVanishingFeatures, VanishingDetector])
def test_requests_of_metadata_are_left_out(kind, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[:, 1] = X[:, 0] ** 2
    labels = [np.arange(60) % 2] if kind is ClassVanishingFeatures else []
    with sklearn.config_context(enable_metadata_routing=True):
        model = kind().set_fit_request(sample_weight=True).fit(X, *labels)
        model.save(tmp_path / "model")
        loaded = vanishing.load(tmp_path / "model")
    output = "score_samples" if kind is VanishingDetector else "transform"
    np.testing.assert_array_equal(getattr(loaded, output)(X), getattr(model, output)(X))
