"""The algorithm VCA(X, Y): candidates, the generalized problem, one degree, the loop."""

from vanishing.construction.loop import Construction, construct
from vanishing.construction.step import DegreeTrace

__all__ = ["Construction", "DegreeTrace", "construct"]
