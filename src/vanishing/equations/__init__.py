"""Polynomials in forms that people and other programs read."""

from typing import TYPE_CHECKING

from vanishing.lazy_names import import_when_used

if TYPE_CHECKING:
    from vanishing.equations.code import to_c, to_python
    from vanishing.equations.computer_algebra import to_computer_algebra
    from vanishing.equations.expansion import affine_map, to_latex, to_sympy
    from vanishing.equations.onnx import to_onnx
    from vanishing.equations.rational import CertificateError, to_rational
    from vanishing.equations.simplification import TidyEquation, tidy

__all__ = [
    "CertificateError",
    "TidyEquation",
    "affine_map",
    "tidy",
    "to_c",
    "to_computer_algebra",
    "to_latex",
    "to_onnx",
    "to_python",
    "to_rational",
    "to_sympy",
]

__getattr__, __dir__ = import_when_used(
    __name__,
    {
        "CertificateError": "rational",
        "TidyEquation": "simplification",
        "affine_map": "expansion",
        "tidy": "simplification",
        "to_c": "code",
        "to_computer_algebra": "computer_algebra",
        "to_latex": "expansion",
        "to_onnx": "onnx",
        "to_python": "code",
        "to_rational": "rational",
        "to_sympy": "expansion",
    },
)
