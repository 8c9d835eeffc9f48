"""What others need for the cases a, b and c: one BLAS thread, 2 cores, measured once by us.

The peaks include the interpreter and imports, as ours do. MAVI's VCA takes a full singular value
decomposition of an N × n matrix, N × N numbers, for its last n columns. With one argument changed
(``full_matrices=False``) it needs a twentieth of the time and of the memory; both are listed.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """Fit seconds and peak megabytes of a peer."""

    peer: str
    fit_s: float
    peak_mb: float


#: By case and normalization; the first is the one that the targets speak of.
PEERS: dict[tuple[str, str], tuple[Figure, ...]] = {
    ("a", "vca"): (Figure("MAVI", 0.244, 200),),
    ("a", "gradient"): (Figure("MAVI", 0.0088, 146),),
    ("a", "coefficient"): (Figure("MAVI", 0.85, 146),),
    ("b", "vca"): (Figure("MAVI", 26.3, 1794), Figure("avi_at_scale", 2.38, 279)),
    ("b", "gradient"): (Figure("MAVI", 0.73, 814),),
    ("b", "coefficient"): (Figure("MAVI", 419, 266),),
    ("c", "vca"): (
        Figure("MAVI", 183, 14049),
        Figure("MAVI, `full_matrices=False`", 9.0, 382),  # on a loaded machine
        Figure("avi_at_scale", 13.6, 628),
    ),
    ("c", "gradient"): (Figure("MAVI", 6.07, 5856),),
}
