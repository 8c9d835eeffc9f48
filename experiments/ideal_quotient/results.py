"""The checks of Theorem 17 as records, as cells of the reproduction, and as a table."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.harness.cell import Cell, Results, Size
from experiments.ideal_quotient import singular
from experiments.ideal_quotient.examples import EXAMPLES, Example
from experiments.ideal_quotient.theorem import check

TITLE = "Theorem 17: the ideal quotient"
CONCLUSIONS = ("(1)", "(2)", "(3)", "(3)'")


def record(example: Example) -> dict[str, Any]:
    """Check one example, with Singular as well where it is installed; plain values only."""
    finding = check(example)
    seconds = {"SymPy": round(finding.seconds, 2)}
    agrees = None
    if singular.is_installed():
        started = time.perf_counter()
        agrees = singular.ask(finding).agree_with(finding)
        seconds["Singular"] = round(time.perf_counter() - started, 2)
    return {
        "example": example.name,
        "degree": example.degree,
        "G": [_text(g) for g in finding.G],
        "shared": [_text(g) for g in finding.shared],
        "I(W)": [_text(g) for g in finding.ideal_W.basis],
        "I(V) : I(W)": [_text(g) for g in finding.quotient.basis],
        "dim V_i": [prime.dimension for prime in finding.primes_V],
        "dim W": finding.ideal_W.dimension,
        "components proved": finding.components_proved,
        "G radical": finding.generated == finding.ideal_V,
        "hypotheses": finding.hypotheses,
        **finding.conclusions,
        "as expected": set(finding.fails) == set(example.fails),
        "Singular agrees": agrees,
        "engine": " and ".join(seconds),
        "seconds": round(sum(seconds.values()), 2),
        "remark": example.remark,
    }


def records() -> list[dict[str, Any]]:
    """Check all examples."""
    return [record(example) for example in EXAMPLES]


def cells(size: Size) -> Sequence[Cell]:
    """One cell an example, the same for all sizes."""
    return [Cell(example.name, partial(record, example)) for example in EXAMPLES]


def report(results: Results, size: Size) -> str:
    """The page: what is checked and how, a table, and remarks on single examples."""
    return TEXT.format(table=table(list(results.values())), remarks=_remarks(results))


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A Markdown table, one row an example."""
    header = ("X, Y", "generators of G", "hypotheses", *CONCLUSIONS, "engine", "seconds")
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    for row in rows:
        broken = [name for name, holds in row["hypotheses"].items() if not holds]
        cells_of_row = (
            row["example"],
            ", ".join(f"`{g}`" for g in row["G"]) or "none",
            "hold" if not broken else "not: " + ", ".join(broken),
            *("yes" if row[name] else "**no**" for name in CONCLUSIONS),
            row["engine"] + (" (disagree)" if row["Singular agrees"] is False else ""),
            f"{row['seconds']:.1f}",
        )
        lines.append("| " + " | ".join(cells_of_row) + " |")
    return "\n".join(lines)


def _text(polynomial: Any) -> str:
    return str(polynomial.as_expr())


def _remarks(results: Results) -> str:
    return "\n".join(f"- {r['example']}: {r['remark']}." for r in results.values() if r["remark"])


TEXT = """\
For points X and Y on known varieties, G = VCA(X, Y) at tolerance 0 is rounded to rational
polynomials and proved to vanish on X in exact arithmetic. V = V(G), and W is an irreducible
algebraic set that contains Y. The theorem says that, if dim W is the smallest dimension of a
component of V,

(1) V ⊄ W and W ⊄ V; (2) V is the closure of V ∖ W; (3) I(V) = I(V) : I(W); (3)' √⟨G⟩ = I(V) : I(W)
over the complex numbers.

{table}

Everything is decided by Gröbner bases over the rationals. Components of V and W are parametrized,
so that their ideals are prime over the complex numbers and real points are dense in them; that V
has these components and no others is proved by ⟨G⟩ ⊂ I(V) ⊂ √⟨G⟩. If Singular is installed, it
computes radical, quotient, saturation and minimal primes from G and I(W) independently, and the
answers are compared.

{remarks}

Polynomials that vanish on X and on Y are dropped by the method, and G is then determined only
modulo these; the table shows G reduced by them.

The proof in the supplement uses a lemma that is printed with V and W exchanged: for an irreducible
V, the closure of V ∖ W is V if V ⊄ W (it says: if W ⊄ V). The proof needs only that dim W exceeds
no dim V_i, not that it is the smallest of them.
"""
