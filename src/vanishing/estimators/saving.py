"""The method ``save`` of all models."""

import os


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
