"""Polynomials in forms that people and other programs read."""

from vanishing.export.c import to_c
from vanishing.export.equation import TidyEquation
from vanishing.export.latex import to_latex
from vanishing.export.onnx import to_onnx
from vanishing.export.preprocessing import affine_map
from vanishing.export.python import to_python
from vanishing.export.rational import CertificateError, to_rational
from vanishing.export.sympy import to_sympy
from vanishing.export.tidy import tidy

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
