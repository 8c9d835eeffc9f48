"""Does ``partial_fit`` find what ``fit`` finds? A seeded campaign of variants.

``python -m benchmarks.campaigns.partial_fit --variants 2000`` prints how many variants differ in
the numbers of polynomials, how many of these came with a warning, and the variants themselves.
``tests/construction/test_partial_fit_campaign.py`` runs a small part of it.
"""

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from vanishing import VanishingIdeal

NORMALIZATIONS = ("vca", "coefficient", "gradient", "gradient-weighted", "contrastive")

#: Spans farther apart than this, the sine of an angle, are different.
FARTHEST = 1e-3

Points = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Variant:
    """One table, cut into parts, and the parameters of a fit."""

    seed: int
    n_rows: int
    n_columns: int
    chunk: int
    offset: float
    scale: float
    kind: str
    degree: int
    tol: float
    normalization: str

    def points(self) -> Points:
        """Return the table: the last column is free, nearly or exactly a function of the first."""
        rng = np.random.default_rng(self.seed)
        X = rng.standard_normal((self.n_rows, self.n_columns))
        if self.n_columns > 1 and self.kind != "free":
            X[:, -1] = X[:, 0] ** 2
            if self.kind == "noisy":
                X[:, -1] += 1e-3 * rng.standard_normal(self.n_rows)
        return self.scale * (X + self.offset)

    def contrast(self) -> Points | None:
        """Return a cloud around the table, where the normalization asks for one."""
        if self.normalization != "contrastive":
            return None
        X, rng = self.points(), np.random.default_rng(self.seed + 1)
        return np.asarray(X.mean(axis=0) + 2 * self.scale * rng.standard_normal(X.shape))

    def ideal(self) -> VanishingIdeal:
        """Return an ideal with the tolerance in the units of the extents."""
        unit = self.scale if self.normalization.startswith("gradient") else 1.0
        return VanishingIdeal(
            normalization=self.normalization, max_degree=self.degree, tol=self.tol * unit
        )


def variants(n_variants: int, seed: int = 0, most_rows: int = 60) -> Iterator[Variant]:
    """Draw variants of 10 rows and more."""
    rng = np.random.default_rng(seed)
    for number in range(n_variants):
        n_rows = int(rng.integers(10, most_rows + 1))
        yield Variant(
            seed=1000 * seed + number,
            n_rows=n_rows,
            n_columns=int(rng.integers(1, 5)),
            chunk=int(rng.choice([1, 2, 3, 5, 8, 13, 30, n_rows])),
            offset=float(rng.choice([0.0, 100.0, 1e4])),
            scale=float(rng.choice([1e-3, 1.0, 1e3, 1e6])),
            kind=str(rng.choice(["free", "noisy", "exact"])),
            degree=int(rng.integers(1, 5)),
            tol=float(rng.choice([0.0, 1e-6, 1e-3, 0.1])),
            normalization=str(rng.choice(NORMALIZATIONS)),
        )


@dataclass(frozen=True)
class Outcome:
    """Numbers of polynomials of each degree, whether a warning came, and the spans of F.

    Numbers of vanishing, nonvanishing and undecided polynomials; ``angle`` is the sine of the
    largest angle between the spans of F on the points, 1 where the numbers differ.
    """

    whole: list[tuple[int, int, int]]
    parts: list[tuple[int, int, int]]
    warned: bool
    angle: float

    @property
    def differs(self) -> bool:
        """Say whether the numbers or the spans differ."""
        return self.whole != self.parts or self.angle > FARTHEST


def outcome(variant: Variant) -> Outcome:
    """Fit in one piece and in parts."""
    X, Y = variant.points(), variant.contrast()
    whole, parts = variant.ideal(), variant.ideal()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for start in range(0, len(X), variant.chunk):
            stop = start + variant.chunk
            parts.partial_fit(X[start:stop], contrast=None if Y is None else Y[start:stop])
        warned = bool(caught)
        whole.fit(X, contrast=Y)
    both = [
        [(step.vanishing, step.nonvanishing, step.undecided) for step in ideal.trace_]
        for ideal in (whole, parts)
    ]
    return Outcome(both[0], both[1], warned, _angle(whole, parts, X) if both[0] == both[1] else 1.0)


def _angle(whole: VanishingIdeal, parts: VanishingIdeal, X: Points) -> float:
    """Sine of the largest angle between the spans of F on X."""
    first, second = (
        np.linalg.qr(ideal.basis_.evaluate(X, which="nonvanishing"))[0] for ideal in (whole, parts)
    )
    return float(np.linalg.norm(second - first @ (first.T @ second), 2))


def main() -> None:
    """Run the campaign from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variants", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=60, help="the most rows of a table")
    parser.add_argument("--show", type=int, default=20, help="how many differences to print")
    arguments = parser.parse_args()
    different: list[tuple[Variant, Outcome]] = []
    refused: Counter[str] = Counter()
    angles: list[float] = []
    for variant in variants(arguments.variants, arguments.seed, arguments.rows):
        try:
            found = outcome(variant)
        except ValueError as error:
            refused[str(error)[:60]] += 1
            continue
        angles.append(found.angle)
        if found.differs:
            different.append((variant, found))
    silent = [pair for pair in different if not pair[1].warned]
    print(f"{arguments.variants} variants, {len(different)} differ, {len(silent)} silently")
    alike = np.array([a for a in angles if a < 1])
    print(f"spans of F apart by more than 1e-6: {int(np.sum(alike > 1e-6))}, 1e-3: ", end="")
    print(f"{int(np.sum(alike > 1e-3))}; refused: {dict(refused)}")
    for variant, found in silent[: arguments.show]:
        print(asdict(variant))
        print("   fit", found.whole, " partial_fit", found.parts)


if __name__ == "__main__":
    main()
