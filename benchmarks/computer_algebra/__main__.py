"""Ideals of the known varieties, compared by Singular and Macaulay2 with the true ones.

``python -m benchmarks.computer_algebra`` fits points of each variety up to one degree more than its
equations have, writes the equations for both systems, and asks them whether the ideal is that of
the true equations. Points are rational, and equations proved on them by ``to_rational``; for the
two varieties without a rational parametrization they are floats, and equations tidied by ``tidy``.

Writes ``results.md`` and ``results.json`` beside this file. Singular and Macaulay2 are Debian
packages: ``apt install singular-ui macaulay2``.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import sympy
from benchmarks import machine
from benchmarks.computer_algebra.systems import SYSTEMS, is_equal, version_of
from benchmarks.laws.report import table

from vanishing import VanishingIdeal
from vanishing.datasets import describe_variety, make_variety, varieties
from vanishing.equations import tidy, to_computer_algebra

HERE = Path(__file__).parent
N_POINTS = 300


def degree_of(name: str) -> int:
    """Return the largest degree of the equations of a variety."""
    record = describe_variety(name)
    symbols = sympy.symbols(record.variables)
    return max(sympy.Poly(text, *symbols).total_degree() for text in record.equations)


def find_equations(name: str, generators: str) -> tuple[int, list[Any]]:
    """Return the number of polynomials of a fit, and exact equations made of them."""
    record = describe_variety(name)
    ideal = VanishingIdeal(max_degree=degree_of(name) + 1, tol=0, generators=generators)
    if record.rational:
        points = make_variety(name, N_POINTS, exact=True)
        ideal.fit(points.astype(float))
        return ideal.basis_.count(), ideal.to_rational(points, record.variables)
    points = make_variety(name, 1000)
    ideal.set_params(tol=1e-9).fit(points)
    return ideal.basis_.count(), tidy(ideal, points, record.variables)


def measure(name: str) -> dict[str, Any]:
    """Compare the ideals of one variety."""
    record = describe_variety(name)
    row: dict[str, Any] = {
        "variety": name,
        "proved": "on rational points" if record.rational else "no, tidied",
    }
    for generators in ("all", "minimal"):
        row[f"polynomials, {generators}"], equations = find_equations(name, generators)
        for system in SYSTEMS:
            text = to_computer_algebra(equations, system, record.variables)
            row[f"{system}, {generators}"] = (
                "equal" if is_equal(system, text, record.equations) else "different"
            )
    return row


def main() -> None:
    """Compare all varieties, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", default=varieties(), help="varieties, all by default")
    options = parser.parse_args()
    started = time.perf_counter()
    rows = []
    for name in options.names:
        rows.append(measure(name))
        print(rows[-1], flush=True)
    described = machine.describe()
    versions = {system: version_of(system) for system in SYSTEMS}
    versions["sympy"] = sympy.__version__
    record = {
        "machine": described,
        "versions": versions,
        "seconds": round(time.perf_counter() - started),
        "varieties": rows,
    }
    if len(rows) < len(varieties()):
        return
    (HERE / "results.json").write_text(json.dumps(record, indent=1) + "\n")
    counts = [
        f"{system}, {generators} generators: "
        f"{sum(row[f'{system}, {generators}'] == 'equal' for row in rows)} of {len(rows)} equal  "
        for system in SYSTEMS
        for generators in ("all", "minimal")
    ]
    lines = [f"{key}: {value}  " for key, value in (described | versions).items()]
    title, about = __doc__.split("\n", 1)
    parts = [f"# {title}", about.strip(), "\n".join(lines), "\n".join(counts), table(rows)]
    (HERE / "results.md").write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
