"""Polynomials in forms that people and other programs read.

The names are imported when they are first used: a fit needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vanishing.equations.code import to_c, to_python
    from vanishing.equations.expansion import affine_map, to_sympy
    from vanishing.equations.latex import to_latex
    from vanishing.equations.onnx.model import to_onnx
    from vanishing.equations.rational import CertificateError, to_rational
    from vanishing.equations.simplification import TidyEquation, tidy

_HOMES = {
    "CertificateError": "rational",
    "TidyEquation": "simplification",
    "affine_map": "expansion",
    "tidy": "simplification",
    "to_c": "code",
    "to_latex": "latex",
    "to_onnx": "onnx.model",
    "to_python": "code",
    "to_rational": "rational",
    "to_sympy": "expansion",
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'vanishing.equations' has no attribute {name!r}")
    value = getattr(import_module(f"vanishing.equations.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
