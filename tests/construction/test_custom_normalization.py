"""A sixth normalization, written by a user in a page of code."""

from dataclasses import dataclass

import numpy as np
import pytest

from vanishing import VanishingIdeal
from vanishing.construction.candidates import Form, Stage
from vanishing.construction.normalizations import Contrastive, Normalization, resolve_normalization


@dataclass(frozen=True)
class WeightedAnchors(Normalization):
    """Weighted mean square at a few fixed points: Σ_k w_k p(a_k) q(a_k)."""

    anchors: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]

    def form(self, stage: Stage) -> Form:
        values = stage.values(np.array(self.anchors))
        return stage.form(np.sqrt(np.array(self.weights))[:, None] * values)


def circle(noise=1e-3):
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 200)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + noise * rng.standard_normal((200, 2))


def test_what_it_promises_holds():
    anchors = np.random.default_rng(1).standard_normal((30, 2))
    weights = np.random.default_rng(2).uniform(0.1, 1, 30)
    normalization = WeightedAnchors(tuple(map(tuple, anchors.tolist())), tuple(weights.tolist()))
    ideal = VanishingIdeal(normalization=normalization, max_degree=3, tol=0.01).fit(circle())
    assert [step.vanishing for step in ideal.trace_] == [0, 1, 2]
    size = np.sqrt(weights @ ideal.transform(anchors) ** 2)
    np.testing.assert_allclose(size, 1, rtol=1e-10)


def test_equal_weights_are_the_contrastive_normalization():
    Y = np.random.default_rng(3).standard_normal((25, 2))
    mine = WeightedAnchors(tuple(map(tuple, Y.tolist())), (1 / 25,) * 25)
    ours = VanishingIdeal(normalization=Contrastive(), tol=0.01).fit(circle(), contrast=Y)
    theirs = VanishingIdeal(normalization=mine, tol=0.01).fit(circle())
    np.testing.assert_allclose(theirs.extents_, ours.extents_, rtol=1e-9)
    np.testing.assert_allclose(theirs.transform(Y), ours.transform(Y), rtol=1e-9)


def test_anything_else_is_refused():
    with pytest.raises(TypeError, match="instance of Normalization, got int"):
        resolve_normalization(3)
