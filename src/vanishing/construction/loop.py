"""The loop over degrees."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from vanishing.construction.step import Settings, grow
from vanishing.construction.trace import DegreeTrace
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.samples import SampleSource

StopReason = Literal["exhausted", "max_degree"]


@dataclass(frozen=True, eq=False)
class Construction:
    """A finished basis, with its history.

    Parameters
    ----------
    basis : PolynomialBasis
    trace : tuple of DegreeTrace
    stop_reason : {"exhausted", "max_degree"}
        Whether the last degree left nothing nonvanishing, or the bound on the degree was hit.
    """

    basis: PolynomialBasis
    trace: tuple[DegreeTrace, ...]
    stop_reason: StopReason


def construct(
    source: SampleSource,
    contrast: SampleSource | None,
    settings: Settings,
    *,
    max_degree: int | None,
    callback: Callable[[DegreeTrace], object] | None = None,
) -> Construction:
    """Run VCA(X, Y).

    Parameters
    ----------
    source, contrast : SampleSource
        X and Y.
    settings : Settings
    max_degree : int or None
        None runs until nothing is left, which happens at the latest when there are as many
        nonvanishing polynomials as distinct points.
    callback : callable, optional
        Called with the trace of each degree when it is done.
    """
    basis = PolynomialBasis(source.n_features, ())
    trace: list[DegreeTrace] = []
    reference: float | None = None
    stop_reason: StopReason = "max_degree"
    while max_degree is None or len(basis.blocks) < max_degree:
        step = grow(basis, source, contrast, settings, reference)
        basis = PolynomialBasis(basis.n_features, (*basis.blocks, step.block))
        trace.append(step.trace)
        if callback is not None:
            callback(step.trace)
        if step.block.nonvanishing.shape[1] == 0:
            stop_reason = "exhausted"
            break
        reference = step.smallest_nonvanishing or reference
    return Construction(basis, tuple(trace), stop_reason)
