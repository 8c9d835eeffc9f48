"""What ideals and varieties are asked: generators, dimension, membership, nearest points."""

from vanishing.algebra.estimate import VarietyEstimate, estimate_variety
from vanishing.algebra.exact import contains_exactly, minimal_generators_exactly
from vanishing.algebra.groebner import groebner_basis
from vanishing.algebra.hilbert import hilbert_function
from vanishing.algebra.membership import Membership, contains
from vanishing.algebra.minimal import minimal_generators
from vanishing.algebra.projection import Projection, project

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
