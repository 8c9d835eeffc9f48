"""Choosing among detectors without labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vanishing.arrays.namespace import FloatArray, IntArray, move_to_host, unmask
from vanishing.data.inputs import check_training_table, make_row_picker

# --- Groups of normal data as pseudo-anomalies ----------------------------------------------------
#
# The score of a detector on held-out normal data ranks settings of one family. It says nothing
# across sets of transformations, where the set that is easiest to tell apart wins. A good detector
# finds samples strange that are unlike all that it has seen, which can be tried: leave a cluster of
# the normal data out, fit to the rest, and see how well the cluster is told from held-out samples
# of the rest.

#: Share of the samples outside the left-out group that are kept for comparison.
KEPT_FOR_COMPARISON = 0.25
#: A left-out group and the samples it is compared with need this many.
FEWEST = 5


@dataclass(frozen=True, eq=False)
class Selection:
    """Result of ``select_without_labels``.

    Parameters
    ----------
    names : tuple of str
        Of the candidates, best first.
    mean_auc : array of shape (n_candidates,)
        Mean area under the curve of left-out groups against held-out samples, in the same order.
    group_auc : array of shape (n_candidates, n_groups)
        The same, group by group; NaN where a fit failed.
    best_estimator : detector
        The best candidate, fitted to all samples.
    """

    names: tuple[str, ...]
    mean_auc: FloatArray
    group_auc: FloatArray
    best_estimator: Any

    def __str__(self) -> str:
        return "\n".join(
            f"{100 * mean:6.2f}  {name}"
            for name, mean in zip(self.names, self.mean_auc, strict=True)
        )


def select_without_labels(
    candidates: Mapping[str, Any],
    X: Any,
    *,
    groups: Any = None,
    n_groups: int = 10,
    representation: Any = None,
    random_state: int = 0,
) -> Selection:
    """Choose the detector that best finds groups of normal samples that it has not seen.

    Parameters
    ----------
    candidates : mapping of str to detectors
        Anything with ``fit`` and ``score_samples``, pipelines included. They may have different
        transformations, preprocessing and forms of the score.
    X : array-like of shape (n_samples, n_features)
        Normal data.
    groups : array-like of shape (n_samples,), optional
        What to leave out in turn, where it is known (machines, sites, kinds). Clusters by default.
    n_groups : int, default=10
        Number of clusters.
    representation : transformer or None, default=None
        Applied before clustering. None stands for standardized columns and the principal
        components that hold nine tenths of their variance; for images ``PCA(30)`` is better, since
        pixels have one scale.
    random_state : int, default=0
        Seed of clustering and of the samples kept for comparison.

    Returns
    -------
    Selection

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.decomposition import PCA
    >>> from vanishing import TransformationDetector
    >>> from vanishing.detectors import select_without_labels
    >>> from vanishing.transformations import Rotations, Translations
    >>> X, y = load_digits(return_X_y=True)
    >>> sets = {"rotations": Rotations((8, 8)), "shifts": Translations((8, 8), shift=2)}
    >>> candidates = {
    ...     name: TransformationDetector(each, preprocessor=PCA(12), contamination=0.05)
    ...     for name, each in sets.items()
    ... }
    >>> normal = X[:400][y[:400] % 2 == 0]
    >>> found = select_without_labels(candidates, normal, n_groups=4, representation=PCA(12))
    >>> found.names
    ('shifts', 'rotations')
    """
    if not candidates:
        raise ValueError("candidates is empty: at least one detector is required")
    table = check_training_table(BaseEstimator(), X)
    rows_of = make_row_picker(X, table)
    labels, held_out_groups = _groups(
        move_to_host(table), groups, n_groups, representation, random_state
    )
    auc = np.full((len(candidates), len(held_out_groups)), np.nan)
    errors: dict[str, Exception] = {}
    rng = np.random.default_rng(random_state)
    for g, group in enumerate(held_out_groups):
        strange, rest = np.flatnonzero(labels == group), np.flatnonzero(labels != group)
        rest = rng.permutation(rest)
        n_kept = max(FEWEST, round(KEPT_FOR_COMPARISON * len(rest)))
        compared, train = rest[:n_kept], rest[n_kept:]
        truth = np.repeat([1, 0], [len(compared), len(strange)])
        tested = rows_of(np.concatenate([compared, strange]))
        for c, (name, candidate) in enumerate(candidates.items()):
            try:
                fitted = clone(candidate).fit(rows_of(train))
            except (ValueError, MemoryError) as error:
                errors[name] = error
                continue
            scores = np.clip(move_to_host(fitted.score_samples(tested)), np.finfo(float).min, None)
            auc[c, g] = roc_auc_score(truth, scores)
    usable = ~np.isnan(auc).any(axis=1)
    if not usable.any():
        name, first = next(iter(errors.items()))
        raise ValueError(f"no candidate could be fitted; {name!r} failed: {first}") from first
    means = np.where(usable, np.mean(auc, axis=1), -np.inf)
    order = np.argsort(-means, kind="stable")
    names = list(candidates)
    best = clone(candidates[names[order[0]]]).fit(X if hasattr(X, "columns") else table)
    return Selection(tuple(names[c] for c in order), means[order], auc[order], best)


def _groups(
    X: FloatArray, groups: Any, n_groups: int, representation: Any, seed: int
) -> tuple[IntArray, IntArray]:
    """Return the group of each sample, as given or found by clustering, and which to leave out."""
    if groups is None:
        if representation is None:
            representation = make_pipeline(StandardScaler(), PCA(0.9, svd_solver="full"))
        reduced = clone(representation).fit_transform(X)
        groups = KMeans(n_groups, n_init=3, random_state=seed).fit(reduced).labels_
    labels = np.unique(np.asarray(unmask(groups, "groups")), return_inverse=True)[1].astype(np.intp)
    if labels.shape != (len(X),):
        raise ValueError(f"groups has shape {labels.shape}, but X has {len(X)} rows")
    sizes = np.bincount(labels)
    # Groups that are too small to be left out always stay in.
    left_out = np.flatnonzero((sizes >= FEWEST) & (len(X) - sizes >= 4 * FEWEST))
    if len(left_out) < 2:
        raise ValueError(
            f"X falls into groups of {sizes.tolist()} samples; at least two groups of {FEWEST} are "
            "required, to leave one out in turn"
        )
    return labels, left_out
