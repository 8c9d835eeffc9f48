"""Reading model files. ``saving.py`` writes them, and says what is kept."""

from vanishing.persistence.reading import load
from vanishing.saving import ModelFileError, save

__all__ = ["ModelFileError", "load", "save"]
