"""Equations in the columns of the table, wherever they can be carried back there."""

from copy import copy
from typing import Any, NamedTuple

from vanishing import VanishingIdeal
from vanishing.cli.equations import MOST_MONOMIALS
from vanishing.cli.models import (
    coordinate_names,
    core,
    feature_names,
    ideals_of,
    preprocessing,
)
from vanishing.export import affine_map
from vanishing.polynomials.monomials import count


class Written(NamedTuple):
    """An ideal as it is written down.

    Parameters
    ----------
    ideal : VanishingIdeal
        In the variables that are written.
    names : list of str
        Of these variables.
    meaning : str
        What the variables are; empty where they are the columns of the table.
    """

    ideal: VanishingIdeal
    names: list[str]
    meaning: str


def written(model: Any, key: str) -> Written:
    """Carry an ideal of a model back through scaling and PCA before it, as far as that is possible.

    Parameters
    ----------
    model : estimator or Pipeline
    key : str
        Which ideal, as ``ideals_of`` names them.
    """
    ideal = ideals_of(model)[key]
    as_it_is = Written(ideal, *coordinate_names(model, key))
    steps = preprocessing(model)
    if steps is None or coordinate_names(core(model), key)[1]:
        return as_it_is
    names = feature_names(model)
    if count(len(names), len(ideal.basis_.blocks)) > MOST_MONOMIALS:
        return as_it_is
    try:
        basis = ideal.basis_.composed_with(affine_map(steps))
    except ValueError:  # not affine, or onto less than the ideal has variables
        return as_it_is
    carried = copy(ideal)
    carried.basis_ = basis
    return Written(carried, names, "")
