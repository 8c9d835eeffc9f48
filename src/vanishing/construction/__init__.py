"""The algorithm VCA(X, Y): candidates, the generalized problem, one degree, the loop."""

from vanishing.construction.loop import Construction, DegreeTrace, construct

__all__ = ["Construction", "DegreeTrace", "construct"]
