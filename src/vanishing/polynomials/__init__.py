"""Polynomials as nested products: what a basis is, its values, Jacobians and coefficients."""

from vanishing.polynomials.affine import AffineMap
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.block import DegreeBlock

__all__ = ["AffineMap", "DegreeBlock", "PolynomialBasis"]
