"""Pictures, drawn by the library's displays."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vanishing.cli.exits import MissingError, UsageError
from vanishing.cli.tables.write import output_file

KINDS = (".png", ".svg", ".pdf")


def save_picture(path: str, draw: Callable[[], Any]) -> None:
    """Draw, and write the picture whole or not at all.

    Parameters
    ----------
    path : str
    draw : callable
        Returns a display with ``figure_``.
    """
    kind = Path(path).suffix.lower()
    if kind not in KINDS:
        raise UsageError(f"{path}: pictures are {', '.join(KINDS)}")
    try:
        import matplotlib
    except ImportError as error:
        raise MissingError("pictures need matplotlib: pip install 'vanishing[plot]'") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    display = draw()
    content = io.BytesIO()
    display.figure_.savefig(content, format=kind[1:], dpi=150, bbox_inches="tight")
    pyplot.close(display.figure_)
    with output_file(path) as file:
        file.write(content.getbuffer())
