"""The same data gives the same numbers: for any number of threads, batches of rows and jobs."""

import json

import numpy as np
import pytest

from tests.support.processes import run_python
from vanishing import ClassVanishingFeatures, VanishingDetector, VanishingIdeal
from vanishing.detectors import image_detector

#: Prints digests of what models say, one for each.
SCRIPT = """
import hashlib, json, warnings
import numpy as np
from vanishing import VanishingDetector, VanishingIdeal, discover
from vanishing.detectors import image_detector

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.standard_normal((3000, 5))
X[:, 4] = X[:, 0] * X[:, 1] + 0.01 * rng.standard_normal(3000)
images = np.abs(rng.standard_normal((40, 3)) @ rng.standard_normal((3, 36)))
table = rng.uniform(1, 2, (80, 3))
table = np.column_stack([table, table[:, 0] * table[:, 1]])
found = {
    "ideal": VanishingIdeal(max_degree=3, tol=0.05).fit(X).transform(X),
    "oavi": VanishingIdeal(construction="oavi", max_degree=3, tol=0.05).fit(X).transform(X),
    "auto": VanishingIdeal(tol="auto").fit(X).transform(X, output="nonvanishing"),
    "detector": VanishingDetector(random_state=0).fit(X[:200]).score_samples(X),
    "images": image_detector((6, 6), random_state=0).fit(images).score_samples(images),
}
digests = {name: hashlib.sha256(values.tobytes()).hexdigest() for name, values in found.items()}
digests["laws"] = str(discover(table))
print(json.dumps(digests))
"""


@pytest.mark.programs
def test_any_number_of_threads_gives_the_same_bits():
    found = []
    for threads in (1, 2, 4):
        ran = run_python(SCRIPT, threads=threads)
        assert ran.returncode == 0, ran.stderr
        found.append(json.loads(ran.stdout))
    assert len(found[0]) == 6
    assert found[1] == found[0]
    assert found[2] == found[0]


def table(n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 5))
    X[:, 4] = X[:, 0] * X[:, 1] + 0.01 * rng.standard_normal(n_rows)
    return X


def pictures():
    rng = np.random.default_rng(0)
    return np.abs(rng.standard_normal((60, 3)) @ rng.standard_normal((3, 36)))


USED = {
    "ideal": lambda: (VanishingIdeal(max_degree=3, tol=0.05).fit(table()).transform, table()),
    "class features": lambda: (
        ClassVanishingFeatures().fit(table(), table()[:, 0] > 0).transform,
        table(),
    ),
    "detector": lambda: (VanishingDetector(random_state=0).fit(table()).score_samples, table()),
    "images": lambda: (
        image_detector((6, 6), random_state=0).fit(pictures()).score_samples,
        pictures(),
    ),
}


@pytest.mark.parametrize("name", USED)
def test_batches_of_rows_differ_by_rounding_only(name):
    use, rows = USED[name]()
    whole = np.asarray(use(rows))
    np.testing.assert_array_equal(use(rows), whole)
    for size in (1, 7):
        parts = [use(rows[start : start + size]) for start in range(0, len(rows), size)]
        np.testing.assert_allclose(
            np.concatenate(parts), whole, rtol=0, atol=1e-11 * np.abs(whole).max()
        )


def test_any_number_of_jobs_gives_the_same_bits():
    X = table(150)
    scores = [
        VanishingDetector(random_state=0, n_jobs=n_jobs).fit(X).score_samples(X)
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*scores)
    labels = X[:, 0] > 0
    features = [ClassVanishingFeatures(n_jobs=n).fit(X, labels).transform(X) for n in (1, 2)]
    np.testing.assert_array_equal(*features)


@pytest.mark.parametrize("n_chunks", [2, 5])
def test_chunks_differ_by_rounding_only(n_chunks):
    X = table()
    whole = VanishingIdeal(max_degree=3, tol=0.05).fit(X)
    chunked = VanishingIdeal(max_degree=3, tol=0.05).fit(np.array_split(X, n_chunks))
    for one, other in zip(whole.trace_, chunked.trace_, strict=True):
        np.testing.assert_allclose(other.spectrum, one.spectrum, rtol=1e-11)
