"""Trajectories: ``python -m benchmarks.laws.trajectories``.

Writes ``trajectories_results.md`` and ``.json`` beside this file.

Each seed draws 8 trajectories of a system from random starts, 150 to 300 rows each, with noise of
1 % of the columns' spreads. Invariants count as found if they span the polynomials that are
conserved, within 3 % of their coefficients, and nothing else is listed. In systems without one,
anything that is listed is a false discovery. Equations of motion count as found if their terms are
the right ones, and their coefficients right within 10 %.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.laws.report import describe, share, table, write
from benchmarks.laws.runs import make_parser, run_all
from scipy.integrate import solve_ivp

from vanishing.laws import Law, discover_invariants, discover_odes

NOISE = 0.01
N_TRAJECTORIES = 8

Polynomial = dict[tuple[int, ...], float]


@dataclass(frozen=True)
class System:
    """A system, where its trajectories start, and what is known about it."""

    names: tuple[str, ...]
    start: Callable[[np.random.Generator], np.ndarray]
    duration: float
    n_rows: int = 150
    motion: Callable[..., Any] | None = None
    invariants: Sequence[Polynomial] = ()
    laws: Sequence[Polynomial] = ()
    equations: Sequence[Polynomial] = field(default_factory=list)

    def record(self, seed: int) -> list[np.ndarray]:
        """Return noisy trajectories."""
        rng = np.random.default_rng(seed)
        records = [self._run(rng) for _ in range(N_TRAJECTORIES)]
        spreads = np.concatenate(records).std(axis=0)
        return [each + NOISE * spreads * rng.normal(size=each.shape) for each in records]

    def _run(self, rng: np.random.Generator) -> np.ndarray:
        start = self.start(rng)
        if self.motion is None:  # a random walk
            steps = rng.normal(size=(self.n_rows, len(self.names)))
            return np.asarray(start + 0.1 * np.cumsum(steps, axis=0))
        times = np.linspace(0, self.duration, self.n_rows)
        solution = solve_ivp(
            self.motion, (0, self.duration), start, "DOP853", times, rtol=1e-9, atol=1e-11
        )
        return np.asarray(solution.y.T)


INERTIA = np.array([1.0, 2.0, 3.0])


def attract(t: float, z: np.ndarray) -> np.ndarray:
    """Return the derivatives of the Kepler problem."""
    return np.r_[z[2:], -z[:2] / np.hypot(z[0], z[1]) ** 3]


def start_orbit(rng: np.random.Generator) -> np.ndarray:
    """Return the pericentre of an ellipse in a random direction."""
    size, eccentricity, angle = rng.uniform([0.7, 0.1, 0], [1.5, 0.6, 2 * np.pi])
    radius = size * (1 - eccentricity)
    speed = np.sqrt((1 + eccentricity) / (1 - eccentricity) / size) * rng.choice([-1, 1])
    c, s = np.cos(angle), np.sin(angle)
    return np.array([radius * c, radius * s, -speed * s, speed * c])


def start_henon(rng: np.random.Generator) -> np.ndarray:
    """Return a state of an energy between 0.08 and 0.12."""
    energy, angle = rng.uniform([0.08, 0], [0.12, 2 * np.pi])
    while True:
        x, y = rng.uniform(-0.4, 0.4, 2)
        potential = (x**2 + y**2) / 2 + x**2 * y - y**3 / 3
        if potential < energy:
            speed = np.sqrt(2 * (energy - potential))
            return np.array([x, y, speed * np.cos(angle), speed * np.sin(angle)])


def infect(t: float, z: np.ndarray) -> list[float]:
    """Return the derivatives of an epidemic."""
    return [-z[0] * z[1], z[0] * z[1] - 0.25 * z[1], 0.25 * z[1]]


def start_epidemic(rng: np.random.Generator, people: float) -> np.ndarray:
    """Return a population with a few infected."""
    ill, immune = people * rng.uniform([0.005, 0], [0.05, 0.3])
    return np.array([people - ill - immune, ill, immune])


TOTAL = {(1, 0, 0): 1.0, (0, 1, 0): 1.0, (0, 0, 1): 1.0}

SYSTEMS = {
    "harmonic oscillator": System(
        ("x", "v"), lambda rng: rng.normal(size=2), 6,
        motion=lambda t, z: [z[1], -4 * z[0]],
        invariants=[{(2, 0): 4, (0, 2): 1}],
        equations=[{(0, 1, 0): -1, (0, 0, 1): 1}, {(1, 0, 0): 4, (0, 0, 1): 1}],
    ),
    "Euler top": System(
        ("w1", "w2", "w3"), lambda rng: rng.normal(size=3), 15,
        motion=lambda t, w: np.cross(INERTIA * w, w) / INERTIA,
        invariants=[
            {(2, 0, 0): 1, (0, 2, 0): 2, (0, 0, 2): 3},
            {(2, 0, 0): 1, (0, 2, 0): 4, (0, 0, 2): 9},
        ],
    ),
    "Kepler problem": System(
        ("x", "y", "vx", "vy"), start_orbit, 9, motion=attract,
        invariants=[{(1, 0, 0, 1): 1, (0, 1, 1, 0): -1}],
    ),
    "Henon-Heiles": System(
        ("x", "y", "px", "py"), start_henon, 40, 200,
        motion=lambda t, z: [z[2], z[3], -z[0] - 2 * z[0] * z[1], -z[1] - z[0] ** 2 + z[1] ** 2],
        invariants=[
            {
                (2, 0, 0, 0): 3, (0, 2, 0, 0): 3, (0, 0, 2, 0): 3, (0, 0, 0, 2): 3,
                (2, 1, 0, 0): 6, (0, 3, 0, 0): -2,
            }
        ],
    ),
    "epidemics, people differ": System(
        ("S", "I", "R"), lambda rng: start_epidemic(rng, rng.uniform(0.5, 2)), 30,
        motion=infect, invariants=[TOTAL],
    ),
    "epidemics, S + I + R = 1": System(
        ("S", "I", "R"), lambda rng: start_epidemic(rng, 1.0), 30, motion=infect,
        laws=[{**TOTAL, (0, 0, 0): -1}],
        equations=[
            {(1, 1, 0, 0): 1, (0, 0, 0, 1): 1},
            {(1, 1, 0, 0): -1, (0, 1, 0, 0): 0.25, (0, 0, 0, 1): 1},
            {(0, 1, 0, 0): -0.25, (0, 0, 0, 1): 1},
        ],
    ),
    "predator and prey, rational": System(
        ("x", "y"), lambda rng: rng.uniform(0.3, 2.5, 2), 20, 200,
        motion=lambda t, z: [
            z[0] * (1 - z[0] / 3) - z[0] * z[1] / (1 + z[0]),
            z[1] * (-0.4 + 0.8 * z[0] / (1 + z[0])),
        ],
        equations=[
            {(0, 0, 1): 3, (1, 0, 1): 3, (1, 0, 0): -3, (2, 0, 0): -2, (3, 0, 0): 1, (1, 1, 0): 3},
            {(0, 0, 1): 5, (1, 0, 1): 5, (0, 1, 0): 2, (1, 1, 0): -2},
        ],
    ),
    "gene with feedback, rational": System(
        ("x", "y"), lambda rng: rng.uniform(0, 3, 2), 10, 200,
        motion=lambda t, z: [1 / (1 + z[1] ** 2) - 0.5 * z[0], 2 * z[0] - z[1]],
        equations=[
            {(0, 0, 1): 2, (0, 2, 1): 2, (1, 0, 0): 1, (1, 2, 0): 1, (0, 0, 0): -2},
            {(0, 0, 1): 1, (1, 0, 0): -2, (0, 1, 0): 1},
        ],
    ),
    "random walk": System(("x", "y", "z"), lambda rng: rng.normal(size=3), 1),
    "random walk in the plane": System(("x", "y"), lambda rng: rng.normal(size=2), 1),
    "Lorenz": System(
        ("x", "y", "z"), lambda rng: rng.normal([0, 0, 25], 8), 8, 300,
        motion=lambda t, z: [
            10 * (z[1] - z[0]), z[0] * (28 - z[2]) - z[1], z[0] * z[1] - 8 / 3 * z[2],
        ],
    ),
    "Roessler": System(
        ("x", "y", "z"), lambda rng: rng.normal([0, 0, 3], 4), 30, 300,
        motion=lambda t, z: [-z[1] - z[2], z[0] + 0.2 * z[1], 0.2 + z[2] * (z[0] - 5.7)],
    ),
    "van der Pol": System(
        ("x", "v"), lambda rng: 2 * rng.normal(size=2), 8,
        motion=lambda t, z: [z[1], (1 - z[0] ** 2) * z[1] - z[0]],
    ),
    "damped oscillator": System(
        ("x", "v"), lambda rng: 2 * rng.normal(size=2), 12,
        motion=lambda t, z: [z[1], -z[0] - 0.2 * z[1]],
    ),
}  # fmt: skip
#: Systems without an invariant among polynomials, nor a law.
WITHOUT = (
    "random walk", "random walk in the plane", "Lorenz", "Roessler", "van der Pol",
    "damped oscillator",
)  # fmt: skip


def main() -> None:
    """Run the systems and write the results."""
    options = make_parser("Invariants and equations of trajectories.", 10, 0, 17).parse_args()
    seeds = range(options.seed, options.seed + options.tables)
    tasks = []
    for name, system in SYSTEMS.items():
        if system.invariants or system.laws or name in WITHOUT:
            tasks.append((name, "find_invariants"))
        if system.equations or system.motion is None:
            tasks.append((name, "find_equations"))
    calls = [(name, task, seed) for name, task in tasks for seed in seeds]
    answers = run_all(_measure, calls, options.jobs)
    rows = [
        {"system": name, "task": task, "seeds": answers[i : i + len(seeds)]}
        for i, (name, task) in zip(range(0, len(answers), len(seeds)), tasks, strict=True)
    ]
    report({"machine": describe(options.seed), "noise": NOISE, "rows": rows}, options.out)


def _measure(name: str, task: str, seed: int) -> dict[str, Any]:
    look = {"find_invariants": find_invariants, "find_equations": find_equations}[task]
    return look(SYSTEMS[name], seed)


def find_invariants(system: System, seed: int) -> dict[str, Any]:
    """Look for invariants."""
    X = system.record(seed)
    started = time.process_time()
    found = discover_invariants(X, feature_names=system.names)
    seconds = time.process_time() - started
    right = spans(found.equations, system.invariants) and spans(found.laws, system.laws)
    texts = [str(each) for each in (*found.equations, *found.laws)]
    return {"right": right, "found": texts, "seconds": round(seconds, 2)}


def find_equations(system: System, seed: int) -> dict[str, Any]:
    """Look for equations of motion."""
    X = system.record(seed)
    started = time.process_time()
    found = discover_odes(X, system.duration / (system.n_rows - 1), feature_names=system.names)
    seconds = time.process_time() - started
    right = len(found) == len(system.equations) and all(
        agrees(equation, expected)
        for equation, expected in zip(found, system.equations, strict=True)
    )
    texts = [str(each) for each in found]
    return {"right": right, "found": texts, "seconds": round(seconds, 2)}


def take_coefficients(law: Law) -> Polynomial:
    """Return the coefficients by exponents."""
    powers = map(tuple, law.exponents.tolist())
    return dict(zip(powers, law.coefficients.tolist(), strict=True))


def spans(found: Sequence[Law], expected: Sequence[Polynomial]) -> bool:
    """Whether polynomials span the expected ones, within 3 %."""
    if len(found) != len(expected):
        return False
    polynomials = [*map(take_coefficients, found), *expected]
    keys = sorted({key for polynomial in polynomials for key in polynomial})
    matrix = np.array([[p.get(key, 0.0) for key in keys] for p in polynomials])
    if not len(found):
        return True
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    basis = np.linalg.svd(matrix[len(found) :], full_matrices=False)[2]
    rest = matrix[: len(found)] - matrix[: len(found)] @ basis.T @ basis
    independent = np.linalg.matrix_rank(matrix[: len(found)], tol=0.1) == len(found)
    return bool(independent and np.linalg.norm(rest, axis=1).max() < 0.03)


def agrees(law: Law, expected: Polynomial) -> bool:
    """Whether a polynomial has the expected terms, and coefficients within 10 %."""
    coefficients = take_coefficients(law)
    if set(coefficients) != set(expected):
        return False
    ratios = np.array([coefficients[key] / expected[key] for key in expected])
    return bool(np.abs(ratios / np.median(ratios) - 1).max() < 0.1)


def report(record: dict[str, Any], folder: Path) -> None:
    """Write the results."""
    kinds: dict[str, list[dict[str, Any]]] = {"invariants": [], "none": [], "equations": []}
    for row in record["rows"]:
        answers = row["seeds"]
        right = sum(answer["right"] for answer in answers)
        seconds = [answer["seconds"] for answer in answers]
        last = f"{np.median(seconds):.1f}"
        without = row["system"] in WITHOUT
        if without:
            false = share(len(answers) - right, len(answers))
            what = "invariants" if row["task"] == "find_invariants" else "equations"
            kinds["none"].append(
                {"system": row["system"], "looked for": what, "false": false, "seconds": last}
            )
            continue
        kind = row["task"].removeprefix("find_")
        first = next((answer for answer in answers if answer["right"]), answers[0])
        kinds[kind].append(
            {
                "system": row["system"],
                "found": share(right, len(answers)),
                "such as": "; ".join(first["found"]),
                "seconds": last,
            }
        )
    wrong = [
        f"* {row['system']}: {'; '.join(answer['found']) or 'nothing'}"
        for row in record["rows"]
        for answer in row["seeds"]
        if not answer["right"]
    ]
    parts = [
        "## Invariants and laws", table(kinds["invariants"]),
        "## Systems without one", table(kinds["none"]),
        "## Equations of motion", table(kinds["equations"]),
        "## What was found instead", "\n".join(dict.fromkeys(wrong)) or "Nothing.",
    ]  # fmt: skip
    about = __doc__[__doc__.index("Each seed") :]
    about += "\nSeconds are medians of CPU time for one call."
    write("trajectories", "Invariants and equations of trajectories", about, record, parts, folder)


if __name__ == "__main__":
    main()
