"""The loop over degrees, from the start or from an earlier construction on the same points."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from vanishing.arrays.namespace import FloatArray
from vanishing.arrays.threads import one_thread
from vanishing.construction.step import DegreeTrace, Settings, State, decide, grow
from vanishing.data.source import SampleSource
from vanishing.polynomials.basis import PolynomialBasis

# --- The loop over degrees ------------------------------------------------------------------------

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


# --- Going on from an earlier construction on the same points -------------------------------------
#
# A degree depends on the tolerance and on ``max_nonvanishing`` only through what it splits into
# vanishing and nonvanishing polynomials. Degrees are taken over as long as the new settings split
# them in the same way; from the first difference on they are made again, by the same steps from
# the same state, so that the outcome is that of a cold start to the last bit.


@dataclass(frozen=True, eq=False)
class Progress:
    """What a construction leaves to a later one, besides its basis and trace.

    Parameters
    ----------
    settings : Settings
    data : str
        Digest of the points and of the contrast.
    rounding, references, noise, n_rows, doubt, contrast_terms
        As in ``State``.
    """

    settings: Settings
    data: str
    rounding: tuple[FloatArray, ...]
    references: tuple[float | None, ...]
    noise: tuple[FloatArray, ...]
    n_rows: float
    doubt: tuple[FloatArray, ...] = ()
    contrast_terms: tuple[FloatArray, ...] = ()

    @classmethod
    def of(cls, state: State, settings: Settings, data: str) -> "Progress":
        """Keep what is needed of a finished construction."""
        return cls(
            settings,
            data,
            state.rounding,
            state.references,
            state.noise,
            state.n_rows,
            state.doubt,
            state.contrast_terms,
        )

    def resume(
        self,
        basis: PolynomialBasis,
        trace: tuple[DegreeTrace, ...],
        settings: Settings,
        data: str,
        max_degree: int | None,
    ) -> tuple[State, tuple[DegreeTrace, ...]] | None:
        """Return the degrees that other settings would find as well, or None to start cold."""
        comparable = replace(
            self.settings, tol=settings.tol, max_nonvanishing=settings.max_nonvanishing
        )
        if data != self.data or comparable != settings or not self.doubt:
            return None  # models of older files do not know what was in doubt
        kept: list[DegreeTrace] = []
        degrees = zip(trace, self.noise, self.doubt, self.references, strict=False)
        for step, noise, doubt, reference in degrees:
            tol = settings.threshold(step.spectrum, noise, reference, self.n_rows)
            if len(kept) == max_degree or not _splits_alike(step, noise, doubt, tol, settings):
                break
            kept.append(replace(step, tol=tol))
        n = len(kept)
        state = State(
            PolynomialBasis(basis.n_features, basis.blocks[:n]),
            self.rounding[: n + 1],
            self.references[: n + 1],
            self.noise[:n],
            self.doubt[:n],
            self.n_rows,
            self.contrast_terms[: n + 1],
        )
        return state, tuple(kept)


def _splits_alike(
    step: DegreeTrace, noise: FloatArray, doubt: FloatArray, tol: float, settings: Settings
) -> bool:
    new, old = (decide(step.spectrum, noise, doubt, bound) for bound in (tol, step.tol))
    n_nonvanishing = step.nonvanishing + step.cut
    limit = settings.max_nonvanishing
    n_kept = n_nonvanishing if limit is None else min(limit, n_nonvanishing)
    return np.array_equal(new, old) and n_kept == step.nonvanishing
