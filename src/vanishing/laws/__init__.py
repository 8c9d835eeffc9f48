"""Laws of a table: short polynomial equations among its columns, and the cells that break them.

For trajectories: what stays constant along them, and their differential equations.
"""

from typing import TYPE_CHECKING

from vanishing.laws.check import BrokenRow, Check, Fix
from vanishing.laws.conditions import Condition
from vanishing.laws.derived import DerivedColumn
from vanishing.laws.discovery import discover
from vanishing.laws.domains import Domain
from vanishing.laws.law import Law
from vanishing.laws.laws import Laws
from vanishing.lazy_names import import_when_used

if TYPE_CHECKING:
    from vanishing.laws.formulas import FormulaCell, FormulaCheck, check_formulas
    from vanishing.laws.invariants import Invariant, Invariants, discover_invariants
    from vanishing.laws.joined import JoinedLaws, discover_joined
    from vanishing.laws.odes import Ode, Odes, discover_odes

__all__ = [
    "BrokenRow",
    "Check",
    "Condition",
    "DerivedColumn",
    "Domain",
    "Fix",
    "FormulaCell",
    "FormulaCheck",
    "Invariant",
    "Invariants",
    "JoinedLaws",
    "Law",
    "Laws",
    "Ode",
    "Odes",
    "check_formulas",
    "discover",
    "discover_invariants",
    "discover_joined",
    "discover_odes",
]

# Laws of a table are found without what trajectories and workbooks need.
__getattr__, __dir__ = import_when_used(
    __name__,
    {
        "FormulaCell": "formulas",
        "FormulaCheck": "formulas",
        "check_formulas": "formulas",
        "Invariant": "invariants",
        "Invariants": "invariants",
        "discover_invariants": "invariants",
        "JoinedLaws": "joined",
        "discover_joined": "joined",
        "Ode": "odes",
        "Odes": "odes",
        "discover_odes": "odes",
    },
)
