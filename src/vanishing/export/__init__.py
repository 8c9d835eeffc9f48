"""Polynomials in forms that people and other programs read."""

from vanishing.export.latex import to_latex
from vanishing.export.sympy import to_sympy

__all__ = ["to_latex", "to_sympy"]
