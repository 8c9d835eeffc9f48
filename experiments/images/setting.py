"""Settings of the paper's detector, and how one is chosen without labels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from experiments.images.data import Task, auc, evaluate, held_out, on_device
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA

from vanishing import TransformationDetector, VanishingIdeal
from vanishing.transformations import Transformations


@dataclass(frozen=True)
class Setting:
    """What has to be fixed beside the transformations.

    Parameters
    ----------
    dimension : int
        Principal components.
    degree : int
        Largest degree of the polynomials.
    tol : float
        With the contrastive normalization, size on the own copy relative to that on the others.
    weighting : {"convex", "descent"} or None
    normalization : str
    """

    dimension: int = 30
    degree: int = 2
    tol: float = 0.5
    weighting: Literal["convex", "descent"] | None = None
    normalization: str = "contrastive"

    def __str__(self) -> str:
        weights = {None: "no weights"}.get(self.weighting, f"{self.weighting} weights")
        return f"PCA {self.dimension}, degree {self.degree}, tol {self.tol:.2g}, {weights}"

    def ideal(self) -> VanishingIdeal:
        """Return what is fitted to each copy."""
        return VanishingIdeal(
            max_degree=self.degree,
            tol=self.tol,
            normalization=self.normalization,
            reduction="gram",
        )

    def detector(
        self, transformations: Transformations, *, preprocessor: Any = "pca"
    ) -> TransformationDetector:
        """Return the detector; transformations act before the principal components are taken."""
        if isinstance(preprocessor, str):
            preprocessor = PCA(self.dimension, random_state=0)
        return TransformationDetector(
            transformations,
            preprocessor=preprocessor,
            ideal=self.ideal(),
            weighting=self.weighting,
        )


#: Like the paper's, as far as it says: no search, and a degree that 30 components allow.
FIXED = Setting()


def in_principal_components(task: Task, dimension: int) -> Task:
    """Return the task in PCA coordinates of the normal images."""
    return task.mapped(PCA(dimension, random_state=0).fit(task.train).transform)


def evaluate_or_say_why_not(detector: Any, task: Task) -> dict[str, Any]:
    """Evaluate; where no polynomial vanishes at the tolerance there is a reason in place of it."""
    try:
        return evaluate(detector, task)
    except ValueError as error:
        return {"AUC": None, "problem": _expected(error)}


def compare(
    settings: Iterable[Setting],
    transformations: Transformations,
    task: Task,
    *,
    preprocessor: Any = "pca",
) -> list[dict[str, Any]]:
    """Return the held-out score of each setting, which is to be maximized.

    The AUC is written down beside it to show what the choice was worth. It takes no part in it.

    Parameters
    ----------
    settings : iterable of Setting
    transformations : Transformations
    task : Task
    preprocessor : None or "pca"
        None where the images are in the coordinates of the setting already.
    """
    kept, normal = held_out(task)
    kept, normal = Task(kept.train, on_device(kept.test), kept.is_normal), on_device(normal)
    reductions: dict[int, Any] = {}
    compared = []
    for setting in settings:
        if preprocessor is None:
            reduction = None
        else:
            if setting.dimension not in reductions:
                reductions[setting.dimension] = _fitted_pca(
                    transformations, kept.train, setting.dimension
                )
            reduction = reductions[setting.dimension]
        row: dict[str, Any] = {"setting": asdict(setting), "held-out score": None, "AUC": None}
        try:
            detector = setting.detector(transformations, preprocessor=reduction)
            detector.fit(on_device(kept.train))
            score = detector.score(normal)
            row["held-out score"] = round(score, 5) if np.isfinite(score) else None
            row["AUC"] = auc(detector, kept)
        except ValueError as error:
            row["problem"] = _expected(error)
        compared.append(row)
    return compared


def best(compared: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the row of the highest held-out score, or None where there is none."""
    scored = [row for row in compared if row["held-out score"] is not None]
    return dict(max(scored, key=lambda row: row["held-out score"])) if scored else None


class Fitted(TransformerMixin, BaseEstimator):
    """A transformer that is fitted already, so that a grid does not fit it in each point.

    (scikit-learn's FrozenEstimator cannot be fitted without a target.)
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def __sklearn_clone__(self) -> "Fitted":
        return self

    def fit(self, X: Any, y: Any = None) -> "Fitted":
        return self

    def transform(self, X: Any) -> Any:
        return self.transformer.transform(X)


def _fitted_pca(transformations: Transformations, images: np.ndarray, dimension: int) -> Fitted:
    """Fit the principal components of all copies once, as the detector would in each fit."""
    copies = [each(images) for each in transformations.for_width(images.shape[1])]
    return Fitted(PCA(dimension, random_state=0).fit(np.concatenate(copies)))


def _expected(error: ValueError) -> str:
    """Return the message of an error that a grid may run into; raise any other."""
    for message in ("no polynomial vanishes", "all weights are zero", "descent on the weights"):
        if message in str(error):
            return message
    raise error
