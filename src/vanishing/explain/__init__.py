"""Why a sample is anomalous: the equations that it breaks and the features that break them.

The score is a sum of views s_v(z_v), z_v an affine function of the sample (``view``). A sample x is
compared with its counterfactual x₀, the nearest point that satisfies the equations as well as
normal data usually does; gradients along the way from x₀ to x say which features the difference
S(x) - S(x₀) comes from (``attribution``). On the lines of single features, and on that way, scores
are known from a few coefficients.
"""

from vanishing.explain.attribution import Landscape
from vanishing.explain.record import BrokenEquation, Explanation

__all__ = ["BrokenEquation", "Explanation", "Landscape"]
