"""What a transformation is, and a set of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import combinations

from vanishing._xp import Array


class Transformation(ABC):
    """One map of rows to rows, of a known width.

    Subclasses are frozen dataclasses. Two are equal if they are the same map, whatever their
    names.
    """

    #: For messages and plots: "rotated by 90°".
    name: str

    @abstractmethod
    def __call__(self, block: Array) -> Array:
        """Return the images of the rows of ``block``, a new array of the same library and dtype.

        Parameters
        ----------
        block : array of shape (n_rows, n_features)
            Left as it is. The image of a row does not depend on the other rows.
        """


class Transformations(ABC):
    """A set of transformations: a small frozen configuration object, whatever the data."""

    @abstractmethod
    def for_width(self, n_features: int) -> tuple[Transformation, ...]:
        """Return T_1..T_M for rows of ``n_features`` columns, or raise if they do not fit."""


def distinct(transformations: Iterable[Transformation]) -> tuple[Transformation, ...]:
    """Return the transformations, or raise if two of them are the same map."""
    result = tuple(transformations)
    for first, second in combinations(result, 2):
        if first == second:
            raise ValueError(
                f"{first.name!r} and {second.name!r} are the same map, so that no method can "
                f"tell them apart; leave one of the two out of the {len(result)} transformations"
            )
    return result


def check_width(name: str, block: Array, n_features: int) -> None:
    """Raise if ``block`` is not a matrix of ``n_features`` columns."""
    if block.ndim != 2 or block.shape[1] != n_features:
        raise ValueError(
            f"{name!r} was made for blocks of {n_features} columns, got an array of shape "
            f"{tuple(block.shape)}; call for_width again for data of another width"
        )
