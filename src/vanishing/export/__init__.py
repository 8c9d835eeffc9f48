"""Polynomials in forms that people and other programs read."""

from vanishing.export.latex import to_latex
from vanishing.export.onnx import to_onnx
from vanishing.export.rational import CertificateError, to_rational
from vanishing.export.sympy import to_sympy

__all__ = ["CertificateError", "to_latex", "to_onnx", "to_rational", "to_sympy"]
