"""Records that fits and detectors leave are shown in one short line."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from vanishing import VanishingDetector, VanishingIdeal
from vanishing.algebra import contains, estimate_variety, project
from vanishing.datasets import make_variety
from vanishing.equations import affine_map, tidy

X = make_variety("twisted-cubic", 300, noise=0.001)
#: More than is read at a glance does not fit in the width of most terminals.
WIDTH = 160


def records():
    ideal = VanishingIdeal(max_degree=3, tol="auto").fit(X)
    detector = VanishingDetector(VanishingIdeal(max_degree=2, tol=0.1)).fit(X)
    explanation = detector.explain(X[:1] + 1)[0]
    border = VanishingIdeal(construction="abm", tol=0.01).fit(X)
    return [
        ideal.trace_[1],
        ideal.noise_,
        ideal.basis_,
        ideal.basis_.blocks[1],
        border.order_ideal_,
        tidy(ideal, X)[0],
        affine_map(StandardScaler().fit(X)),
        project(ideal.basis_, X),
        estimate_variety(ideal.basis_, X),
        contains(ideal.basis_, np.ones(20)),
        explanation,
        explanation.equations[0],
    ]


@pytest.mark.parametrize("record", records(), ids=lambda record: type(record).__name__)
def test_one_short_line_names_the_type(record):
    text = repr(record)
    assert type(record).__name__ in text
    assert "\n" not in text
    assert "array(" not in text
    assert len(text) <= WIDTH


def test_a_trace_says_what_was_found():
    ideal = VanishingIdeal(tol=1e-6).fit(make_variety("circle", 50))
    assert repr(ideal.trace_[1]) == (
        "<DegreeTrace: degree 2, 3 candidates, 1 vanishing, 2 nonvanishing, tol 1e-06>"
    )
