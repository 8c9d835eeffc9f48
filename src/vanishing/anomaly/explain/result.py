"""What an explanation says."""

from dataclasses import dataclass

import numpy as np

from vanishing._xp import BoolArray, FloatArray, IntArray
from vanishing.export.writing import as_given, changed_number

#: What numbers are written with, which not every terminal has.
MINUS = "\u2212"
#: Changes of a number below this share of it are rounding.
ROUNDING = 8 * np.finfo(np.float64).eps
#: Changes below this share of the largest one, both in units of the spread, are none.
NEGLIGIBLE = 1e-3


@dataclass(frozen=True)
class BrokenEquation:
    """An equation of normal data, and how far a sample is from keeping it.

    Parameters
    ----------
    value : float
        Value of the polynomial at the sample.
    usual : float
        Its mean on normal data, which the deviation is measured from.
    typical : float
        Root mean square of its deviation from ``usual`` on normal data.
    degree : int
    part : str
        The transformation or the part of the recipe that the equation belongs to.
    ideal : tuple of int
        Where it is found: ``detector.ideals_[ideal[0]][ideal[1]]``.
    index : int
        Which of the vanishing polynomials of that ideal it is.
    """

    value: float
    usual: float
    typical: float
    degree: int
    part: str
    ideal: tuple[int, int]
    index: int

    @property
    def times_typical(self) -> float:
        """The deviation in units of what is typical."""
        with np.errstate(divide="ignore"):
            return float(np.divide(abs(self.value - self.usual), self.typical))

    def __str__(self) -> str:
        return (
            f"{self.part}: an equation of degree {self.degree} is off by "
            f"{self.value - self.usual:.3g}, {self.times_typical:.3g} times what is typical"
        )


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why one sample has its score.

    Parameters
    ----------
    sample, reference : arrays of shape (n_features,)
        The sample, and the nearest point that keeps the equations as well as nine of ten training
        samples do. They are the same where the sample does so itself.
    score, reference_score : float
        Anomaly scores of both, minus ``score_samples``.
    shares : array of shape (n_features,)
        The part of ``score - reference_score`` that comes from each feature; they add up to it.
    equations : tuple of BrokenEquation
        Those that count most in the score of the sample, most first.
    feature_names : tuple of str
    spread : array of shape (n_features,), optional
        The unit in which changes of each feature are measured.
    """

    sample: FloatArray
    reference: FloatArray
    score: float
    reference_score: float
    shares: FloatArray
    equations: tuple[BrokenEquation, ...]
    feature_names: tuple[str, ...]
    spread: FloatArray | None = None

    @property
    def changed(self) -> BoolArray:
        """Whether each feature differs between the sample and the reference.

        Differences that are rounding do not count, nor those that are small beside the largest one,
        in units of the spread: the search for the reference leaves them.
        """
        with np.errstate(over="ignore"):  # of numbers at the end of the range
            change = np.abs(self.reference - self.sample)
        known = change > ROUNDING * np.maximum(np.abs(self.sample), np.abs(self.reference))
        if self.spread is None:
            return np.asarray(known)
        varies = self.spread > 0
        moved = np.divide(change, self.spread, out=np.zeros_like(change), where=varies)
        return np.asarray(known & (~varies | (moved >= NEGLIGIBLE * moved.max(initial=0.0))))

    def ranked(self, n_features: int | None = None) -> list[tuple[str, float]]:
        """Return names and shares of the features, largest share first.

        Parameters
        ----------
        n_features : int, optional
            How many of them, all by default.

        Returns
        -------
        list of tuple
            Name and share.
        """
        order = self._order()[:n_features]
        return [(self.feature_names[j], float(self.shares[j])) for j in order]

    def _repr_html_(self) -> str:
        # In a module that knows this one.
        from vanishing.anomaly.explain.html import explanation_html

        return explanation_html(self)

    def _order(self) -> IntArray:
        return np.argsort(-self.shares, kind="stable")

    def _change(self, j: int) -> str:
        value, mended = float(self.sample[j]), float(self.reference[j])
        if not self.changed[j]:
            return f"{as_given(value)}, unchanged".replace(MINUS, "-")
        return " instead of ".join(changed_number(value, mended)).replace(MINUS, "-")

    def __str__(self) -> str:
        if not self.shares.any():
            return f"score {self.score:.4g}, as is usual for normal samples"
        lines = [f"score {self.score:.4g}, against {self.reference_score:.4g} when mended"]
        for j in self._order()[:3]:
            if self.shares[j] > 0:
                lines.append(
                    f"  {self.feature_names[j]}: {self.shares[j]:+.3g} of it, {self._change(j)}"
                )
        return "\n".join([*lines, *(f"  {equation}" for equation in self.equations)])
