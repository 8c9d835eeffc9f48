"""The same questions put to Singular, a computer algebra system, where it is installed.

It computes radicals and minimal primes from the generators alone, where ``theorem`` proves that
claimed ones are right.
"""

import shutil
import subprocess
from dataclasses import dataclass

from sympy import sympify
from sympy.polys.rings import PolyRing

from experiments.ideal_quotient.algebra import Ideal
from experiments.ideal_quotient.theorem import Finding

SECONDS = 60
#: Saturation is written out, because the command of that name differs between versions. Names are
#: longer than one letter, because variables of the ring have one.
SCRIPT = """
LIB "primdec.lib";
ring rationals = 0, ({variables}), dp;
short = 0;
proc show(string name, ideal shown) {{ print("answer " + name + " " + string(std(shown))); }}
ideal from_G = {G};
ideal of_W = {W};
ideal of_V = std(radical(from_G));
show("radical", of_V);
show("quotient", quotient(of_V, of_W));
ideal saturated = std(from_G);
ideal larger = std(quotient(saturated, of_W));
while (size(reduce(larger, saturated)) > 0)
{{
  saturated = larger;
  larger = std(quotient(saturated, of_W));
}}
show("saturation", saturated);
int position;
list found = minAssGTZ(from_G);
for (position = 1; position <= size(found); position++) {{ show("component_V", found[position]); }}
found = minAssGTZ(of_W);
for (position = 1; position <= size(found); position++) {{ show("component_W", found[position]); }}
"""


@dataclass(frozen=True)
class Answers:
    """What Singular says; see ``theorem.Finding``. Its primes are prime over the rationals."""

    radical: Ideal
    quotient: Ideal
    saturation: Ideal
    primes_V: frozenset[Ideal]
    primes_W: frozenset[Ideal]

    def agree_with(self, finding: Finding) -> bool:
        """Whether everything is the same."""
        return self == Answers(
            finding.ideal_V,
            finding.quotient,
            finding.saturation,
            frozenset(finding.primes_V),
            frozenset(finding.primes_W),
        )


def is_installed() -> bool:
    """Whether there is a program of this name."""
    return shutil.which("Singular") is not None


def ask(finding: Finding) -> Answers:
    """Let Singular compute from G and I(W)."""
    ring = finding.ideal_V.ring
    script = SCRIPT.format(
        variables=", ".join(map(str, ring.symbols)),
        G=_listed(finding.G),
        W=_listed(finding.ideal_W.basis),
    )
    run = subprocess.run(
        ["Singular", "-q", "--no-rc"],
        input=script + "quit;\n",
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    answers: dict[str, list[Ideal]] = {}
    for line in run.stdout.splitlines():
        if line.startswith("answer "):
            _, name, text = line.split(" ", 2)
            answers.setdefault(name, []).append(_ideal(text, ring))
    if len(answers) < 5:
        raise RuntimeError(
            f"Singular did not answer everything; it said:\n{run.stdout}{run.stderr}"
        )
    return Answers(
        *(answers[name][0] for name in ("radical", "quotient", "saturation")),
        *(frozenset(answers[name]) for name in ("component_V", "component_W")),
    )


def _listed(polynomials: tuple) -> str:
    return ", ".join(str(p).replace("**", "^") for p in polynomials) or "0"


def _ideal(text: str, ring: PolyRing) -> Ideal:
    return Ideal(ring, [ring.from_expr(sympify(part)) for part in text.split(",")])
