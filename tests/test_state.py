"""A failed fit leaves the previous one usable; threads and processes share models."""

import contextlib
import multiprocessing
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import InconsistentVersionWarning

import vanishing
from tests.support.make_release_files import NAMES
from tests.support.paths import DATA
from vanishing import ClassVanishingFeatures, VanishingDetector, VanishingIdeal
from vanishing.detectors import ChristoffelDetector, image_detector


def table(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 4))
    X[:, 3] = X[:, 0] * X[:, 1] + 0.01 * rng.standard_normal(50)
    return X if seed == 0 else 3 * X + 1


A, B = table(0), table(1)
LABELS = (A[:, 0] > 0).astype(int)
DIGITS = load_digits().data / 16

#: A model, how it is fitted for the first time and again, and how it is used.
MODELS = {
    "ideal": (
        VanishingIdeal(tol=0.1),
        lambda m: m.fit(A),
        lambda m: m.fit(B),
        lambda m: m.transform(A),
    ),
    "partial fits": (
        VanishingIdeal(tol=0.1),
        lambda m: m.partial_fit(A),
        lambda m: m.partial_fit(B),
        lambda m: m.transform(A),
    ),
    "border basis": (
        VanishingIdeal(tol=0.1, construction="abm"),
        lambda m: m.fit(A),
        lambda m: m.fit(B),
        lambda m: m.transform(A),
    ),
    "class features": (
        ClassVanishingFeatures(),
        lambda m: m.fit(A, LABELS),
        lambda m: m.fit(B, 1 - LABELS),
        lambda m: m.transform(A),
    ),
    "detector": (
        VanishingDetector(random_state=0),
        lambda m: m.fit(A),
        lambda m: m.fit(B),
        lambda m: m.score_samples(A),
    ),
    "Christoffel function": (
        ChristoffelDetector(2, random_state=0),
        lambda m: m.partial_fit(A),
        lambda m: m.partial_fit(B),
        lambda m: m.score_samples(A),
    ),
    "images": (
        image_detector((8, 8), random_state=0),
        lambda m: m.fit(DIGITS[:30]),
        lambda m: m.fit(DIGITS[60:100]),
        lambda m: m.score_samples(DIGITS[:20]),
    ),
}


class Interrupt:
    """Raise KeyboardInterrupt when the package calls its n-th function; 0 counts the calls."""

    def __init__(self, at):
        self.at, self.calls = at, 0

    def __call__(self, frame, event, _):
        if event == "call" and "vanishing" in frame.f_globals.get("__name__", ""):
            self.calls += 1
            if self.calls == self.at:
                sys.setprofile(None)
                raise KeyboardInterrupt

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)


@pytest.mark.parametrize("name", MODELS)
def test_an_interrupted_fit_leaves_the_previous_one(name):
    """At random places, and at each of the last ones, where attributes are set."""
    template, fit, fit_again, use = MODELS[name]
    model = fit(pickle.loads(pickle.dumps(template)))
    before, attributes = use(model), dict(vars(model))
    other, another = (pickle.loads(pickle.dumps(model)) for _ in range(2))
    fit_again(other)  # imports what is imported late
    with Interrupt(0) as count:
        fit_again(another)
    rng = np.random.default_rng(0)
    # The work of some fits is divided differently each time, by a few calls.
    last = range(count.calls - 3, count.calls + 1) if name != "Christoffel function" else ()
    for at in [*rng.integers(1, count.calls - 50, 3).tolist(), *last]:
        with pytest.raises(KeyboardInterrupt), Interrupt(at):
            fit_again(model)
        assert vars(model).keys() == attributes.keys()
        assert all(vars(model)[key] is value for key, value in attributes.items())
        np.testing.assert_array_equal(use(model), before)
    assert not np.array_equal(use(fit_again(model)), before)


@pytest.mark.parametrize("name", ["ideal", "class features", "detector", "images"])
def test_threads_share_a_model(name):
    template, fit, _, use = MODELS[name]
    model = fit(pickle.loads(pickle.dumps(template)))
    expected = use(model)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: use(model), range(12)):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["ideal", "detector"])
def test_threads_that_score_during_a_fit_see_one_fit_or_the_other(name):
    template, fit, fit_again, use = MODELS[name]
    model = fit(pickle.loads(pickle.dumps(template)))
    other = fit_again(pickle.loads(pickle.dumps(model)))
    expected = [use(model).tobytes(), use(other).tobytes()]
    with ThreadPoolExecutor(3) as pool:
        running = pool.submit(fit_again, model)
        while not running.done():
            scored = [pool.submit(use, model) for _ in range(2)]
            assert all(each.result().tobytes() in expected for each in scored)
        running.result()
    assert use(model).tobytes() == expected[1]


def score(model):
    return model.score_samples(A)


@pytest.mark.programs
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_share_a_model(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {method}")
    model = VanishingDetector(random_state=0).fit(A)
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        for found in pool.map(score, [model] * 3):
            np.testing.assert_array_equal(found, score(model))


# --- Models of releases ---------------------------------------------------------------------------

RELEASES = sorted(DATA.glob("release_*"))


@pytest.mark.parametrize("release", RELEASES, ids=lambda folder: folder.name)
@pytest.mark.parametrize("name", NAMES)
def test_models_of_releases(release, name):
    """``python -m tests.support.make_release_files`` makes them once for each release."""
    said = np.load(release / "values.npz")
    found = [vanishing.load(release / f"{name}.safetensors")]
    with contextlib.suppress(InconsistentVersionWarning):  # pickles of another scikit-learn
        # Made by this repository.
        found.append(pickle.loads((release / f"{name}.pickle").read_bytes()))
    for model in found:
        values = getattr(model, NAMES[name])(said[f"{name} rows"])
        np.testing.assert_allclose(values, said[f"{name} values"], rtol=1e-9, atol=1e-12)


def test_the_present_release_has_its_files():
    assert DATA / f"release_{vanishing.__version__}" in RELEASES
