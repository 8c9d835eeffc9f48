"""The loop over degrees."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from vanishing._xp import one_thread
from vanishing.construction.step import Settings, State, grow
from vanishing.construction.trace import DegreeTrace
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.samples import SampleSource

StopReason = Literal["exhausted", "max_degree", "undecided"]


@dataclass(frozen=True, eq=False)
class Construction:
    """A finished basis, with its history.

    Parameters
    ----------
    basis : PolynomialBasis
    trace : tuple of DegreeTrace
    stop_reason : {"exhausted", "max_degree", "undecided"}
        Whether the last degree left nothing nonvanishing, the bound on the degree was hit, or
        rounding errors left nothing that is known to be nonvanishing.
    state : State
        From which a later construction may go on.
    """

    basis: PolynomialBasis
    trace: tuple[DegreeTrace, ...]
    stop_reason: StopReason
    state: State


def construct(
    source: SampleSource,
    contrast: SampleSource | None,
    settings: Settings,
    *,
    max_degree: int | None,
    callback: Callable[[DegreeTrace], object] | None = None,
    begun: tuple[State, tuple[DegreeTrace, ...]] | None = None,
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
        Called with the trace of each degree when it is done, those that were begun with included.
    begun : tuple of State and traces, optional
        Degrees that are known from an earlier construction.
    """
    with one_thread():  # of BLAS; passes have threads of their own
        return _construct(source, contrast, settings, max_degree, callback, begun)


def _construct(
    source: SampleSource,
    contrast: SampleSource | None,
    settings: Settings,
    max_degree: int | None,
    callback: Callable[[DegreeTrace], object] | None,
    begun: tuple[State, tuple[DegreeTrace, ...]] | None,
) -> Construction:
    state, known = begun or (State(PolynomialBasis(source.n_features, ())), ())
    trace: list[DegreeTrace] = []
    while max_degree is None or len(trace) < max_degree:
        if len(trace) < len(known):
            record = known[len(trace)]
        else:
            state, record = grow(state, source, contrast, settings)
        trace.append(record)
        if callback is not None:
            callback(record)
        if record.nonvanishing == 0:
            reason: StopReason = "undecided" if record.undecided else "exhausted"
            return Construction(state.basis, tuple(trace), reason, state)
    return Construction(state.basis, tuple(trace), "max_degree", state)
