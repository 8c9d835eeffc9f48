"""What estimators share: model files, writing features to files, display in notebooks."""

import os
from typing import Any, Literal

from sklearn import get_config

from vanishing import equations as export
from vanishing.data.output import write
from vanishing.equations.onnx.model import Float
from vanishing.inputs import names_of_features

# --- The methods ``save`` and ``to_onnx`` of all models -------------------------------------------


class Saveable:
    """Mixin of the estimators that can be written to a file."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model into one file, from which ``vanishing.load`` reads it.

        The file is written whole or not at all, and holds no code and no data.

        Parameters
        ----------
        path : path
            A file that exists is replaced.
        """
        # Upwards, since model files know all models; pyproject.toml allows it for this line.
        from vanishing.persistence.model import save

        save(self, path)

    def to_onnx(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        dtype: Float = "float32",
        arithmetic: Float = "float64",
    ) -> Any:
        """Return the fitted model as a graph of ONNX, which runs without Python.

        See ``vanishing.equations.to_onnx``, which also takes pipelines.

        Parameters
        ----------
        path : path, optional
            Where to write it; a file that exists is replaced.
        dtype : {"float32", "float64"}, default="float32"
            Type of the input and of the outputs.
        arithmetic : {"float64", "float32"}, default="float64"
            Type of the numbers in between.

        Returns
        -------
        onnx.ModelProto
        """
        # Upwards, as above.
        from vanishing.data.atomic import write_whole

        graph = export.to_onnx(self, dtype=dtype, arithmetic=arithmetic)
        if path is not None:
            write_whole(path, graph.SerializeToString())
        return graph


# --- The method ``transform_to`` of transformers that work on rows from files ---------------------


class WritesFeatures:
    """Mixin of the transformers whose features can be written block by block."""

    def transform_to(
        self,
        X: Any,
        path: str | os.PathLike[str],
        *,
        output: Literal["abs", "signed"] | None = None,
    ) -> None:
        """Evaluate the vanishing polynomials and write the values to a file, block by block.

        If X cannot be read to its end, nothing is written, and a file that was there before stays
        as it was.

        Parameters
        ----------
        X : as in ``fit``
        path : path
            Ends in .parquet, .csv, .npy or .zarr, which chooses the format. Columns of tables have
            the names of ``get_feature_names_out``.
        output : {"abs", "signed"}, optional
            Instead of the estimator's own ``output``.
        """
        model: Any = self
        names = list(model.get_feature_names_out())
        if not names:
            raise ValueError(
                "nothing vanishes, so there are no features to write; raise tol or max_degree"
            )
        write(model.transform(X, output=output), path, column_names=names)


# --- What a notebook shows of a fitted ideal: scikit-learn's diagram, and the equations below it --


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
        from vanishing.equations.markup import notebook_latex  # a fit needs none of it

        return notebook_latex(self.basis_, names_of_features(self), self)

    def _equations_html(self) -> str:
        if not hasattr(self, "basis_"):
            return ""
        from vanishing.equations.markup import notebook_html

        return notebook_html(self.basis_, names_of_features(self), self)
