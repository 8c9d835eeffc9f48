"""One degree of a basis.

Notation of the paper: the candidates C of degree t are products F_1[left] · F_{t-1}[right], made
orthogonal to the lower degrees by C = C_pre - F^{t-1} L; then F_t = C V_F and G_t = C V_G.
At degree 1 the candidates are the variables: x[left] · 1.
"""

from dataclasses import dataclass, fields

from vanishing.arrays.namespace import FloatArray, IntArray, lazy


@dataclass(frozen=True, eq=False)
class DegreeBlock:
    """The polynomials of one degree, as matrices over products of lower ones.

    Parameters
    ----------
    left, right : int arrays of shape (n_candidates,)
        The candidates are ``F_1[left] * F_{t-1}[right]``; at degree 1, ``x[left]``.
    projection : array of shape (n_lower, n_candidates)
        L: coefficients of the candidates on all nonvanishing polynomials of lower degree.
    nonvanishing : array of shape (n_candidates, n_nonvanishing)
        V_F.
    vanishing : array of shape (n_candidates, n_vanishing)
        V_G.
    extents : array of shape (n_vanishing,)
        Root mean square of each vanishing polynomial on the points it was fitted to.
    """

    left: IntArray
    right: IntArray
    projection: FloatArray
    nonvanishing: FloatArray
    vanishing: FloatArray
    extents: FloatArray

    def __post_init__(self) -> None:
        for field in fields(self):
            getattr(self, field.name).setflags(write=False)

    @property
    def n_candidates(self) -> int:
        """Number of products that the polynomials of this degree combine."""
        return int(self.left.shape[0])

    @lazy
    def nonvanishing_lower(self) -> FloatArray:
        """L V_F: what F_t takes off from the lower degrees."""
        return self.projection @ self.nonvanishing

    @lazy
    def vanishing_lower(self) -> FloatArray:
        """L V_G: what G_t takes off from the lower degrees."""
        return self.projection @ self.vanishing

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__post_init__()
