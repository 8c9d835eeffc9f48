"""Laws of a table: short polynomial equations among its columns, and the cells that break them.

For trajectories: what stays constant along them, and their differential equations.
"""

from vanishing.laws.check import BrokenRow, Check, Fix
from vanishing.laws.invariants import Invariant, Invariants, discover_invariants
from vanishing.laws.law import Law
from vanishing.laws.laws import Laws, discover
from vanishing.laws.odes import Ode, Odes, discover_odes

__all__ = [
    "BrokenRow",
    "Check",
    "Fix",
    "Invariant",
    "Invariants",
    "Law",
    "Laws",
    "Ode",
    "Odes",
    "discover",
    "discover_invariants",
    "discover_odes",
]
