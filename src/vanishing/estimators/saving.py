"""The methods ``save`` and ``to_onnx`` of all models."""

import os
from typing import Any

from vanishing import export
from vanishing.export.onnx import Float


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
        from vanishing.persistence import save

        save(self, path)

    def to_onnx(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        dtype: Float = "float32",
        arithmetic: Float = "float64",
    ) -> Any:
        """Return the fitted model as a graph of ONNX, which runs without Python.

        See ``vanishing.export.to_onnx``, which also takes pipelines.

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
        from vanishing.persistence.whole import write_whole

        graph = export.to_onnx(self, dtype=dtype, arithmetic=arithmetic)
        if path is not None:
            write_whole(path, graph.SerializeToString())
        return graph
