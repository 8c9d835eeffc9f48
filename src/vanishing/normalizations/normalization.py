"""What a normalization is, and the strings that stand for those that ship."""

from typing import Any

from vanishing.normalizations.stage import Form, Stage


class Normalization:
    """Base of the normalizations: a way to measure polynomials.

    Subclasses are small frozen dataclasses and define ``form``. They may use whatever the
    ``Stage`` offers: values of [F C] on any points, a pass over X or over the contrast,
    coefficients on monomials.
    """

    #: Whether ``fit`` needs a second set of points.
    needs_contrast: bool = False
    #: Whether the form is tied to the full list of products, so that none may be left out.
    uses_all_products: bool = False

    def form(self, stage: Stage) -> Form:
        """Return a factor of the form on the candidates of this degree.

        Parameters
        ----------
        stage : Stage
            The degree, after its pass over X.

        Returns
        -------
        Form
            As ``stage.form`` makes it.
        """
        raise NotImplementedError


def resolve_normalization(normalization: Any) -> Normalization:
    """Return the normalization that a string stands for, or the object itself."""
    from vanishing.normalizations.coefficient import Coefficient
    from vanishing.normalizations.contrastive import Contrastive
    from vanishing.normalizations.gradient import Gradient
    from vanishing.normalizations.gradient_weighted import GradientWeighted
    from vanishing.normalizations.vca import Vca

    known: dict[str, type[Normalization]] = {
        "vca": Vca,
        "coefficient": Coefficient,
        "gradient": Gradient,
        "gradient-weighted": GradientWeighted,
        "contrastive": Contrastive,
    }
    if isinstance(normalization, str):
        if normalization not in known:
            raise ValueError(f"normalization must be one of {list(known)}, got {normalization!r}")
        return known[normalization]()
    if not isinstance(normalization, Normalization):
        raise TypeError(
            f"normalization must be one of {list(known)} or an instance of Normalization, got "
            f"{type(normalization).__name__}"
        )
    return normalization
