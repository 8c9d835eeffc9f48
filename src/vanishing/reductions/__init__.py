"""Mergeable summaries of blocks of values: all that a degree needs to know of the data."""

from vanishing.reductions.factor import Factor
from vanishing.reductions.gram import Gram
from vanishing.reductions.reduction import Reduction, resolve_reduction
from vanishing.reductions.tsqr import Tsqr

__all__ = ["Factor", "Gram", "Reduction", "Tsqr", "resolve_reduction"]
