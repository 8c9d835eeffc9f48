"""What the library needs from an array library: its namespace, its device, a few factorizations.

Everything above this layer is written once, against the array API standard. The native fast paths
(LAPACK through SciPy for NumPy, ``torch.linalg`` for torch) live here and nowhere else.
"""

from vanishing.arrays.factorizations import gram, merge_triangular, norms, triangular_factor
from vanishing.arrays.namespace import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    is_array,
    machine_epsilon,
    move_like,
    move_to_numpy,
    namespace,
    on_cpu,
    on_host,
    same_dtype,
    take_rows,
    unmasked,
    with_contiguous_columns,
)
from vanishing.arrays.products import multiply_rows
from vanishing.arrays.threads import (
    all_threads,
    at_most,
    limited,
    mapped,
    one_thread,
    own_threads,
    threads_for,
)

__all__ = [
    "Array",
    "BoolArray",
    "FloatArray",
    "IntArray",
    "all_threads",
    "at_most",
    "gram",
    "is_array",
    "limited",
    "machine_epsilon",
    "mapped",
    "merge_triangular",
    "move_like",
    "move_to_numpy",
    "multiply_rows",
    "namespace",
    "norms",
    "on_cpu",
    "on_host",
    "one_thread",
    "own_threads",
    "same_dtype",
    "take_rows",
    "threads_for",
    "triangular_factor",
    "unmasked",
    "with_contiguous_columns",
]
