"""ExplanationDisplay: the features that make a sample anomalous, for tables and images."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from vanishing.anomaly.explain import Explanation
from vanishing.plotting.bars import draw_bars
from vanishing.plotting.pixels import draw_pixels
from vanishing.plotting.style import pyplot


class ExplanationDisplay:
    """Picture of an :class:`~vanishing.anomaly.explain.Explanation`.

    For a table: a bar for each feature, what it adds to the score, with its value and the mended
    one, and the broken equations below. For an image: the image, the mended one, and what each
    pixel adds.

    Use :meth:`from_estimator` or :meth:`from_explanation` to make one.

    Parameters
    ----------
    explanation : Explanation
    image_shape : tuple of int or None, default=None
        Height and width, and 3 for colours or 1 if there is a third axis; None for a table.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : array of matplotlib Axes
        One for a table; three for an image, from left to right.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingDetector
    >>> from vanishing.plotting import ExplanationDisplay
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 500)
    >>> normal = np.column_stack([x, x**2 + 0.02 * rng.normal(size=500)])  # near a parabola
    >>> detector = VanishingDetector().fit(normal)
    >>> display = ExplanationDisplay.from_estimator(detector, [0.5, 0.9])
    >>> display.axes_.shape
    (1,)
    """

    figure_: Any
    axes_: npt.NDArray[np.object_]

    def __init__(
        self, explanation: Explanation, *, image_shape: tuple[int, ...] | None = None
    ) -> None:
        self.explanation = explanation
        self.image_shape = image_shape

    @classmethod
    def from_estimator(
        cls,
        detector: Any,
        x: Any,
        *,
        image_shape: tuple[int, ...] | None = None,
        n_features: int = 10,
        n_equations: int = 3,
        cmap: Any = "gray_r",
        ax: Any = None,
    ) -> Self:
        """Explain one sample and draw the explanation.

        Parameters
        ----------
        detector : VanishingDetector or TransformationDetector
            Fitted.
        x : array-like of shape (n_features,) or (1, n_features)
            One sample, such as a row of an array or ``frame.iloc[[i]]``.
        image_shape : tuple of int or None, default=None
            Height and width, and 3 for colours or 1 if there is a third axis; None for a table.
        n_features : int, default=10
            Features of a table that have a bar of their own, at most.
        n_equations : int, default=3
            Equations that are written below a table, at most.
        cmap : str or matplotlib Colormap, default="gray_r"
            Colours of an image of one channel: ink on paper, or "gray" for a photograph.
        ax : matplotlib Axes or None, default=None
            Where to draw; for an image a sequence of three. A figure with ``layout="constrained"``
            leaves room for names and values. None makes a figure.

        Returns
        -------
        ExplanationDisplay
        """
        pyplot(f"{cls.__name__}.from_estimator")
        if not hasattr(detector, "explain"):
            raise TypeError(
                "detector must be a VanishingDetector or a TransformationDetector, got "
                f"{detector!r}, which does not explain its scores"
            )
        row = _as_table(x)
        if np.ndim(row) == 2 and len(row) != 1:
            raise ValueError(
                f"x must be one sample, got {len(row)}; pass X[[i]] or, for a frame, X.iloc[[i]]"
            )
        explanation = detector.explain(row, n_equations=n_equations)[0]
        return cls.from_explanation(
            explanation, image_shape=image_shape, n_features=n_features, cmap=cmap, ax=ax
        )

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        image_shape: tuple[int, ...] | None = None,
        n_features: int = 10,
        cmap: Any = "gray_r",
        ax: Any = None,
    ) -> Self:
        """Draw an explanation that is there already.

        Parameters
        ----------
        explanation : Explanation
            One of those that ``detector.explain(X)`` returns. All of its equations are written
            below a table.
        image_shape : tuple of int or None, default=None
            Height and width, and 3 for colours or 1 if there is a third axis; None for a table.
        n_features : int, default=10
            Features of a table that have a bar of their own, at most.
        cmap : str or matplotlib Colormap, default="gray_r"
            Colours of an image of one channel: ink on paper, or "gray" for a photograph.
        ax : matplotlib Axes or None, default=None
            Where to draw; for an image a sequence of three. A figure with ``layout="constrained"``
            leaves room for names and values. None makes a figure.

        Returns
        -------
        ExplanationDisplay
        """
        display = cls(explanation, image_shape=image_shape)
        return display.plot(n_features=n_features, cmap=cmap, ax=ax)

    def plot(self, *, n_features: int = 10, cmap: Any = "gray_r", ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        n_features : int, default=10
            Features of a table that have a bar of their own, at most.
        cmap : str or matplotlib Colormap, default="gray_r"
            Colours of an image of one channel: ink on paper, or "gray" for a photograph.
        ax : matplotlib Axes or None, default=None
            Where to draw; for an image a sequence of three. A figure with ``layout="constrained"``
            leaves room for names and values. None makes a figure.

        Returns
        -------
        ExplanationDisplay
            With ``figure_`` and ``axes_``.
        """
        pyplot(f"{type(self).__name__}.plot")
        if self.image_shape is None:
            axes = [draw_bars(self.explanation, n_features, ax)]
        else:
            axes = draw_pixels(self.explanation, self.image_shape, cmap, ax)
        self.axes_ = np.array(axes, dtype=object)
        self.figure_ = self.axes_[0].figure
        return self


def _as_table(x: Any) -> Any:
    """Return a single sample as a table, with the names of the columns where there are some."""
    if hasattr(x, "to_frame") and hasattr(x, "iloc"):  # a row of a pandas frame
        return x.to_frame().T
    x = x if hasattr(x, "ndim") else np.asarray(x)
    return x[None, :] if x.ndim == 1 else x
