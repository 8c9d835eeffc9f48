"""The one error of model files."""


class ModelFileError(ValueError):
    """A model cannot be written to a file, or a file holds no model that can be read."""


def require(condition: bool, message: str) -> None:
    """Raise ``ModelFileError`` unless the condition holds."""
    if not condition:
        raise ModelFileError(message)
