"""What a notebook shows of a fitted ideal: scikit-learn's diagram, and the equations below it."""

from typing import Any

from sklearn import get_config

from vanishing.estimators.inputs import names_of_features
from vanishing.export.notebook import notebook_html, notebook_latex


class EquationsInNotebooks:
    """Mixin of an ideal.

    With ``sklearn.set_config(display="text")`` there is nothing but text, as for any estimator.
    """

    def _repr_html_inner(self) -> str:
        diagram: str = super()._repr_html_inner()  # type: ignore[misc]
        return diagram + self._equations_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._equations_html()
        if (latex := self._repr_latex_()) is not None:
            bundle["text/latex"] = latex
        return bundle

    def _repr_latex_(self) -> str | None:
        if not hasattr(self, "basis_") or get_config()["display"] != "diagram":
            return None
        return notebook_latex(self.basis_, names_of_features(self), self)

    def _equations_html(self) -> str:
        if not hasattr(self, "basis_"):
            return ""
        return notebook_html(self.basis_, names_of_features(self), self)
