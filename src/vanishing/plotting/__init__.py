"""Pictures of results, in the manner of scikit-learn's displays.

They need matplotlib, the extra ``plot``, when they draw.
"""

from vanishing.plotting.explanation import ExplanationDisplay
from vanishing.plotting.overview import BasisDisplay, SpectrumDisplay
from vanishing.plotting.zero_set import ZeroSetDisplay

__all__ = ["BasisDisplay", "ExplanationDisplay", "SpectrumDisplay", "ZeroSetDisplay"]
