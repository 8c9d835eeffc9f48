"""What ideals and varieties are asked: generators, dimension, membership, nearest points."""

from vanishing.algebra.generators import (
    Membership,
    contains,
    contains_exactly,
    groebner_basis,
    minimal_generators,
    minimal_generators_exactly,
)
from vanishing.algebra.varieties import (
    Projection,
    VarietyEstimate,
    estimate_variety,
    hilbert_function,
    project,
)

__all__ = [
    "Membership",
    "Projection",
    "VarietyEstimate",
    "contains",
    "contains_exactly",
    "estimate_variety",
    "groebner_basis",
    "hilbert_function",
    "minimal_generators",
    "minimal_generators_exactly",
    "project",
]
