"""True labels, where the user has some."""

import numpy as np

from vanishing._xp import BoolArray
from vanishing.cli.exits import DataError
from vanishing.cli.tables import Table

#: What people write, and whether it means an anomaly.
_WORDS = (
    ({"1", "1.0"}, {"0", "0.0"}),
    ({"-1", "-1.0"}, {"1", "1.0"}),  # scikit-learn
    ({"true", "yes", "y", "t"}, {"false", "no", "n", "f"}),
    ({"anomaly", "anomalous", "outlier", "abnormal"}, {"normal", "inlier", "ok"}),
)


def truth(table: Table, anomalous: str | None) -> BoolArray:
    """Say for each row whether its label marks an anomaly.

    Parameters
    ----------
    table : Table
        With labels.
    anomalous : str or None
        The label that does; None where it is plain from the labels.
    """
    labels = np.array([str(label).strip().lower() for label in table.labels], dtype=object)
    found = set(labels.tolist())
    if anomalous is not None:
        wanted = anomalous.strip().lower()
        if wanted not in found:
            raise DataError(
                f"{table.where}: no row has the label {anomalous!r}; there are {_listed(found)}"
            )
        return np.asarray(labels == wanted, dtype=np.bool_)
    for bad, good in _WORDS:
        if found <= bad | good:
            return np.array([label in bad for label in labels], dtype=np.bool_)
    raise DataError(
        f"{table.where}: it is not plain which labels mark anomalies among {_listed(found)}; name "
        "one with --anomalous"
    )


def _listed(labels: set[str]) -> str:
    shown = ", ".join(map(repr, sorted(labels)[:8]))
    return f"{shown} and {len(labels) - 8} more" if len(labels) > 8 else shown
