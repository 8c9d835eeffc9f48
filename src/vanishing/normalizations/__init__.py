"""What "size of a polynomial" means: one file a normalization (MATH: the form 𝔑)."""

from vanishing.normalizations.coefficient import Coefficient
from vanishing.normalizations.contrastive import Contrastive
from vanishing.normalizations.gradient import Gradient
from vanishing.normalizations.gradient_weighted import GradientWeighted
from vanishing.normalizations.normalization import Normalization, resolve_normalization
from vanishing.normalizations.stage import Form, Stage
from vanishing.normalizations.vca import Vca

__all__ = [
    "Coefficient",
    "Contrastive",
    "Form",
    "Gradient",
    "GradientWeighted",
    "Normalization",
    "Stage",
    "Vca",
    "resolve_normalization",
]
