"""The section on how the report came about: parameters and versions."""

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from vanishing.export.markup import Element, element
from vanishing.export.writing import number
from vanishing.report.given import Given
from vanishing.report.words import row_of

LIBRARIES = ("vanishing", "numpy", "scipy", "scikit-learn")


def facts_section(given: Given) -> list[Element]:
    """Return tables of parameters and versions."""
    detector = given.detector
    parameters = detector.get_params(deep=False).items()
    fitted: list[tuple[str, Any]] = [
        ("threshold on the anomaly score", number(given.threshold, ".6g")),
        ("columns", f"{detector.n_features_in_:,}"),
    ]
    for place, words in enumerate(getattr(detector, "chosen_", ()), start=1):
        fitted.append((f"part {place}", " ".join(str(words).split())))
    versions = [("Python", platform.python_version()), *((n, _version(n)) for n in LIBRARIES)]
    return [
        _table(
            f"Parameters of {type(detector).__name__}",
            [(name, " ".join(repr(value).split())) for name, value in parameters],
        ),
        _table("What was fitted", fitted),
        _table("Versions", versions),
    ]


def _table(caption: str, entries: list[tuple[str, Any]]) -> Element:
    rows = [row_of("td", [name, str(value)]) for name, value in entries]
    return element("table", element("caption", caption), element("tbody", rows), class_="facts")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        import vanishing  # not installed, as in a checkout

        return vanishing.__version__ if name == "vanishing" else "unknown"
