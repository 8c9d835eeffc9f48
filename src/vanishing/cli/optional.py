"""Parts that need more than the command line itself does."""

from importlib import import_module
from typing import Any

from vanishing.cli.exits import MissingError


def required(module: str, name: str, *, extra: str) -> Any:
    """Import something late, and say what to install where that fails.

    Parameters
    ----------
    module, name : str
        Where it is, and what it is called there.
    extra : str
        The extra whose packages it needs.
    """
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "vanishing":
            raise MissingError(f"this version of vanishing has no {module}; get another") from error
        raise MissingError(
            f"{module} needs {error.name}: pip install 'vanishing[{extra}]'"
        ) from error
    except ImportError as error:
        raise MissingError(str(error)) from error
    except AttributeError as error:
        raise MissingError(f"this version of vanishing has no {module}.{name}") from error
