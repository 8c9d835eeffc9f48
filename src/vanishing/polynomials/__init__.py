"""Polynomials as nested products: what a basis is, its values, Jacobians and coefficients."""

from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.evaluation import DegreeBlock
from vanishing.polynomials.monomials import AffineMap

__all__ = ["AffineMap", "DegreeBlock", "PolynomialBasis"]
