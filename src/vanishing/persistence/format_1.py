"""Detectors in files of format 1, which kept the parts of a score as attributes of the detector."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from vanishing.arrays.namespace import BoolArray, FloatArray
from vanishing.detectors.clusters import scale_component
from vanishing.detectors.mixture import measure_distance
from vanishing.detectors.score import (
    ClusterView,
    ConstantColumns,
    Coordinates,
    Mixture,
    Normal,
    Score,
)
from vanishing.detectors.transformation import TransformationDetector
from vanishing.detectors.vanishing import VanishingDetector, norm_of
from vanishing.explain.view import Component, View
from vanishing.ideal import VanishingIdeal
from vanishing.saving import require
from vanishing.transformations import Affine, Composition, Gather


@dataclass(frozen=True, eq=False)
class Clusters:
    """Ideals of clusters."""

    ideals: list[VanishingIdeal]
    centers: list[FloatArray]
    scales: list[FloatArray]


@dataclass(frozen=True, eq=False)
class Member:
    """A view of the recipe."""

    name: str
    reduction: PCA | None
    residuals: Clusters
    median: float
    spread: float


@dataclass(frozen=True, eq=False)
class Components:
    """The ideals of all transformations."""

    components: list[Component]
    n_pieces: int
    smoothing: float


CLASSES: Mapping[str, type] = {
    "LocalResiduals": Clusters,
    "Member": Member,
    "Mixture": Components,
}

_NORMAL = {"_usual_score": float, "_mean_row": FloatArray, "_spread_row": FloatArray}
#: The attributes that are no longer there, those of every file and those of some.
REQUIRED: Mapping[type, Mapping[str, Any]] = {
    VanishingDetector: {**_NORMAL, "_form": Literal["recipe", "pieces", "single"]},
    TransformationDetector: {
        **_NORMAL,
        "transformations_": tuple[Gather | Affine | Composition, ...],
        "_distance_weight": float,
        "_scaler": StandardScaler | None,
        "preprocessor_": PCA | StandardScaler | Pipeline | None,
        "mixtures_": list[Components],
        "_means": FloatArray,
        "_spreads": FloatArray,
    },
}
OPTIONAL: Mapping[type, Mapping[str, Any]] = {
    VanishingDetector: {
        "_residuals": Clusters,
        "_scaler": StandardScaler,
        "_constant": BoolArray,
        "_members": list[Member],
    },
    TransformationDetector: {},
}


def upgrade(kept: type, state: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a detector with its score in place of the parts.

    Parameters
    ----------
    kept : type
        The detector.
    state : dict
        Attributes of format 1, of the types above.
    """
    make = _recipe_or_ideal if kept is VanishingDetector else _transformations
    with np.errstate(all="ignore"):  # of numbers that no fit has written
        score = make(state)
    normal = Normal(*(state[name] for name in _NORMAL))
    gone = REQUIRED[kept].keys() | OPTIONAL[kept].keys()
    rest = {name: value for name, value in state.items() if name not in gone}
    return rest | {"anomaly_score_": replace(score, normal=normal)}


def _components(clusters: Clusters) -> list[Component]:
    require(
        0 < len(clusters.ideals) == len(clusters.centers) == len(clusters.scales),
        "clusters and ideals are not equally many",
    )
    parts = zip(clusters.ideals, clusters.centers, clusters.scales, strict=True)
    return [scale_component(*part) for part in parts]


def _recipe_or_ideal(state: dict[str, Any]) -> Score:
    if state["_form"] != "recipe":
        require("_residuals" in state, "the equations of the detector are missing")
        components = _components(state["_residuals"])
        view: View = ClusterView(("clusters",), components)
        if state["_form"] == "single":
            view = norm_of(components[0].ideal)
        return Score(Coordinates(), [view])
    require(
        all(name in state for name in ("_scaler", "_constant", "_members")),
        "the parts of the recipe are missing",
    )
    members, constant = state["_members"], state["_constant"]
    views: list[View] = [
        ClusterView(
            (member.name.partition(":")[0],),
            _components(member.residuals),
            (i,),
            shift=member.median,
            spread=member.spread,
            weight=1 / len(members),
        )
        for i, member in enumerate(members)
    ]
    require(constant.ndim == 1, "the columns of the detector are not described")
    maps = tuple(member.reduction for member in members)
    scaler = state["_scaler"]
    require(scaler.mean_ is not None, "the columns of the detector are not described")
    constants = ConstantColumns(constant, scaler.mean_) if constant.any() else None
    return Score(Coordinates(scaler, np.flatnonzero(~constant), maps), views, constants)


def _transformations(state: dict[str, Any]) -> Score:
    transformations, scaler = state["transformations_"], state["_scaler"]
    weight, found = state["_distance_weight"], state["mixtures_"]
    names = tuple(each.name for each in transformations)
    combined = len(found) > 1 or weight > 0
    losses, first = [], 0
    for each in found:
        require(
            each.n_pieces > 0 and each.n_pieces * len(names) == len(each.components),
            "a mixture has not as many parts as there are transformations",
        )
        losses.append(
            Mixture(
                names,
                each.components,
                tuple(range(len(names))),
                first_cluster=first,
                n_clusters=each.n_pieces,
                smoothing=each.smoothing,
                logarithm=combined,
            )
        )
        first += each.n_pieces
    views: list[View] = [*losses]
    if combined:
        distances = [measure_distance(loss) for loss in losses if weight > 0]
        numbers = [1.0] * len(losses) + [weight] * len(distances)
        standards = zip(
            [*losses, *distances], state["_means"], state["_spreads"], numbers, strict=True
        )
        views = [
            replace(view, shift=float(mean), spread=float(spread), weight=number / sum(numbers))
            for view, mean, spread, number in standards
        ]
    coordinates = Coordinates(scaler, None, transformations, state["preprocessor_"])
    return Score(coordinates, views, few_features=scaler is not None)
