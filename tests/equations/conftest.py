"""A stand-in for SageMath."""

import sys
import types

import pytest
import sympy


class Ring:
    """What the exported files use of a polynomial ring."""

    def __init__(self, field, names):
        self.names = names

    def gens(self):
        return sympy.symbols(self.names)

    def ideal(self, polynomials):
        return polynomials


@pytest.fixture
def sage(monkeypatch):
    """Make ``from sage.all import ...`` work."""
    module = types.ModuleType("sage.all")
    module.QQ, module.RR, module.PolynomialRing = "QQ", "RR", Ring
    monkeypatch.setitem(sys.modules, "sage", types.ModuleType("sage"))
    monkeypatch.setitem(sys.modules, "sage.all", module)
