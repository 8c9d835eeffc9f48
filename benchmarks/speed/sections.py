"""Which measurements there are."""

from math import sqrt

from benchmarks.speed.task import Source, Task, TolNorm

REDUCTIONS = ("tsqr", "gram")
#: Leaves all linear polynomials of the Gaussian nonvanishing, so that degree 2 has all columns,
#: and lets a few of degree 2 vanish.
LOOSE = 0.04


def peers(*, quick: bool) -> list[Task]:
    """Cases a, b and c, with the tolerances of the peers.

    The published vca scales nonvanishing polynomials to Euclidean norm 1, so its tolerance means
    something else than our default one. It is run in that convention (``tol_norm="euclidean"``),
    which gives the same candidates as the peers have: 350 of degree 3 in b, 210 of degree 2 in c.
    A tolerance such as 0.1 in ours would leave out columns and flatter us. The peers' tolerances
    for coefficient are not recorded: those for gradient are taken. Contrastive has no peer.
    """
    tasks = []
    for case, data, rows, features, degree, vca, gradient in (
        ("a", "sphere", 2000, 3, 4, 9e-5, 0.022),
        ("b", "quadratic", 10_000, 10, 3, 2e-5, 0.01),
        ("c", "gaussian", 30_000, 20, 2, 3.75e-5, 0.058),
    ):
        choices: list[tuple[str, float, TolNorm]] = [
            ("vca", vca * sqrt(rows), "euclidean"),
            ("gradient", gradient, "rms"),
        ]
        choices += [("coefficient", gradient, "rms")] if case != "c" else []
        choices += [("contrastive", 0.1, "rms")]
        tasks += [
            Task(
                section="peers",
                name=f"{case} {normalization} {reduction}",
                data=data,
                rows=rows,
                features=features,
                degree=degree,
                normalization=normalization,
                tol=tol,
                tol_norm=tol_norm,
                contrast_rows=rows if normalization == "contrastive" else 0,
                reduction=reduction,
                repeats=1 if quick else 5,
            )
            for normalization, tol, tol_norm in choices
            for reduction in REDUCTIONS
        ]
    return tasks


def floor(*, quick: bool) -> list[Task]:
    """How far the fit is from the matrix products that it cannot do without."""
    rows, features = (5000, 10) if quick else (200_000, 30)
    return [
        _gaussian(
            "floor",
            rows,
            features,
            2,
            normalization,
            reduction,
            repeats=1 if quick else 3,
            threads=threads,
        )
        for threads in (1, 2)
        for normalization in ("contrastive", "gradient")
        for reduction in REDUCTIONS
    ]


def growth_rows(*, quick: bool) -> list[Task]:
    """Growth in N: twice the rows, twice the time."""
    sizes = [1000, 4000] if quick else [50_000, 100_000, 200_000, 400_000]
    return [
        _gaussian("growth-rows", rows, 20, 2, "contrastive", reduction, repeats=1 if quick else 3)
        for reduction in REDUCTIONS
        for rows in sizes
    ]


def growth_features(*, quick: bool) -> list[Task]:
    """Growth in n: degree 2 has about n²/2 columns, and time goes with their square."""
    sizes, rows = ([5, 10], 1000) if quick else ([5, 10, 20, 40], 20_000)
    return [
        _gaussian("growth-features", rows, n, 2, "contrastive", reduction, repeats=2)
        for reduction in REDUCTIONS
        for n in sizes
    ]


def growth_degree(*, quick: bool) -> list[Task]:
    """Growth in degree."""
    degrees, rows = ([2, 3], 1000) if quick else ([2, 3, 4, 5], 20_000)
    return [
        _gaussian("growth-degree", rows, 6, degree, "contrastive", reduction, repeats=2)
        for reduction in REDUCTIONS
        for degree in degrees
    ]


def memory(*, quick: bool) -> list[Task]:
    """Rows from a file: peak memory should not know how many there are."""
    sizes = [10_000, 40_000] if quick else [250_000, 1_000_000]
    contrast_rows = 5000 if quick else 200_000
    runs: list[tuple[Source, str]] = [
        ("memmap", "tsqr"),
        ("memmap", "gram"),
        ("chunks", "gram"),
        ("callable", "gram"),
    ]
    return [
        _gaussian(
            "memory",
            rows,
            20,
            2,
            "contrastive",
            reduction,
            contrast_rows=contrast_rows,
            source=source,
            repeats=1,
        )
        for source, reduction in runs
        for rows in sizes
    ]


def _gaussian(
    section: str,
    rows: int,
    features: int,
    degree: int,
    normalization: str,
    reduction: str,
    *,
    contrast_rows: int | None = None,
    source: Source = "array",
    repeats: int,
    threads: int = 1,
) -> Task:
    size = f"{rows:,}×{features} degree {degree}"
    if contrast_rows is None:
        contrast_rows = rows if normalization == "contrastive" else 0
    return Task(
        section=section,
        name=f"{size} {normalization} {reduction}"
        + ("" if source == "array" else f" {source}")
        + ("" if threads == 1 else f" {threads} threads"),
        data="gaussian",
        rows=rows,
        features=features,
        degree=degree,
        normalization=normalization,
        tol=LOOSE,
        reduction=reduction,
        contrast_rows=contrast_rows,
        source=source,
        repeats=repeats,
        threads=threads,
    )


SECTIONS = {
    "peers": peers,
    "floor": floor,
    "growth-rows": growth_rows,
    "growth-features": growth_features,
    "growth-degree": growth_degree,
    "memory": memory,
}
