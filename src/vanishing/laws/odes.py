"""``discover_odes``: differential equations of trajectories, in implicit form.

An equation P(x) + Q(x) dx/dt = 0 is a law among the columns and one derivative, and it is found as
such: the noise that counts is that of the derivative, so a polynomial is measured by its root mean
square relative to that of Q. Rational equations dx/dt = -P(x) / Q(x) are polynomials in this form.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, import_extra
from vanishing.laws.discovery import highest_powers
from vanishing.laws.fit import EXACT, Relation, evaluate, fit_relation
from vanishing.laws.law import Law, make_law
from vanishing.laws.search import center
from vanishing.laws.trajectories import (
    FOLDS,
    INTEGRATION,
    Trajectories,
    TrajectorySearch,
    choose_terms,
    estimate_noise,
    hold_out,
    parse_terms,
    take_trajectories,
)

#: Rows that the search looks at.
SEARCHED_ROWS = 3000
#: Rows on each side of one at which polynomials are fitted to the rows around it.
HALF_WIDTHS = (3, 4, 5, 6, 8, 10, 13, 16, 20, 26, 32, 40, 52, 64)
#: Degree of these polynomials, and of those that show the error they make.
SMOOTH, SMOOTHER = 4, 6


@dataclass(frozen=True)
class Smoothed:
    """Columns and their derivatives at rows that have enough neighbours.

    Attributes
    ----------
    values, derivatives : arrays of shape (n_rows, n_columns)
    groups : int array of shape (n_rows,)
    errors : array of shape (n_columns,)
        Root mean square errors of the derivatives.
    half_widths : int array of shape (n_columns,)
        Neighbours on each side that were used.
    """

    values: FloatArray
    derivatives: FloatArray
    groups: IntArray
    errors: FloatArray
    half_widths: IntArray


def smooth(whole: Trajectories) -> Smoothed:
    """Estimate the derivatives of trajectories by local polynomials.

    A polynomial of degree 4 in time is fitted to the rows around each row. Many rows leave little
    noise, few rows little error of the polynomial. The number is chosen for each column so that
    the estimated error of the derivative is smallest.
    """
    assert whole.times is not None
    noise = estimate_noise(whole.values, whole.groups)
    series = whole.split(whole.values)
    times = whole.split(whole.times)
    longest = min(len(each) for each in times)
    widths = [half for half in HALF_WIDTHS if 2 * half + 1 <= max(longest / 3, 7)]
    tried = []
    for half in widths:
        parts = [_smooth_one(x, t, half) for x, t in zip(series, times, strict=True)]
        fits = [np.concatenate(each) for each in zip(*parts, strict=True)]
        values, slopes, gaps, noise_of_slope, noise_of_gap = fits
        bias = np.mean(gaps**2, axis=0) - noise**2 * np.mean(noise_of_gap**2)
        risk = np.maximum(bias, 0) + noise**2 * np.mean(noise_of_slope**2)
        tried.append((risk, values, slopes))
    risks = np.array([risk for risk, _, _ in tried])
    best = np.argmin(risks, axis=0)
    halves = np.array(widths)[best]
    most = int(halves.max())
    # Rows that have enough neighbours for every column.
    columns, derivatives = [], []
    for j, choice in enumerate(best):
        _, values, slopes = tried[choice]
        inside = _inside(whole.groups, widths[choice])
        both = _inside(whole.groups, most)[inside]
        columns.append(values[both, j])
        derivatives.append(slopes[both, j])
    groups = whole.groups[_inside(whole.groups, most)]
    return Smoothed(
        np.column_stack(columns),
        np.column_stack(derivatives),
        groups,
        np.sqrt(risks[best, np.arange(len(best))]),
        halves,
    )


def _inside(groups: IntArray, half: int) -> BoolArray:
    """Return the rows with half as many neighbours on each side, or more."""
    quarter = half // 2
    inside = np.zeros(len(groups), dtype=bool)
    inside[quarter : len(groups) - quarter] = (
        groups[2 * quarter :] == groups[: len(groups) - 2 * quarter]
    )
    return inside


def _smooth_one(
    values: FloatArray, times: FloatArray, half: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Fit polynomials to the rows around each row of one trajectory.

    Near the ends the row is not in the middle. Those nearest to them, where derivatives are
    noisiest, are left out.

    Returns
    -------
    values, derivatives : arrays of shape (n_kept, n_columns)
    gaps : array of shape (n_kept, n_columns)
        By how much the derivatives of polynomials of a higher degree differ.
    noise_of_slope, noise_of_gap : arrays of shape (n_kept,)
        Standard deviations of derivatives and gaps, for noise of size 1.
    """
    rows = np.arange(half // 2, len(values) - half // 2)
    starts = np.clip(rows - half, 0, len(values) - 2 * half - 1)
    windows = np.arange(2 * half + 1) + starts[:, None]
    centred = times[windows] - times[rows, None]
    steps = np.diff(times)
    number = np.arange(len(rows))
    if np.ptp(steps) <= 1e-6 * steps.max():  # the weights depend on the place in the window only
        _, first, number = np.unique(rows - starts, return_index=True, return_inverse=True)
        centred = centred[first]
    scale = np.abs(centred).max(axis=1)
    powers = (centred / scale[:, None])[:, :, None] ** np.arange(SMOOTHER + 1)
    weights = np.linalg.pinv(powers[:, :, : SMOOTH + 1])[:, :2]
    value, slope = weights[:, 0], weights[:, 1] / scale[:, None]
    gap = slope - np.linalg.pinv(powers)[:, 1] / scale[:, None]
    around = values[windows]

    def combine(each: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("iw,iwj->ij", each[number], around))

    def size(each: FloatArray) -> FloatArray:
        return np.asarray(np.linalg.norm(each, axis=1)[number])

    return combine(value), combine(slope), combine(gap), size(slope), size(gap)


@dataclass
class OdeSearch(TrajectorySearch):
    """One search for the equation of a derivative, which is the last column.

    ``spreads`` are zero but for the derivative: its noise is the one that counts.
    """

    rows_per_term: ClassVar[int] = 10

    def _run_once(self) -> bool:
        # All equations of one derivative have the same direction: the first is the shortest.
        return not self.found and super()._run_once()


def discover_odes(X,t,groups=None,feature_names=None,*,max_degree=None,terms=None,random_state=None,callback=None):
    whole = take_trajectories(X, groups, feature_names, t)
    smoothed = smooth(whole)
    rng = np.random.default_rng(0 if random_state is None else random_state)
    out=[]
    for j, name in enumerate(whole.names):
        columns = np.column_stack([smoothed.values, smoothed.derivatives[:, j]])
        sizes = np.sqrt(np.mean(columns**2, axis=0))
        scaled = columns / sizes
        units = np.zeros(len(sizes)); units[-1] = scaled[:, -1].std()
        names = (*whole.names, f"d{name}/dt")
        notes=[]
        degree = choose_terms(len(names), max_degree, None, notes)
        stride = max(1, int(smoothed.half_widths[j]) // 3)
        rows = np.arange(0, len(scaled), stride)
        powers = highest_powers(scaled[rows], scaled.std(axis=0)); powers[-1] = 2
        folds = hold_out(smoothed.groups[rows], rng)
        level = smoothed.errors[j] / columns[:, -1].std()
        search = OdeSearch(scaled[rows], units, np.ones(len(rows)), degree, powers, rng, groups=smoothed.groups[rows], folds=folds, most_noise=max(3*level, 1e-4))
        found = search.run()
        print(name, len(rows), level, search.n_tested)
        for r,p in found:
            law = make_law(fit_relation(scaled,units,r.exponents,np.ones(len(scaled))), sizes, scaled, names, p, np.arange(len(scaled)))
            print("   ", r.noise, p, law)
            lag=weak(scaled,units,r.exponents,smoothed.groups,int(smoothed.half_widths[j]))
            c=lag/np.prod(sizes**r.exponents,axis=1); k=np.argmax(np.abs(r.exponents[:,-1])); print("   weak", dict(zip(["*".join(n+str(q) for n,q in zip(names,e) if q) for e in r.exponents],np.round(c/c[k],4))))
            c=law.coefficients; print("   pt  ", dict(zip(["*".join(n+str(q) for n,q in zip(names,e) if q) for e in r.exponents],np.round(c/c[k],4))))

def weak(rows,units,exponents,groups,half,mult=1.0):
    from vanishing.laws.fit import differentiate,_smallest
    V=evaluate(exponents,rows); G=differentiate(exponents,rows,units)[:,-1,:]
    W=max(1,int(mult*half)); u=np.linspace(-1,1,2*W+3)[1:-1]; psi=(1-u**2)**2; psi/=psi.sum()
    vs,gs=[],[]
    for k in np.unique(groups):
        v,g=V[groups==k],G[groups==k]
        for i in range(0,len(v)-2*W,max(1,W//2)):
            vs.append(psi@v[i:i+2*W+1]); gs.append(psi@g[i:i+2*W+1])
    vs,gs=np.array(vs),np.array(gs)[:,None,:]
    w=np.ones(len(vs))
    for _ in range(5):
        c=_smallest(vs,gs,w); st=np.abs(gs[:,0]@c); w=1/np.maximum(st,.3*np.median(st))**2
    return c
