"""Results of a set of fits, recorded once: changes of the house change no number.

``python tests/test_recorded_results.py`` records them anew, for a change that is meant to.
"""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from tests.support.paths import DATA
from vanishing import (
    ClassVanishingFeatures,
    TransformationDetector,
    VanishingDetector,
    VanishingIdeal,
)
from vanishing.datasets import make_variety

RECORD = DATA / "recorded_results.npz"
NORMALIZATIONS = ("vca", "coefficient", "gradient", "gradient-weighted", "contrastive")


def digits():
    images, labels = load_digits(return_X_y=True)
    return PCA(8, svd_solver="full").fit_transform(images), labels


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 3] = X[:, 0] * X[:, 1] + 0.01 * rng.normal(size=300)
    return X


def ideal_of_threes(normalization, reduction):
    Z, labels = digits()
    contrast = Z[labels != 3] if normalization == "contrastive" else None
    ideal = VanishingIdeal(
        max_degree=3, tol=0.3, normalization=normalization, reduction=reduction
    ).fit(Z[labels == 3], contrast=contrast)
    return np.append(ideal.extents_, ideal.transform(Z[:10]).sum(axis=1))


def ideal_of_variety(name):
    ideal = VanishingIdeal(max_degree=3, tol=1e-3).fit(make_variety(name, 200, random_state=0))
    # Among equations of extent 0 only their number and span are promised.
    values = ideal.transform(make_variety(name, 20, random_state=1) + 0.1)
    return np.append(len(ideal.extents_), np.linalg.norm(values, axis=1))


def scores(detector):
    X = table()
    return np.append(detector.fit(X).offset_, detector.score_samples(X[:20] + 0.3))


def class_features():
    Z, labels = digits()
    values = ClassVanishingFeatures().fit(Z[:, :4], labels).transform(Z[:20, :4])
    return values.sum(axis=1)


def pipeline():
    images = load_digits().data
    ideal = VanishingIdeal(tol=5.0)
    model = make_pipeline(PCA(5, svd_solver="full"), VanishingDetector(ideal=ideal))
    return model.fit(images[:500]).score_samples(images[500:520])


RESULTS = {
    **{
        f"digits-{normalization}-{reduction}": (ideal_of_threes, normalization, reduction)
        for normalization in NORMALIZATIONS
        for reduction in ("tsqr", "gram")
    },
    **{
        f"variety-{name}": (ideal_of_variety, name)
        for name in ("circle", "viviani", "torus", "twisted-cubic", "segre")
    },
    "VanishingDetector": (lambda: scores(VanishingDetector()),),
    "TransformationDetector": (lambda: scores(TransformationDetector()),),
    "ClassVanishingFeatures": (class_features,),
    "pipeline": (pipeline,),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_those_that_were_recorded(name):
    make, *arguments = RESULTS[name]
    with np.load(RECORD) as record:
        expected = record[name]
    np.testing.assert_allclose(make(*arguments), expected, rtol=1e-10, atol=1e-10)


if __name__ == "__main__":
    np.savez(RECORD, **{name: make(*rest) for name, (make, *rest) in RESULTS.items()})
