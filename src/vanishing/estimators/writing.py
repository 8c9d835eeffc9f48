"""The method ``transform_to`` of transformers that work on rows from files."""

import os
from typing import Any, Literal

from vanishing.samples import write


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
