"""A polynomial that is written down."""

from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any


@dataclass(frozen=True)
class Polynomial:
    """A polynomial with whole coefficients, in the syntax that Python and SymPy share.

    Parameters
    ----------
    text : str
    variables : tuple of str
    """

    text: str
    variables: tuple[str, ...]

    def __call__(self, points: Any) -> Any:
        """Return the values at points, an array of any numbers of shape (..., n_variables)."""
        values = {name: points[..., k] for k, name in enumerate(self.variables)}
        # The texts are those of the catalogue, never a user's.
        return eval(_compiled(self.text), {"__builtins__": {}}, values)


@cache
def _compiled(text: str) -> CodeType:
    return compile(text, text, "eval")
