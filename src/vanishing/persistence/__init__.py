"""Model files: a fitted model in one file, without pickle.

A file is a safetensors container: the arrays of the model, and in its metadata a JSON manifest that
says what they belong to. Nothing in a file is executed when it is loaded.
"""

from vanishing.persistence.container import ModelFileError
from vanishing.persistence.model import load, save

__all__ = ["ModelFileError", "load", "save"]
