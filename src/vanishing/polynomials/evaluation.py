"""Nested polynomials, one block per degree: values, Jacobians, gradients, restrictions to lines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from array_api_compat import is_numpy_array, is_torch_array

from vanishing.arrays.blocks import BudgetError, format_bytes
from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    IntArray,
    is_on_cpu,
    lazy,
    move_like,
    namespace,
)
from vanishing.levels import MEMORY

# --- The equations of a span ----------------------------------------------------------------------
#
# N rows of n > N columns lie in a subspace of r < N dimensions, and n - r linear equations hold
# exactly. As a matrix they take n (n - r) numbers. But they are the complement of r directions, and
# with these they are known: for orthonormal U = [P; C], rotated so that its first r rows P are
# symmetric and positive semidefinite, the columns of
#
#     W = [-C'; I - C M C'],   M = (I + P)⁻¹
#
# are an orthonormal basis of the complement, since C'C = I - P². I + P has eigenvalues from 1 to 2,
# so that nothing is lost, and P is unique (polar decomposition): W depends on the subspace only.


@dataclass(frozen=True, eq=False)
class Complement:
    """The columns ``scale * W``, then ``others``; NumPy functions see the matrix written out."""

    lower: Annotated[FloatArray, "n_exact rank"]  # C
    middle: Annotated[FloatArray, "rank rank"]  # M
    scale: float
    others: Annotated[FloatArray, "n_features n_others"]  # of equations that hold approximately

    @classmethod
    def of_span(cls, directions: FloatArray, scale: float, others: FloatArray) -> "Complement":
        """Return the equations of the span of orthonormal columns, and others."""
        rank = directions.shape[1]
        left, cosines, right = np.linalg.svd(directions[:rank])
        lower = directions[rank:] @ (right.T @ left.T)
        return cls(lower, (left / (1.0 + cosines)) @ left.T, scale, others)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of variables, and number of equations."""
        n_exact, rank = self.lower.shape
        return n_exact + rank, n_exact + self.others.shape[1]

    @property
    def n_exact(self) -> int:
        """Number of equations of the span."""
        return int(self.lower.shape[0])

    def evaluate(self, x: Array) -> Array:
        """Return the product of the transposed matrix and an array of any library."""
        lower, middle, others = (move_like(m, x) for m in (self.lower, self.middle, self.others))
        top, bottom = x[: middle.shape[0], :], x[middle.shape[0] :, :]
        exact = bottom - lower @ (top + middle @ (lower.T @ bottom))
        return namespace(x).concat([self.scale * exact, others.T @ x], axis=0)

    def combine(self, outer: Array) -> Array:
        """Return the product of the matrix and an array of any library."""
        lower, middle, others = (
            move_like(m, outer) for m in (self.lower, self.middle, self.others)
        )
        exact = self.scale * outer[: self.n_exact, :]
        inner = lower.T @ exact
        products = namespace(outer).concat([-inner, exact - lower @ (middle @ inner)], axis=0)
        return products + others @ outer[self.n_exact :, :]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        n_features, n_equations = self.shape
        n_bytes = 8 * n_features * n_equations
        if n_bytes > MEMORY:
            raise BudgetError(
                f"the coefficients of {n_equations} equations in {n_features} variables take "
                f"{format_bytes(n_bytes)} if they are written out; transform, "
                "save and load work without them; for all else reduce the number of features, for "
                "instance by PCA"
            )
        return np.asarray(self.combine(np.eye(n_equations)), dtype=dtype)

    def __getitem__(self, key: Any) -> FloatArray:
        return np.asarray(np.asarray(self)[key])


# --- One degree of a basis ------------------------------------------------------------------------
#
# In the notation of the paper: the candidates C of degree t are products F_1[left] ·
# F_{t-1}[right], made orthogonal to the lower degrees by C = C_pre - F^{t-1} L; then F_t = C V_F
# and G_t = C V_G. At degree 1 the candidates are the variables: x[left] · 1.


@dataclass(frozen=True, eq=False)
class DegreeBlock:
    """The polynomials of one degree, as matrices over products of lower ones."""

    left: Annotated[IntArray, "n_candidates"]  # factor in F_1; the variable at degree 1
    right: Annotated[IntArray, "n_candidates"]  # factor in F_{t-1}
    projection: Annotated[FloatArray, "n_lower n_candidates"]  # L
    nonvanishing: Annotated[FloatArray, "n_candidates n_nonvanishing"]  # V_F
    vanishing: Annotated[FloatArray | Complement, "n_candidates n_vanishing"]  # V_G
    extents: Annotated[FloatArray, "n_vanishing"]

    def __post_init__(self) -> None:
        for field in fields(self):
            if not isinstance(matrix := getattr(self, field.name), Complement):
                matrix.setflags(write=False)

    def __repr__(self) -> str:
        n_vanishing, n_nonvanishing = self.vanishing.shape[1], self.nonvanishing.shape[1]
        return (
            f"<DegreeBlock: {self.n_candidates} candidates, {n_vanishing} vanishing, "
            f"{n_nonvanishing} nonvanishing>"
        )

    @property
    def n_candidates(self) -> int:
        """Number of products that the polynomials of this degree combine."""
        return int(self.left.shape[0])

    @lazy
    def nonvanishing_lower(self) -> FloatArray:
        """L V_F: the part of lower degree that F_t subtracts."""
        return self.projection @ self.nonvanishing

    @lazy
    def vanishing_lower(self) -> FloatArray:
        """L V_G: the part of lower degree that G_t subtracts."""
        if isinstance(self.vanishing, Complement):
            return np.asarray(self.vanishing.evaluate(self.projection.T).T)
        return self.projection @ self.vanishing

    @property
    def all_polynomials(self) -> tuple[FloatArray, FloatArray]:
        """[V_F V_G], and L [V_F V_G]."""
        lower = np.hstack([self.nonvanishing_lower, self.vanishing_lower])
        return np.hstack([self.nonvanishing, self.vanishing]), lower

    @lazy
    def selected(self) -> "Selection | None":
        """The candidates that F_t is, as in a border basis; None if F_t combines candidates."""
        V, lower = self.nonvanishing, self.nonvanishing_lower
        if np.any(np.count_nonzero(V, axis=0) != 1) or lower[1:].any():
            return None
        chosen = np.argmax(V != 0, axis=0)
        scale = V[chosen, np.arange(V.shape[1])]
        return Selection(chosen, self.left[chosen], self.right[chosen], scale, lower[0])

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__post_init__()


class Selection(NamedTuple):
    """Nonvanishing polynomials that are single candidates: scale · candidate - shift."""

    numbers: IntArray
    left: IntArray
    right: IntArray
    scale: FloatArray
    shift: FloatArray

    @property
    def is_plain(self) -> bool:
        """Whether candidates are neither scaled nor shifted."""
        return bool(np.all(self.scale == 1) and not self.shift.any())


# --- Products of rows, the inner loop of evaluating nested polynomials ----------------------------

Multiply = Callable[[Array, Array, Array, Array, Array], None]


def multiply_rows(out: Array, first: Array, left: Array, last: Array, right: Array) -> None:
    """Set ``out[k] = first[left[k]] * last[right[k]]`` for all k, in one array library."""
    if is_numpy_array(out):
        _multiply_runs(out, first, left, last, right)
    elif (fused := _find_fused_kernel(out, first, last)) is not None:  # pragma: no cover - CUDA
        fused(out, first, left, last, right)
    else:
        multiply_gathered(out, first, left, last, right)


def _multiply_runs(out: Array, first: Array, left: Array, last: Array, right: Array) -> None:
    """Multiply runs with one left factor and consecutive right ones, which need no copies."""
    new = np.flatnonzero((np.diff(left) != 0) | (np.diff(right) != 1)) + 1
    for start, stop in pairwise([0, *new.tolist(), len(left)]):
        if start < stop:
            i, j = left[start], right[start]
            np.multiply(first[i], last[j : j + stop - start], out=out[start:stop])


def multiply_gathered(out: Array, first: Array, left: Array, last: Array, right: Array) -> None:
    """Gather both factors and multiply: every library can do that and differentiate it."""
    xp = namespace(out)
    product = xp.take(last, right, axis=0)
    product *= xp.take(first, left, axis=0)
    out[...] = product


def _find_fused_kernel(out: Array, first: Array, last: Array) -> Multiply | None:
    """Return a kernel without copies, five times as fast on an H200, if these arrays have one."""
    usable = (
        is_torch_array(out)
        and not is_on_cpu(out)
        and out.device.type == "cuda"
        and not (first.requires_grad or last.requires_grad)  # autograd does not see the kernel
        and out.dtype == first.dtype == last.dtype
        and out.dtype in (namespace(out).float32, namespace(out).float64)
        and all(array.stride(1) == 1 for array in (out, first, last))
    )
    return _compile_kernel(str(out.device)) if usable else None


@cache
def _compile_kernel(device: str) -> Multiply | None:  # pragma: no cover - needs CUDA
    """Return the Triton kernel after a trial, or None if it is not installed or does not work."""
    try:
        import torch

        from vanishing.arrays.triton_kernels import multiply_rows as fused

        two = torch.ones((1, 3), device=device) * 2
        out, index = torch.empty_like(two), torch.zeros(1, dtype=torch.int64, device=device)
        fused(out, two, index, two, index)
        return fused if bool((out == two * two).all()) else None
    except Exception:  # no Triton, no C compiler, an unknown device
        return None


# --- Values of nested polynomials on a block of rows ----------------------------------------------
#
# Values have shape ``(n_polynomials, n_rows)``: one polynomial per row, so that products run over
# contiguous memory and reductions get the layout they need.


class Evaluator:
    """Evaluates F, candidates and G; matrices are moved to the device of the data once."""

    def __init__(self, blocks: Sequence[DegreeBlock]) -> None:
        self.blocks = tuple(blocks)
        self.offsets = np.cumsum([0, 1, *(b.nonvanishing.shape[1] for b in self.blocks)]).tolist()
        self._moved: dict[tuple[Any, ...], tuple[Any, Array]] = {}

    @property
    def n_nonvanishing(self) -> int:
        """Number of nonvanishing polynomials, the constant included."""
        return int(self.offsets[-1])

    def nonvanishing(self, x: Array, n_extra: int = 0) -> Array:
        """Return the values of F, with ``n_extra`` empty rows for candidates below."""
        values = self._make_rows(x, self.n_nonvanishing + n_extra)
        for degree, block in enumerate(self.blocks, start=1):
            self._write_nonvanishing(x, values, degree, block)
        return values

    def with_candidates(self, x: Array, left: IntArray, right: IntArray) -> Array:
        """Return the values of F followed by those of the candidates of the next degree."""
        values = self.nonvanishing(x, n_extra=left.shape[0])
        below, products = values[: self.n_nonvanishing, :], values[self.n_nonvanishing :, :]
        self._write_candidates(products, x, below, len(self.blocks) + 1, left, right)
        return values

    def vanishing(self, x: Array) -> Array:
        """Return the values of G, shape (n_vanishing, n_rows), by degree."""
        last = last_degree_with_vanishing(self.blocks)
        lower = self._make_rows(x, self.offsets[last])
        found = [lower[:0, :]]
        for degree, block in enumerate(self.blocks[:last], start=1):
            candidates = self._candidates(x, lower, degree, block)
            below = lower[: self.offsets[degree], :]
            found.append(self._combine(block.vanishing, block.vanishing_lower, candidates, below))
            if degree < last:
                self._write_nonvanishing(x, lower, degree, block, candidates)
        return namespace(x).concat(found, axis=0)

    @staticmethod
    def _make_rows(x: Array, n_rows: int) -> Array:
        """Return empty rows for polynomials, below that of the constant."""
        values = namespace(x).empty((n_rows, x.shape[0]), dtype=x.dtype, device=x.device)
        values[:1, :] = 1.0
        return values

    def _write_nonvanishing(
        self, x: Array, values: Array, degree: int, block: DegreeBlock, known: Array | None = None
    ) -> None:
        """Write F_t below lower degrees; ``known``: its candidates, if they are computed."""
        own = values[self.offsets[degree] : self.offsets[degree + 1], :]
        if own.shape[0] == 0:
            return
        if (chosen := block.selected) is None:
            candidates = self._candidates(x, values, degree, block) if known is None else known
            lower = values[: self.offsets[degree], :]
            V, on_lower = block.nonvanishing, block.nonvanishing_lower
            own[...] = self._combine(V, on_lower, candidates, lower)
            return
        if known is None:
            self._write_candidates(own, x, values, degree, chosen.left, chosen.right)
        else:
            own[...] = namespace(x).take(known, self._on(x, chosen.numbers), axis=0)
        if not chosen.is_plain:
            own *= self._on(x, chosen.scale)[:, None]
            own -= self._on(x, chosen.shift)[:, None]

    def _candidates(self, x: Array, nonvanishing: Array, degree: int, block: DegreeBlock) -> Array:
        if degree == 1 and _are_all_variables(block.left, x):
            return x.T  # without a copy
        shape = (block.n_candidates, x.shape[0])
        products = namespace(x).empty(shape, dtype=x.dtype, device=x.device)
        self._write_candidates(products, x, nonvanishing, degree, block.left, block.right)
        return products

    def _write_candidates(
        self,
        out: Array,
        x: Array,
        nonvanishing: Array,
        degree: int,
        left: IntArray,
        right: IntArray,
    ) -> None:
        """Write F_1[left] · F_{t-1}[right], or the variables at degree 1."""
        if degree == 1:
            if _are_all_variables(left, x):
                out[...] = x.T
            else:
                out[...] = namespace(x).take(x.T, self._on(x, left), axis=0)
            return
        first = nonvanishing[self.offsets[1] : self.offsets[2], :]
        last = nonvanishing[self.offsets[degree - 1] : self.offsets[degree], :]
        multiply_rows(out, first, self._on(x, left), last, self._on(x, right))

    def _combine(
        self,
        on_candidates: FloatArray | Complement,
        on_lower: FloatArray,
        candidates: Array,
        lower: Array,
    ) -> Array:
        """Return (C_pre - F L) V without forming the orthogonalized candidates."""
        if isinstance(on_candidates, Complement):
            values = on_candidates.evaluate(candidates)
        else:
            values = self._on(lower, on_candidates).T @ candidates
        values -= self._on(lower, on_lower).T @ lower
        return values

    def _on(self, data: Array, matrix: Any) -> Array:
        key = (id(matrix), type(data), data.dtype, data.device)
        if key not in self._moved:
            # The matrix is kept with its copy, so that its id is not reused.
            self._moved[key] = (matrix, move_like(matrix, data))
        return self._moved[key][1]


def _are_all_variables(left: IntArray, x: Array) -> bool:
    return np.array_equal(left, np.arange(x.shape[1]))


def last_degree_with_vanishing(blocks: Sequence[DegreeBlock]) -> int:
    """Return the highest degree that has vanishing polynomials, 0 if none has."""
    degrees = [t for t, block in enumerate(blocks, start=1) if block.vanishing.shape[1]]
    return degrees[-1] if degrees else 0


def needed_blocks(blocks: Sequence[DegreeBlock]) -> list[DegreeBlock]:
    """Return the degrees that G depends on, the last of them without its F."""
    needed = list(blocks[: last_degree_with_vanishing(blocks)])
    return [*needed[:-1], *(replace(b, nonvanishing=b.nonvanishing[:, :0]) for b in needed[-1:])]


# --- Jacobians of nested polynomials on a block of rows, by the product rule ----------------------
#
# Derivatives have shape ``(n_polynomials, n_features, n_rows)``.


def jacobian(blocks: Sequence[DegreeBlock], x: Array, which: str) -> Array:
    """Return the derivatives of G or of F, shape (n_polynomials, n_features, n_rows)."""
    if which == "nonvanishing":
        return _derivatives(blocks, x)[1]
    return _derivatives(blocks[: last_degree_with_vanishing(blocks)], x)[2]


def jacobian_with_candidates(
    blocks: Sequence[DegreeBlock], x: Array, left: IntArray, right: IntArray
) -> Array:
    """Return the derivatives of F and of the candidates F_1[left] · F_{t-1}[right], t > 1."""
    values, lower, _ = _derivatives(blocks, x)
    candidates = _products_of(values, lower, Evaluator(blocks).offsets, left, right)
    return namespace(x).concat([lower, candidates], axis=0)


def _derivatives(blocks: Sequence[DegreeBlock], x: Array) -> tuple[Array, Array, Array]:
    """Return values of F, derivatives of F, derivatives of G."""
    xp = namespace(x)
    n_rows, n_features = x.shape
    evaluator = Evaluator(blocks)
    offsets = evaluator.offsets
    values = evaluator.nonvanishing(x)
    shape = (evaluator.n_nonvanishing, n_features, n_rows)
    lower = xp.zeros(shape, dtype=x.dtype, device=x.device)
    found = [lower[:0, ...]]
    for degree, block in enumerate(blocks, start=1):
        start, stop = offsets[degree], offsets[degree + 1]
        if degree == 1:
            lower[start:stop, ...] = _of_variables(block.nonvanishing, block.left, x)
            found.append(_of_variables(block.vanishing, block.left, x))
            continue
        candidates = _products_of(values, lower, offsets[: degree + 1], block.left, block.right)
        below = lower[:start, ...]
        lower[start:stop, ...] = _combine(
            block.nonvanishing, block.nonvanishing_lower, candidates, below
        )
        found.append(_combine(block.vanishing, block.vanishing_lower, candidates, below))
    return values, lower, xp.concat(found, axis=0)


def _products_of(
    values: Array, derivatives: Array, offsets: list[int], left: IntArray, right: IntArray
) -> Array:
    """Return (f h)' = f' h + f h' for f in F_1 and h in F_{t-1}, the last of the degrees."""
    xp = namespace(values)
    i, j = (move_like(each, values) for each in (left, right))
    first, last = slice(offsets[1], offsets[2]), slice(offsets[-2], offsets[-1])
    product = xp.take(derivatives[first, ...], i, axis=0)
    product *= xp.take(values[last, :], j, axis=0)[:, None, :]
    other = xp.take(derivatives[last, ...], j, axis=0)
    other *= xp.take(values[first, :], i, axis=0)[:, None, :]
    product += other
    return product


def _of_variables(on_candidates: FloatArray | Complement, left: IntArray, x: Array) -> Array:
    """Return the derivatives of combinations of the variables: their coefficients, in all rows."""
    n_rows, n_features = x.shape
    coefficients = np.zeros((on_candidates.shape[1], n_features))
    coefficients[:, left] = np.asarray(on_candidates).T
    moved = move_like(coefficients, x)[:, :, None]
    return namespace(x).broadcast_to(moved, (*coefficients.shape, n_rows))


def _combine(
    on_candidates: FloatArray | Complement, on_lower: FloatArray, candidates: Array, lower: Array
) -> Array:
    xp = namespace(candidates)
    matrix = move_like(np.asarray(on_candidates), candidates)
    combined = xp.tensordot(matrix.T, candidates, axes=1)
    combined -= xp.tensordot(move_like(on_lower, candidates).T, lower, axes=1)
    return combined


# --- Gradients of combinations Σ_g a_g g, by the product rule in reverse --------------------------
#
# A combination has one gradient, however many polynomials there are. Going back from the values to
# the variables costs about as much as evaluating; a Jacobian costs that times the number of
# variables.


def pullback_of_vanishing(blocks: Sequence[DegreeBlock], x: Array, outer: Array) -> Array:
    """Return Σ_g a_g ∇g, shape (n_features, n_rows), for a_g of shape (n_vanishing, n_rows)."""
    xp = namespace(x)
    blocks = blocks[: last_degree_with_vanishing(blocks)]
    evaluator = Evaluator(blocks)
    offsets = evaluator.offsets
    values = evaluator.nonvanishing(x)
    on_variables = xp.zeros((x.shape[1], x.shape[0]), dtype=x.dtype, device=x.device)
    on_nonvanishing = xp.zeros_like(values)
    stop = outer.shape[0]
    for degree in range(len(blocks), 0, -1):
        block = blocks[degree - 1]
        here = outer[stop - block.vanishing.shape[1] : stop, :]
        stop -= block.vanishing.shape[1]
        own = on_nonvanishing[offsets[degree] : offsets[degree + 1], :]
        lower = on_nonvanishing[: offsets[degree], :]
        lower -= move_like(block.vanishing_lower, x) @ here
        lower -= move_like(block.nonvanishing_lower, x) @ own
        candidates = _times(block.vanishing, here) + move_like(block.nonvanishing, x) @ own
        if degree == 1:
            if _are_all_variables(block.left, x):
                return candidates
            _add_rows(on_variables, block.left, candidates)
            continue
        first, last = slice(offsets[1], offsets[2]), slice(offsets[degree - 1], offsets[degree])
        left, right = move_like(block.left, x), move_like(block.right, x)
        _add_rows(
            on_nonvanishing[first, :],
            block.left,
            candidates * xp.take(values[last, :], right, axis=0),
        )
        _add_rows(
            on_nonvanishing[last, :],
            block.right,
            candidates * xp.take(values[first, :], left, axis=0),
        )
    return on_variables


def _times(matrix: FloatArray | Complement, outer: Array) -> Array:
    if isinstance(matrix, Complement):
        return matrix.combine(outer)
    return move_like(matrix, outer) @ outer


def _add_rows(target: Array, rows: IntArray, added: Array) -> None:
    """Add rows to rows of ``target`` in place; the same row may occur several times."""
    xp = namespace(target)
    chosen = xp.astype(
        xp.arange(target.shape[0], device=target.device)[:, None]
        == move_like(rows, target)[None, :],
        target.dtype,
    )
    target += chosen @ added


# --- Polynomials along lines x + t v: their coefficients in powers of t ---------------------------
#
# The nested products are multiplied out in t instead of being evaluated. That is exact, even if the
# direction is long and the powers of t have very different sizes. It costs as much as evaluating
# degree + 1 points of each line, however many points are needed later.


def vanishing_along_lines(
    blocks: Sequence[DegreeBlock], x: FloatArray, directions: Any
) -> list[FloatArray]:
    """Return the coefficients of 1, t, t², ... in G(x + t v), (n_vanishing, n_lines)."""
    blocks = blocks[: last_degree_with_vanishing(blocks)]
    offsets = Evaluator(blocks).offsets
    widths = [len(x)] + [directions.shape[0]] * len(blocks)
    lower = [np.zeros((offsets[-1], width)) for width in widths]
    lower[0][0] = 1.0
    found: list[list[FloatArray]] = [[np.empty((0, width))] for width in widths]
    for degree, block in enumerate(blocks, start=1):
        start, stop = offsets[degree], offsets[degree + 1]
        if degree == 1:
            candidates = [x[:, block.left].T, directions[:, block.left].T]
        else:
            first = [part[offsets[1] : offsets[2]][block.left] for part in lower[:2]]
            last = [part[offsets[degree - 1] : start][block.right] for part in lower[:degree]]
            candidates = _products(first, last)
        for power, width in enumerate(widths):
            if power > degree:
                found[power].append(np.zeros((block.vanishing.shape[1], width)))
                continue
            below, products = lower[power][:start], candidates[power]
            # (C_pre - F L) V, as in the values.
            found[power].append(
                np.asarray(block.vanishing).T @ products - block.vanishing_lower.T @ below
            )
            lower[power][start:stop] = (
                block.nonvanishing.T @ products - block.nonvanishing_lower.T @ below
            )
    return [np.concatenate(parts) for parts in found]


def _products(first: list[FloatArray], last: list[FloatArray]) -> list[FloatArray]:
    """Return the coefficients of (a + b t) Σ_k c_k tᵏ."""
    constant, slope = first
    inner = [constant * last[k] + slope * last[k - 1] for k in range(1, len(last))]
    return [constant * last[0], *inner, slope * last[-1]]
