"""The report says what is so, escapes what it is given, and is written whole or not at all."""

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from tests.support.cases import tensor

from vanishing import TransformationDetector, VanishingDetector, VanishingIdeal, discover, load
from vanishing.app.report import (
    anomalies,
    write_equations_report,
    write_laws_report,
    write_report,
)
from vanishing.app.report.anomalies import compare_with_labels, image_shape_of
from vanishing.app.report.equations import Formula, Formulas
from vanishing.app.wording import describe_fix, list_changes
from vanishing.equations.mathml import mathml_equation
from vanishing.equations.text import Sum, changed_number, join
from vanishing.explain.record import Explanation
from vanishing.transformations import AnyOf, Identity, RandomAffine, Rotations, Translations

CHROMIUM = shutil.which("chromium")


def plant(n_rows, seed=0):
    """Readings of a machine, power = speed · force."""
    rng = np.random.default_rng(seed)
    speed, force = rng.uniform(1, 2, (2, n_rows))
    power = speed * force * (1 + 0.01 * rng.normal(size=n_rows))
    return pd.DataFrame({"speed": speed, "force": force, "power": power})


@pytest.fixture(scope="module")
def recipe():
    return VanishingDetector().fit(plant(300))


@pytest.fixture(scope="module")
def detector():
    """One ideal, which is quick to explain."""
    ideal = VanishingIdeal(max_degree=2, tol=0.1, normalization="contrastive")
    return VanishingDetector(ideal).fit(plant(400))


@pytest.fixture(scope="module")
def readings():
    table = plant(60, seed=1)
    table.loc[[7, 23], "power"] *= 1.5
    return table


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    normal = X[:400][y[:400] % 2 == 0]
    images = TransformationDetector(
        Rotations(image_shape=(8, 8), angles=(0, 90)),
        preprocessor=PCA(6, random_state=0),
        contamination=0.05,
    )
    return images.fit(normal), X[900:940], y[900:940] % 2


class Page(HTMLParser):
    """Text and elements of a page; an element that is not closed is an error."""

    VOID = frozenset({"meta", "img", "wbr"})

    def __init__(self, content):
        super().__init__()
        self.text, self.tags, self.open = [], [], []
        self.feed(content)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def page_of(tmp_path, *arguments, **parameters):
    path = tmp_path / "report.html"
    assert write_report(path, *arguments, **parameters) is None
    return Page(path.read_text(encoding="utf-8"))


# --- what is on the page --------------------------------------------------------------------------


def test_sections_scores_and_rows(tmp_path, recipe, readings):
    detector = recipe
    page = page_of(tmp_path, detector, readings, title="Pump 7")
    headings = page.words
    for name in ("Pump 7", "Anomalous rows", "Scores", "Equations", "Spectrum", "Data"):
        assert name in headings
    n_anomalous = int((detector.predict(readings) == -1).sum())
    assert f"{n_anomalous} of 60 rows are anomalous" in page.words
    assert f"{n_anomalous} anomalous rows, highest score first" in page.words
    worst = np.argsort(detector.score_samples(readings))[:2]
    assert set(worst) == {7, 23}
    score = -detector.score_samples(readings)[worst[0]]
    assert f"Row {worst[0]} score {score:.4g}" in page.words
    assert "tolerance 0.5" in page.words
    assert "scikit-learn" in page.words


def test_scores_of_evidence_are_said_to_be_never_negative(tmp_path, recipe, detector, readings):
    typical = plant(60, seed=2)
    assert "never negative" in page_of(tmp_path, recipe, typical).words
    assert (recipe.score_samples(typical) <= 0).all()
    assert "never negative" not in page_of(tmp_path, detector, readings).words


def test_scores_that_are_given_are_used(tmp_path, detector, readings):
    scores = np.linspace(1, 0, 60)
    page = page_of(tmp_path, detector, readings, scores=scores)
    assert "0 of 60 rows are anomalous. The highest score is 0 (row 59)." in page.words
    page = page_of(tmp_path, detector, readings, scores=scores - 100)
    assert "Row 59" in page.words
    assert "Row 0 " not in page.words


def test_every_anomalous_row_has_a_sentence_and_the_fix_of_the_terminal(
    tmp_path, detector, readings
):
    page = page_of(tmp_path, detector, readings)
    found = np.flatnonzero(detector.predict(readings) == -1)
    assert {7, 23} <= set(found)
    for row, why in zip(found, detector.explain(readings.iloc[found]), strict=True):
        changes = list_changes(why)
        assert changes
        shown = " ".join(f"{each.name} {each.value} → {each.fix}" for each in changes)
        assert f" {row} {why.score:.4g} {shown}" in page.words
        assert describe_fix(why) in page.words


def test_equations_of_rows_are_folded(tmp_path, detector, readings):
    page_of(tmp_path, detector, readings)
    content = (tmp_path / "report.html").read_text(encoding="utf-8")
    (card, *_) = re.findall(r"<article>.*?</article>", content, re.DOTALL)
    sentence, equations = card.index("would fit the other columns."), card.index("<math")
    assert sentence < card.index("<details>") < equations


def test_labels_of_either_kind_give_the_same_curves(tmp_path, detector, readings):
    labels = np.zeros(60, dtype=int)
    labels[[7, 23, 40]] = 1
    auc = roc_auc_score(labels, -detector.score_samples(readings))
    kinds = [labels, labels.astype(bool), np.where(labels, -1, 1), pd.Series(labels, dtype=float)]
    sentences = set()
    for kind in kinds:
        page = page_of(tmp_path, detector, readings, labels=kind)
        pattern = r"3 of 60 rows are labelled.*?average precision [\d.]+"
        sentences.add(re.search(pattern, page.words)[0])
    (sentence,) = sentences
    assert f"Area under the ROC curve {auc:.3f}" in sentence
    assert len(page.all("figure")) >= 3


def test_ids_and_names(tmp_path, detector, readings):
    ids = [f"pump-{i}" for i in range(60)]
    page = page_of(tmp_path, detector, readings, ids=ids, feature_names=["v", "F", "P"])
    assert "Row pump-" in page.words
    assert "speed" not in page.words.split("Parameters of")[0]
    indexed = readings.set_index(pd.Index(ids))
    assert "Row pump-" in page_of(tmp_path, detector, indexed).words


def test_the_training_data_is_compared_with(tmp_path, detector, readings):
    page = page_of(tmp_path, detector, readings, train=plant(400))
    assert "fitted to 400 rows" in page.words
    assert "outside training range" in page.words


def test_an_ideal_a_mixture_and_a_transformation_detector(tmp_path, readings):
    train = plant(200)
    ideal = VanishingIdeal(max_degree=2, tol=0.2, normalization="contrastive")
    linear = VanishingIdeal(max_degree=1, tol=1.0)
    for fitted in (
        VanishingDetector(ideal).fit(train),
        VanishingDetector(linear, n_components=3).fit(train),
        TransformationDetector(RandomAffine(n_transformations=3)).fit(train),
    ):
        page = page_of(tmp_path, fitted, readings)
        assert page.all("math")
        assert f"Parameters of {type(fitted).__name__}" in page.words


def test_images_are_pictures(tmp_path, digits):
    images, X, odd = digits
    page = page_of(tmp_path, images, X, labels=odd)
    pictures = page.all("img")
    n_anomalous = int((images.predict(X) == -1).sum())
    assert n_anomalous
    # Each with its fix and the attribution of its pixels; the mean and the spread of all.
    assert len(pictures) == 3 * n_anomalous + 2
    assert all(each["src"].startswith("data:image/png;base64,") for each in pictures)
    assert all(each["alt"] for each in pictures)
    assert "40 images of 8 × 8 pixels" in page.words
    assert "Anomalous images" in page.words
    assert " row" not in page.words.split("Parameters of")[0].split("Spectrum")[0].lower()


def test_a_preprocessor_that_is_not_affine_is_not_explained(tmp_path, readings):
    bent = TransformationDetector(
        AnyOf(Identity(), RandomAffine(n_transformations=2)),
        preprocessor=FunctionTransformer(np.tanh),
    )
    page = page_of(tmp_path, bent.fit(plant(200).to_numpy()), readings.to_numpy())
    assert "Not explained: explain carries the attribution back" in page.words
    assert "u₁, u₂" in page.words


def test_equations_in_columns_stand_beside_no_others(tmp_path, recipe, readings):
    page_of(tmp_path, recipe, readings)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    cards = re.findall(r"<article.*?</article>", text, re.DOTALL)
    in_columns = [each for each in cards if "this gives" in each]
    assert len(in_columns) > 1
    assert not any("<mi>u</mi>" in each for each in in_columns)  # a coordinate of the detector


# --- nothing is loaded, nothing runs --------------------------------------------------------------


def test_the_page_needs_nothing_else(tmp_path, digits):
    page = page_of(tmp_path, *digits[:2])
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in page.tags}
    for _, attrs in page.tags:
        for name in ("src", "href", "data", "srcset", "style"):
            value = attrs.get(name) or ""
            assert value.startswith(("data:", "#")) or "/" not in value
        assert not any(name.startswith("on") for name in attrs)
    (policy,) = [m["content"] for m in page.all("meta") if "http-equiv" in m]
    assert "default-src 'none'" in policy
    assert "script" not in policy
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"url\((?!#)", text)  # but of parts of the page itself


NASTY = ["<script>alert(1)</script>", '" onmouseover="alert(1)', "</style><b>\x00&amp;"]


def test_every_string_is_escaped(tmp_path, readings):
    table = readings.set_axis(NASTY, axis=1)
    fitted = VanishingDetector().fit(plant(200).set_axis(NASTY, axis=1))
    page = page_of(tmp_path, fitted, table, title=NASTY[0], ids=NASTY * 20, feature_names=NASTY)
    assert not page.all("script")
    assert not page.all("b")
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert NASTY[0] in page.words
    assert NASTY[1] in page.words
    assert "\x00" not in (tmp_path / "report.html").read_text(encoding="utf-8")


@settings(max_examples=5)
@given(st.lists(st.text(max_size=12), min_size=3, max_size=3))
def test_any_names_make_a_sound_page(tmp_path_factory, detector, readings, names):
    folder = tmp_path_factory.mktemp("names")
    page = page_of(folder, detector, readings.iloc[:3], feature_names=names, title=names[0])
    assert {tag for tag, _ in page.tags} <= ALLOWED


ALLOWED = {"html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section"}
ALLOWED |= {"h1", "h2", "h3", "h4", "p", "a", "span", "div", "ul", "ol", "li", "dl", "dt", "dd"}
ALLOWED |= {"table", "caption", "thead", "tbody", "tr", "th", "td", "article", "details", "summary"}
ALLOWED |= {"strong", "sup", "figure", "figcaption", "svg", "path", "text"}
ALLOWED |= {"g", "defs", "use", "clippath", "rect"}  # of matplotlib
ALLOWED |= {"math", "mn", "mi", "mo", "msup", "msub", "msubsup", "mspace", "wbr"}


# --- edges ----------------------------------------------------------------------------------------


def test_one_row(tmp_path, detector, readings):
    page = page_of(tmp_path, detector, readings.iloc[[7]])
    assert "1 row and 3 columns" in page.words


def test_no_anomalies_and_one_kind_of_label(tmp_path, detector):
    typical = plant(400).iloc[:20]
    typical = typical[detector.predict(typical) == 1]
    page = page_of(tmp_path, detector, typical, labels=np.zeros(len(typical)))
    assert "No row is above the threshold" in page.words
    assert "All labels are the same, so there is no ROC curve" in page.words


def test_constant_columns(tmp_path):
    train = plant(200).assign(constant=3.0)
    new = plant(30, seed=2).assign(constant=3.0)
    new.loc[4, "constant"] = 4.0
    page = page_of(tmp_path, VanishingDetector().fit(train), new, train=train)
    assert "Row 4" in page.words
    everywhere = pd.DataFrame(np.ones((30, 2)), columns=["a", "b"])
    page = page_of(tmp_path, VanishingDetector().fit(everywhere), everywhere)
    assert "every column of the training data is constant" in page.words


@pytest.mark.filterwarnings("ignore::vanishing.ideal.OverflowWarning")
def test_scores_beyond_all_numbers(tmp_path, detector, readings):
    far = readings.copy()
    far.iloc[0] = 1e200
    labels = np.arange(60) == 0
    page = page_of(tmp_path, detector, far, labels=labels)
    assert "infinite" in page.words
    assert "1 row with an infinite score too far from normal data" in page.words
    assert "Area under the ROC curve 1.000" in page.words


def test_wide_tables_are_capped_and_said_to_be(tmp_path):
    rng = np.random.default_rng(0)
    train = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 60)) + 0.1 * rng.normal(size=(60, 60))
    ideal = VanishingIdeal(max_degree=1, tol=0.5)
    page = page_of(tmp_path, VanishingDetector(ideal).fit(train), train[:10])
    assert "20 more columns not shown" in page.words
    assert "smaller terms left out" in page.words


def test_explaining_is_bounded(tmp_path, detector, readings, monkeypatch):
    monkeypatch.setattr(anomalies, "SECONDS", 0.0)
    monkeypatch.setattr(anomalies, "SCORED_PER_ROW", 0)
    page = page_of(tmp_path, detector, readings)
    assert "Explained: the 1 row with the highest scores. More" in page.words
    assert "would have taken longer than 0 seconds" in page.words
    monkeypatch.setattr(anomalies, "SCORED_PER_ROW", 1)
    page = page_of(tmp_path, detector, readings)
    assert "Not explained: with 3 columns that would take about" in page.words


@pytest.mark.parametrize("make", [np.ndarray.tolist, tensor])
def test_other_containers(make, tmp_path, readings):
    fitted = VanishingDetector().fit(plant(100).to_numpy())
    page = page_of(tmp_path, fitted, make(readings.to_numpy()))
    assert "60 rows and 3 columns" in page.words


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"labels": [0.0, np.nan] + [1.0] * 58}, "missing in 1 of 60 rows"),
        ({"labels": ["normal"] * 60}, "1 for anomalies and 0 for normal rows.*got 'normal'"),
        ({"labels": [0, 1, 2] * 20}, r"got the values \[0.0, 1.0, 2.0\]"),
        ({"labels": [0, 1]}, r"labels must be one value for each of the 60 rows.*\(2,\)"),
        ({"scores": np.full(60, np.nan)}, "scores contain NaN"),
        ({"scores": np.zeros(59)}, "scores must be one value for each of the 60 rows"),
        ({"ids": ["a"]}, "ids must name each of the 60 rows of X, got 1"),
        ({"feature_names": ["a"]}, "expected 3 feature names, got 1"),
        ({"train": np.zeros((5, 2))}, "features"),
    ],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_bad_input_is_refused_and_nothing_is_written(
    tmp_path, detector, readings, parameters, message
):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ValueError, match=message):
        write_report(path, detector, readings, **parameters)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_a_folder_that_is_not_there(tmp_path, detector, readings):
    with pytest.raises(FileNotFoundError, match="make it first"):
        write_report(tmp_path / "missing" / "r.html", detector, readings)
    with pytest.raises(IsADirectoryError):
        write_report(tmp_path, detector, readings.iloc[:2])


def test_a_loaded_detector_gives_the_same_page(tmp_path, recipe, digits, readings):
    for model, X in ((recipe, readings), digits[:2]):
        model.save(tmp_path / "model")
        words = [page_of(tmp_path, each, X).words for each in (model, load(tmp_path / "model"))]
        first, second = (re.sub(r"written on .*? UTC", "", each) for each in words)
        assert first == second


@pytest.mark.filterwarnings("ignore::vanishing.ideal.OverflowWarning")
def test_numbers_at_the_end_of_the_range(tmp_path, detector, readings):
    far = readings.copy()
    far.iloc[0] = 1e308
    far.iloc[1] = -1e308
    assert "inf" in page_of(tmp_path, detector, far).words


def test_other_detectors_are_refused(tmp_path, readings):
    with pytest.raises(TypeError, match="got IsolationForest"):
        write_report(tmp_path / "r.html", IsolationForest(), readings)
    with pytest.raises(NotFittedError):
        write_report(tmp_path / "r.html", VanishingDetector(), readings)
    with pytest.raises(ValueError, match="NaN"):
        write_report(tmp_path / "r.html", VanishingDetector().fit(plant(50)), readings * np.nan)
    assert not list(tmp_path.iterdir())


# --- the parts ------------------------------------------------------------------------------------


def test_formulas_are_the_equations(recipe, readings):
    """What is written agrees with the polynomial, up to a tenth of what is usual a term."""
    detector = recipe
    part = detector.anomaly_score_.parts[0]
    rows = plant(400).to_numpy()
    about = (
        tuple(readings.columns),
        detector.anomaly_score_.normal.mean,
        detector.anomaly_score_.normal.spread,
    )
    formula = Formulas(part, rows, *about).formula(0, 0)
    spoken = formula.element.get("aria-label").removesuffix(" ≈ 0").replace("−", "-")
    for old, new in (("^", "**"), ("·", "*"), ("- ", "-"), ("+ ", "+")):
        spoken = spoken.replace(old, new)
    columns = dict(zip(readings.columns, rows.T, strict=True))
    written = eval(spoken, {}, columns)
    component = part.components[0]
    exact = component.residuals(part.coordinates(rows))[:, 0]
    scale = formula.usual / component.typical[0]
    error = np.minimum(np.abs(written - scale * exact), np.abs(written + scale * exact))
    assert np.sqrt(np.mean(error**2)) < formula.usual


def test_area_and_interval_of_the_roc_curve():
    rng = np.random.default_rng(0)
    labels = rng.random(500) < 0.2
    scores = np.round(rng.normal(size=500) + labels, 1)  # with ties
    found = compare_with_labels(scores, labels)
    assert found.auc == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    low, high = found.auc_interval
    assert low < found.auc < high
    # The standard error of an area, by Hanley and McNeil.
    a, n_a, n_n = found.auc, labels.sum(), (~labels).sum()
    q1, q2 = a / (2 - a), 2 * a * a / (1 + a)
    variance = a * (1 - a) + (n_a - 1) * (q1 - a * a) + (n_n - 1) * (q2 - a * a)
    assert (high - low) / (2 * 1.96) == pytest.approx(np.sqrt(variance / n_a / n_n), rel=0.25)


def test_a_page_about_laws(tmp_path):
    table = plant(80).round(2)
    table["power"] = table["speed"] * table["force"]
    table.loc[5, "power"] += 1
    laws = discover(table)
    path = tmp_path / "laws.html"
    write_laws_report(path, laws)
    words = Page(path.read_text(encoding="utf-8")).words
    assert "One law in 3 columns of 80 rows; exact." in words
    evidence = " · ".join(filter(None, laws[0].evidence))
    assert f"power = speed · force {evidence}" in words
    assert evidence.endswith("bits · exact · 79 rows · 1 breaks it")
    write_laws_report(path, laws, laws.check(table), X=table.to_numpy())
    page = Page(path.read_text(encoding="utf-8"))
    assert "1 of 80 rows breaks a law. All 3 columns are in a law." in page.words
    value, fix = changed_number(table.loc[5, "power"], table.loc[5, "power"] - 1)
    assert f"power {value} → {fix}" in page.words
    assert "% 1. power = speed · force" in page.words
    said = re.findall(r"wrong cell: (?:under |over )?(\d+)\s%", page.words)
    chances = [int(each) for each in said]
    assert len(chances) == 3
    assert 98 <= sum(chances) <= 102
    assert {tag for tag, _ in page.tags} <= ALLOWED
    table.loc[:, :] = np.random.default_rng(0).normal(size=(80, 3))
    laws = discover(table)
    for check in (None, laws.check(table)):
        write_laws_report(path, laws, check)
        words = Page(path.read_text(encoding="utf-8")).words
        assert "No law found" in words
        assert "break a law" not in words
    assert "vanishing detect finds rows that are unlike the others" in words


def test_a_page_about_equations(tmp_path):
    rng = np.random.default_rng(0)
    speed, force = rng.uniform(0.2, 4, (2, 300))
    power = speed * force + 0.01 * rng.normal(size=300)
    train = pd.DataFrame({"speed": speed, "force": force, "power": power})
    path = tmp_path / "equations.html"
    for model in (
        make_pipeline(StandardScaler(), VanishingIdeal(tol="auto")).fit(train),
        VanishingIdeal(tol=0.02).fit(train),
    ):
        write_equations_report(path, model, train, ids=[f"r{i}" for i in range(300)], title="Pump")
        page = Page(path.read_text(encoding="utf-8"))
        (label,) = {e["aria-label"] for e in page.all("span") if "≈ 0" in e.get("aria-label", "")}
        assert label == "speed · force − power ≈ 0"
        assert "1 equation in 3 columns." in page.words
        assert "The 20 rows that are furthest off" in page.words
        assert {tag for tag, _ in page.tags} <= ALLOWED
    nothing = VanishingIdeal(max_degree=1, tol=0.001).fit(train)
    write_equations_report(path, nothing, train)
    assert "No polynomial vanishes up to the tolerance" in path.read_text(encoding="utf-8")
    with pytest.raises(TypeError, match=r"VanishingIdeal or a Pipeline .* got StandardScaler"):
        write_equations_report(path, StandardScaler().fit(train), train)


def test_pictures_have_the_colours_of_images(tmp_path):
    """Three channels are red, green and blue; one is ink on paper."""
    from base64 import b64decode
    from io import BytesIO

    from matplotlib import pyplot as plt

    images = np.zeros((40, 4, 4, 3))
    images[..., 0] = 0.5 + 0.1 * np.random.default_rng(0).uniform(size=(40, 4, 4))
    images[..., 1] = images[..., 0] / 2
    X = images.reshape(40, -1)
    detector = TransformationDetector(
        Rotations((4, 4, 3), angles=(0, 90)), preprocessor=PCA(6), contamination=0.05
    )
    page = page_of(tmp_path, detector.fit(X), X)
    source = page.all("img")[0]["src"].removeprefix("data:image/png;base64,")
    shown = plt.imread(BytesIO(b64decode(source)), format="png")[:, :, :3]
    assert shown.shape == (4, 4, 3)
    levels = shown.mean(axis=(0, 1))
    assert levels[0] > 1.5 * levels[1] > levels[2] == 0


def test_a_row_in_which_no_column_stands_out():
    names = tuple(f"x{i}" for i in range(40))
    why = Explanation(np.ones(40), np.zeros(40), 5.0, 1.0, np.full(40, 0.1), (), names, np.ones(40))
    assert list_changes(why) == []
    assert describe_fix(why) == "No column stands out: all columns together are unusual."


def test_shapes_of_images_are_found_in_sets(detector):
    both = TransformationDetector(
        AnyOf(Rotations((6, 6)), Translations((6, 6), shift=1, identity=False))
    )
    both.n_features_in_ = 36
    assert image_shape_of(both) == (6, 6)
    both.n_features_in_ = 35  # parameters were set after the fit
    assert image_shape_of(both) is None
    assert image_shape_of(detector) is None


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("needs chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory, recipe, readings, digits):
    folder = tmp_path_factory.mktemp("pages")
    labels = (np.arange(60) == 7).astype(int)
    names = ["speed", "x" * 80, "<i>power</i>"]
    long = [
        f"measurement campaign of 2024, laboratory B, run {i} of the series" for i in range(400)
    ]
    write_report(
        folder / "table.html",
        recipe,
        readings,
        labels=labels,
        train=plant(400),
        feature_names=names,
        ids=long[:60],
    )
    write_report(folder / "images.html", *digits[:2], labels=digits[2])
    exact = plant(80).round(2)
    exact["power"] = exact["speed"] * exact["force"]
    exact.loc[5, "power"] += 1
    exact.loc[9, "power"] = np.nan
    exact.index = long[:80]
    laws = discover(exact)
    write_laws_report(folder / "laws.html", laws, laws.check(exact), X=exact.to_numpy())
    scaled = make_pipeline(StandardScaler(), VanishingIdeal(tol="auto")).fit(plant(200))
    write_equations_report(folder / "equations.html", scaled, plant(200), ids=long[:200])
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["table", "images", "laws", "equations"])
def test_no_serious_violation_of_accessibility(browser, pages, name, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    failed = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.on("console", lambda message: failed.append(message.text))
    page.goto(Path(pages / f"{name}.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    found = Axe().run(page).response["violations"]
    assert not [each for each in found if each["impact"] in ("serious", "critical")]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390  # nothing sticks out
    assert not failed
    page.close()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["table", "images", "laws", "equations"])
def test_no_text_runs_into_its_neighbour(browser, pages, name, width):
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto(Path(pages / f"{name}.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    wider = """all => all.filter(each => each.scrollWidth > each.clientWidth + 1)
                      .map(each => each.textContent)"""
    assert page.locator(":is(tbody th, td, article, dd, dt):visible").evaluate_all(wider) == []
    # On a phone no table has to be moved sideways.
    assert page.locator(".scrolled").evaluate_all(wider) == []
    page.close()


def test_long_terms_break_into_lines():
    terms = Sum(np.array([[1, 1]]), [0.25], 4)
    (term,) = mathml_equation(terms, ["a long name", "another name"]).findall("span")
    assert [each.tag for each in term] == ["math", "wbr", "math"]
    assert not mathml_equation(terms, ["x", "y"]).findall("span")


def test_dark_mode_follows_and_print_is_light(browser, pages):
    page = browser.new_page(color_scheme="dark")
    page.goto(Path(pages / "table.html").as_uri())
    look = "getComputedStyle(document.querySelector('{}')).{}"

    def brightness(selector, what):
        rgb = re.findall(r"\d+", page.evaluate(look.format(selector, what)))[:3]
        return sum(map(int, rgb)) / 3

    assert brightness("body", "backgroundColor") < 60
    assert brightness("svg text", "fill") > 180
    page.emulate_media(media="print")
    assert brightness("body", "backgroundColor") == 255
    assert brightness("svg text", "fill") == 0
    assert not page.evaluate("document.querySelector('details').checkVisibility()")
    page.close()


@pytest.mark.parametrize("name", ["table", "images", "laws", "equations"])
def test_print_fits_on_four_pages(browser, pages, name):
    page = browser.new_page()
    page.goto(Path(pages / f"{name}.html").as_uri())
    printed = page.pdf(format="A4")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 4
    page.close()


def test_the_histogram_uses_the_width(browser, pages):
    for width, share in ((1280, 0.9), (390, 0.9)):
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(Path(pages / "table.html").as_uri())
        shown = page.locator(".either svg:visible")
        assert shown.count() == 1
        room = page.locator("main").bounding_box()["width"]
        assert shown.bounding_box()["width"] > share * room
        page.close()


def test_equation_of_one_ideal_is_the_law(tmp_path):
    rng = np.random.default_rng(0)
    temperature, volume = rng.uniform(280, 360, 400), rng.uniform(0.5, 2, 400)
    amount = rng.uniform(10, 60, 400)
    pressure = 0.008314 * amount * temperature / volume * (1 + 0.01 * rng.normal(size=400))
    gas = pd.DataFrame({"T": temperature, "p": pressure, "V": volume, "n": amount})
    detector = VanishingDetector(VanishingIdeal(max_degree=2, tol=0.02)).fit(gas)
    new = gas[:50].copy()
    new.loc[7, "p"] *= 1.3
    page = page_of(tmp_path, detector, new, train=gas)
    spoken = [
        each["aria-label"] for each in page.all("span") if "≈ 0" in each.get("aria-label", "")
    ]
    assert len(spoken) > 1  # in the section of equations, and beside the anomalies
    for text in spoken:
        law = re.fullmatch(r"T · n − ([\d.]+) · p · V ≈ 0", text)
        assert float(law[1]) == pytest.approx(1 / 0.008314, rel=0.01)
    # Rows that are too few, or do not satisfy the equations, do not tell the noise.
    (part,) = detector.anomaly_score_.parts
    given = (
        ("T", "p", "V", "n"),
        detector.anomaly_score_.normal.mean,
        detector.anomaly_score_.normal.spread,
    )
    assert not Formulas(part, gas.to_numpy()[:20], *given).tidied
    assert not Formulas(part, gas.to_numpy()[:, [0, 2, 1, 3]], *given).tidied
    assert Formulas(part, gas.to_numpy(), *given).tidied


# --- long lists and what has no place on a page ---------------------------------------------------


def test_long_lists_of_laws_are_folded_and_cut(tmp_path, monkeypatch):
    monkeypatch.setattr("vanishing.app.report.page.LISTED", 2)
    monkeypatch.setattr("vanishing.app.report.page.FOLDED", 3)
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 5, (60, 6))
    X[:, 2], X[:, 5] = X[:, 0] ** 2, X[:, 3] + X[:, 4]
    names = ["r", "u", "area", "a", "b", "sum"]
    laws = discover(X, names)
    X[:7, 5] += 3
    X[7, [2, 5]] += 3
    page = tmp_path / "laws.html"
    write_laws_report(page, laws, laws.check(X), X=pd.DataFrame(X[:, ::-1], columns=names[::-1]))
    text = page.read_text(encoding="utf-8")
    assert "3 more rows" in text
    assert "3 more rows not listed." in text
    assert "r<sup>2</sup>" in text
    with pytest.raises(ValueError, match="X lacks u and area"):
        write_laws_report(
            page, laws, X=pd.DataFrame(X[:, [0, 3, 4, 5]], columns=[*list("rab"), "sum"])
        )


def test_rows_that_no_two_cells_fix_are_said_to_be(tmp_path):
    X = np.random.default_rng(0).uniform(1, 5, (60, 9))
    X[:, 2::3] = X[:, 0::3] + X[:, 1::3]
    laws = discover(X)
    X[4, 2::3] += 3
    write_laws_report(tmp_path / "laws.html", laws, laws.check(X))
    text = (tmp_path / "laws.html").read_text(encoding="utf-8")
    assert "no change of one or two cells would fix it" in text


def test_equations_as_fitted_where_they_cannot_be_rounded(tmp_path, monkeypatch):
    monkeypatch.setattr("vanishing.app.report.page.LARGE_LISTED", 1)
    monkeypatch.setattr("vanishing.app.report.page.LARGE_FOLDED", 1)
    X = np.random.default_rng(0).normal(size=(60, 2)) @ np.random.default_rng(1).normal(size=(2, 6))
    X += 0.01 * np.random.default_rng(2).normal(size=X.shape)
    ideal = VanishingIdeal(max_degree=1, tol=0.1).fit(X)
    assert ideal.basis_.count() == 4

    def refuse(*_, **__):
        raise ValueError("too many terms")

    monkeypatch.setattr("vanishing.app.report.equations.tidy", refuse)
    write_equations_report(tmp_path / "few.html", ideal, X)
    text = (tmp_path / "few.html").read_text(encoding="utf-8")
    assert "As fitted; dots stand for all but the largest terms." in text
    assert "1 more equation" in text
    assert "2 more equations not listed." in text


def test_exact_equations_have_no_rows_that_are_off(tmp_path):
    x = np.linspace(-1, 1, 50)
    X = np.column_stack([x, 2 * x + 1])
    write_equations_report(tmp_path / "line.html", VanishingIdeal(tol=0).fit(X), X)
    text = (tmp_path / "line.html").read_text(encoding="utf-8")
    assert "Every row satisfies the equations up to rounding errors." in text


def test_more_anomalies_than_are_listed_are_counted(tmp_path, detector, readings, monkeypatch):
    monkeypatch.setattr("vanishing.app.report.page.LISTED", 1)
    monkeypatch.setattr("vanishing.app.report.page.FOLDED", 1)
    scores = detector.score_samples(readings)
    low = np.argsort(scores)[:5]
    X = readings.iloc[np.concatenate([low, low, low])]
    content = page_of(tmp_path, detector, X)
    n_anomalous = int((detector.predict(X) == -1).sum())
    assert n_anomalous > 2
    assert f"{n_anomalous - 2} more row" in content.words
    assert "not listed." in content.words


@pytest.mark.filterwarnings("ignore::vanishing.ideal.OverflowWarning")
def test_images_beyond_all_numbers_are_drawn_without_an_explanation(tmp_path, digits):
    model, X = digits[0], np.asarray(digits[1], dtype=float).copy()
    X[0] = 1e200
    content = page_of(tmp_path, model, X[:3])
    alternatives = [attributes.get("alt") for attributes in content.all("img")]
    assert "image 0" in alternatives


def test_curves_are_thinned_out_where_nobody_sees_it(tmp_path, detector):
    many = plant(20_000, seed=3)
    labels = np.random.default_rng(0).integers(0, 2, len(many))
    page_of(
        tmp_path, detector, many, labels=labels, scores=np.random.default_rng(1).normal(size=20_000)
    )
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    charts = text[text.index("ROC curve, area") - 100 :].partition("</figure>")[0]
    assert len(charts) < 60_000


@pytest.mark.parametrize(
    ("names", "joined"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (list("abcd"), "a, b and 2 more")],
)
def test_names_in_a_row(names, joined):
    assert join(names, most=2) == joined


def test_formulas_too_large_to_be_written_are_counted(tmp_path, detector, readings, monkeypatch):
    monkeypatch.setattr("vanishing.app.report.equations.is_quick", lambda *_: False)
    monkeypatch.setattr("vanishing.app.report.equations.MOST_WRITTEN_TERMS", 0)
    monkeypatch.setattr("vanishing.app.report.equations.MOST_PARTS", 1)
    content = page_of(tmp_path, detector, readings)
    assert "too large to be written out" in content.words


def test_parts_beyond_the_first_are_named(tmp_path, recipe, readings, monkeypatch):
    monkeypatch.setattr("vanishing.app.report.equations.MOST_PARTS", 2)
    words = page_of(tmp_path, recipe, readings).words
    assert "Not listed: " in words
    assert "Not drawn: " in words


def test_labels_in_a_column_of_a_frame(tmp_path, detector, readings):
    labels = pd.DataFrame({"label": np.arange(60) % 30 == 7})
    expected = page_of(tmp_path, detector, readings, labels=labels["label"]).words
    assert page_of(tmp_path, detector, readings, labels=labels).words == expected


def test_equations_are_formulas_of_a_column():
    """What is off is said of the column that is to be changed: its value, and what it should be."""
    terms = Sum(np.array([[0, 0, 1], [1, 1, 0], [0, 0, 0]]), [-2.0, 1.0, 4.0], 3)
    formula = Formula(terms, ["speed", "force", "power"], 0.1)
    written, value = formula.solve_for(2, np.array([3.0, 2.0, 9.0]))
    assert written.get("aria-label") == "power ≈ 0.5 · speed · force + 2"
    assert value == pytest.approx(5.0)
    assert formula.solve_for(0, np.ones(3)) is None  # it is multiplied by another column
    assert formula.explicit().get("aria-label") == formula.element.get("aria-label")
    total = Sum(np.eye(3, dtype=int), [1.0, -1.0, 1.0], 3)
    label = Formula(total, ["in", "total", "out"], 0.1).explicit().get("aria-label")
    assert label == "total ≈ in + out"


def test_the_few_equations_that_anomalous_rows_break_are_named(recipe, tmp_path):
    """A detector of clusters has hundreds of equations, which say nothing by their number."""
    rows = plant(60, seed=1)
    rows.loc[[3, 20], "power"] *= 1.4
    write_report(tmp_path / "page.html", recipe, rows)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    section = text[text.index('id="equations"') :]
    section = section[: section.index("</section>")]
    n_general, n_clusters = re.search(
        r"Normal rows satisfy (\d+) equations, up to noise; (\d+) more hold in", section
    ).groups()
    assert int(n_general) < 10 < int(n_clusters)
    named = section[section.index("Broken most by anomalous rows") :]
    named = named[: named.index("</ol>")]
    assert 1 <= named.count("<li>") <= 3
    assert "power" in named


def test_a_report_without_anomalous_rows_names_no_broken_equation(detector, tmp_path):
    write_report(tmp_path / "page.html", detector, plant(5), scores=np.zeros(5))
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Broken most by" not in text
    assert "more hold in" not in text


def test_a_page_about_measurements(tmp_path):
    """A picture of each law, its constants with their errors, and missing cells by themselves."""
    rng = np.random.default_rng(0)
    T, V, n = rng.uniform([[280], [0.5], [10]], [[360], [2], [60]], (3, 300))
    p = 0.008314 * n * T / V * (1 + 0.01 * rng.normal(size=300))
    table = pd.DataFrame({"T": T, "p": p, "V": V, "n": n})
    laws = discover(table)
    table.loc[7, "p"] *= 1.5
    table.loc[20, "T"] = np.nan
    write_laws_report(tmp_path / "laws.html", laws, laws.check(table), X=table)
    text = (tmp_path / "laws.html").read_text(encoding="utf-8")
    (value, error) = re.search(r"\(([\d.]+) ± ([\d.]+)\) · p · V", text).groups()
    assert abs(float(value) - 1 / 0.008314) < 4 * float(error)
    page = Page(text)
    sections = [each["id"] for each in page.all("section")]
    assert sections == ["broken", "missing", "laws", "data", "details"]
    (drawn,) = [each for each in page.all("svg") if "aria-label" in each]
    assert drawn["aria-label"].startswith("Measured against predicted: T*n = ")
    assert ">row 7</text>" in text
    colors = set(re.findall(r"(?:fill|stroke): (#\w+|var\([\w-]+\))", text.partition("<body")[2]))
    assert colors <= {f"var(--{each})" for each in ("normal", "anomaly", "rest", "ink", "note")}


def test_no_number_is_minus_zero(tmp_path):
    a, b = np.random.default_rng(0).integers(-9, 9, (2, 60)).astype(float)
    table = np.column_stack([a, -a, b, b - a])
    laws = discover(table, list("abcd"))
    table[a == 0, 1] = -0.0
    table[3, 3] += 0.5
    table[4, 1] = np.nan
    write_laws_report(tmp_path / "laws.html", laws, laws.check(table), X=table)
    text = (tmp_path / "laws.html").read_text(encoding="utf-8").partition("<svg")[0]
    assert not re.search(r"[>\s][−-]0(?![.\d])", text.partition("<body")[2])


def test_a_wrong_total_is_no_row_that_breaks_a_law(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(10, 999, (240, 2)), columns=["a", "b"])
    frame["c"] = frame["a"] + frame["b"]
    frame.loc[240] = frame.sum()
    frame["kind"] = [*rng.choice(["cash", "card", "bill"], 240), ""]
    laws = discover(frame)
    assert ("kind",) in [each.columns for each in laws.domains]
    frame.loc[3, "c"] += 7
    frame.loc[240, "c"] = frame["c"][:240].sum()
    frame.loc[240, "a"] += 40
    check = laws.check(frame)
    assert check.verdict().startswith("1 of 240 rows breaks a law; the total is not the sum")
    write_laws_report(tmp_path / "page.html", laws, check, X=frame)
    page = (tmp_path / "page.html").read_text()
    assert re.search(r"of 240 rows break a law</dt>\s*<dd>1<", page)
    assert "In no law" not in page  # nor is a column that a rule speaks of
