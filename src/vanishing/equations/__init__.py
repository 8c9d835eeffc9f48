"""Polynomials in forms that people and other programs read."""

from vanishing.equations.code import to_c, to_python
from vanishing.equations.model import affine_map, to_sympy
from vanishing.equations.onnx.model import to_onnx
from vanishing.equations.rational import CertificateError, to_rational
from vanishing.equations.text import to_latex
from vanishing.equations.tidy import TidyEquation, tidy

__all__ = [
    "CertificateError",
    "TidyEquation",
    "affine_map",
    "tidy",
    "to_c",
    "to_latex",
    "to_onnx",
    "to_python",
    "to_rational",
    "to_sympy",
]
