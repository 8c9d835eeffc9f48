"""Wide data: fewer rows than columns. The construction runs in the span of the rows.

N rows of n > N columns lie in an affine subspace of r < N dimensions. Polynomials are constructed
in orthonormal coordinates of that subspace, which takes O(N² n) time and O(N n) memory instead of
matrices of n × n, and are then written in the n variables again. The n - r equations of the
subspace hold exactly. They are kept as one ``Complement``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import qr

from vanishing.arrays.kernels import MANY_COLUMNS, norms
from vanishing.arrays.namespace import Array, FloatArray, move_like
from vanishing.construction.candidates import RecalledSource, check_sizes
from vanishing.construction.gsvd import fix_signs
from vanishing.construction.moments import factor_affine
from vanishing.construction.normalizations import ORDINARY, Normalization, Vca
from vanishing.data.source import MappedSource, SampleSource
from vanishing.levels import SAFETY
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.evaluation import Complement
from vanishing.polynomials.monomials import AffineMap

if TYPE_CHECKING:
    from vanishing.construction.loop import Construction, DegreeTrace


@dataclass(frozen=True, eq=False)
class Span:
    """The affine span of the rows of X, and of those of the contrast if there is one."""

    directions: FloatArray  # orthonormal columns
    mean: FloatArray
    n_rows: int  # of X
    scale: float  # length of directions of size 1 outside of the span; 0 if they have size 0

    @property
    def n_outside(self) -> int:
        """Number of dimensions outside of the span."""
        n_features, rank = self.directions.shape
        return int(n_features - rank)

    def map_rows(self, source: SampleSource) -> SampleSource:
        """Return the coordinates of rows in the span."""
        directions = self.directions

        def take_coordinates(x: Array) -> Array:
            return x @ move_like(directions, x)

        return MappedSource(source, take_coordinates, directions.shape[1]).named(source.name)

    def lift(self, found: "Construction") -> "Construction":
        """Return polynomials in the variables, with the equations of the span."""
        n_features = len(self.mean)
        inner = AffineMap(self.directions.T, np.zeros(self.directions.shape[1]), self.mean)
        basis = found.basis.compose(inner)
        if self.scale > 0:
            first = basis.blocks[0]
            vanishing = Complement.of_span(self.directions, self.scale, np.asarray(first.vanishing))
            extents = np.concatenate([np.zeros(self.n_outside), first.extents])
            first = replace(first, vanishing=vanishing, extents=extents)
            basis = PolynomialBasis(n_features, (first, *basis.blocks[1:]))
        trace = (self.lift_trace(found.trace[0]), *found.trace[1:])
        return replace(found, basis=basis, trace=trace)

    def lift_trace(self, step: "DegreeTrace") -> "DegreeTrace":
        """Return the record of a degree, with what is outside of the span at degree 1."""
        if step.degree > 1:
            return step
        step = replace(step, candidates=step.candidates + self.n_outside)
        if self.scale == 0:
            return replace(step, dropped=step.dropped + self.n_outside)
        return replace(
            step,
            rank=step.rank + self.n_outside,
            vanishing=step.vanishing + self.n_outside,
            spectrum=np.concatenate([np.zeros(self.n_outside), step.spectrum]),
        )

    def lift_callback(
        self, callback: "Callable[[DegreeTrace], object] | None"
    ) -> "Callable[[DegreeTrace], object] | None":
        """Return a callback that gets the lifted records."""
        return None if callback is None else lambda step: callback(self.lift_trace(step))


def find_span(
    source: SampleSource,
    contrast: SampleSource | None,
    normalization: Normalization,
    *,
    paper_norm: bool,
    memory_budget: int,
) -> Span | None:
    """Find the span of the rows; None if they are many, or it is of no use."""
    n_features = source.n_features
    # With fewer columns, square matrices are small, and equations are worth reading one by one.
    if not normalization.rotation_invariant or n_features < 2 * MANY_COLUMNS:
        return None
    if any(isinstance(each, RecalledSource) for each in (source, contrast)):
        return None
    n_rows = source.n_weighted
    if n_rows + (0 if contrast is None else contrast.n_weighted) > n_features:
        return None
    on_points = factor_affine(source, memory_budget)
    rms = on_points.column_rms[1:]
    check_sizes(rms, source.name)
    mean, residual = on_points.split(1)
    errors = [SAFETY * on_points.relative_error * rms]
    factors = [residual]
    if contrast is not None:
        on_contrast = factor_affine(contrast, memory_budget)
        factors.append(on_contrast.R[:, 1:] - on_contrast.R[:, :1] @ mean)
        sizes = on_contrast.column_rms[1:] + np.abs(mean[0])
        errors.append(SAFETY * on_contrast.relative_error * sizes)
    if not all(map(_have_like_units, factors, errors)):
        return None
    weights = [float(np.linalg.norm(factor)) or 1.0 for factor in factors]
    stacked = np.vstack([f / weight for f, weight in zip(factors, weights, strict=True)])
    if not len(stacked):  # a single row
        stacked = np.eye(1, n_features)
    axes, triangle = qr(stacked.T, mode="economic", check_finite=False)
    directions = fix_signs(axes @ np.linalg.svd(triangle)[0])
    sizes = np.abs(directions)
    known = np.any(
        [norms(f @ directions) > e @ sizes for f, e in zip(factors, errors, strict=True)], axis=0
    )
    known[0] = True  # all rows may be equal
    spread = float(np.linalg.norm(residual @ directions, 2)) if residual.size else 0.0
    unit = spread if isinstance(normalization, Vca) and not paper_norm and spread > 0 else 1.0
    return Span(
        directions=np.ascontiguousarray(directions[:, known]),
        mean=mean[0],
        n_rows=n_rows,
        scale=0.0 if normalization.needs_contrast else 1.0 / unit,
    )


def _have_like_units(factor: FloatArray, error: FloatArray) -> bool:
    """Say whether the spreads of columns differ by so little that they may be mixed."""
    spread = norms(factor)
    known = np.log2(spread[spread > error])
    return not known.size or float(np.ptp(known)) <= ORDINARY
