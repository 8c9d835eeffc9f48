"""Ways to make a second set Y out of X, for tables that come without one: one file a contrast.

A polynomial that is small on X and large on Y says what is special to X: with ``Permuted``, how the
columns hang together; with ``GaussianNoise``, where the rows lie locally; with ``Uniform``, where
in its box. Constant columns stay constant under all of them: X does not say on which scale such a
column could have varied, and a contrast does not make one up.
"""

from vanishing.contrasts.base import Contrast
from vanishing.contrasts.gaussian_noise import GaussianNoise
from vanishing.contrasts.mixture import Mixture
from vanishing.contrasts.permuted import Permuted
from vanishing.contrasts.uniform import Uniform

__all__ = ["Contrast", "GaussianNoise", "Mixture", "Permuted", "Uniform"]
