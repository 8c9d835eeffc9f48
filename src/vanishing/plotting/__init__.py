"""Pictures of results, one display class a file, in the manner of scikit-learn's displays.

They need matplotlib, the extra ``plot``, when they draw.
"""

from vanishing.plotting.explanation import ExplanationDisplay

__all__ = ["ExplanationDisplay"]
