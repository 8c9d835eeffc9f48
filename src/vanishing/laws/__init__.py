"""Laws of a table: short polynomial equations among its columns, and the cells that break them."""

from vanishing.laws.check import BrokenRow, Check, Fix
from vanishing.laws.invariants import Invariant, Invariants, discover_invariants
from vanishing.laws.law import Law
from vanishing.laws.laws import Laws, discover

__all__ = [
    "BrokenRow",
    "Check",
    "Fix",
    "Invariant",
    "Invariants",
    "Law",
    "Laws",
    "discover",
    "discover_invariants",
]
