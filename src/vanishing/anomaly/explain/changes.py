"""The score after changes of one feature."""

from typing import TYPE_CHECKING

import numpy as np

from vanishing._xp import FloatArray, IntArray
from vanishing.anomaly.explain.view import OnLines

if TYPE_CHECKING:
    from vanishing.anomaly.explain.landscape import Landscape

#: A feature that is farther from its mean, in units of its spread, than the values that are tried
#: has a line that starts at the mean: from its value it would lose digits on the way.
FAR = 8.0
#: Values that are scored at a time.
AT_A_TIME = 2**14


class Changes:
    """The score on all lines through a point along single features.

    Parameters
    ----------
    landscape : Landscape
    point : array of shape (n_features,)
    """

    def __init__(self, landscape: "Landscape", point: FloatArray) -> None:
        self.landscape = landscape
        far = np.abs(point - landscape.center) > FAR * landscape.scale
        #: Where each line starts.
        self.origins = np.where(far, landscape.center, point)
        near, rest = np.flatnonzero(~far), np.flatnonzero(far)
        moved = np.tile(point, (len(rest), 1))
        moved[np.arange(len(rest)), rest] = self.origins[rest]
        #: Features, and per view the deviations on their lines. The first lines meet in the point.
        self.groups = [
            (features, self._deviations(starts, features))
            for features, starts in ((near, point[None, :]), (rest, moved))
            if len(features)
        ]
        self.by_themselves = landscape.by_itself(point)

    def scores(self, features: IntArray, values: FloatArray) -> FloatArray:
        """Return the scores after the change of one feature to another value.

        Parameters
        ----------
        features : int array of shape (n_chosen,)
        values : array of shape (n_chosen, n_values)
            Those that each of the features is changed to.

        Returns
        -------
        array of shape (n_chosen, n_values)
        """
        others = self.by_themselves.sum() - self.by_themselves[features]
        result = others[:, None] + self.landscape.by_itself(values.T, features).T
        t = (values - self.origins[features, None]) / self.landscape.scale[features, None]
        size = max(1, AT_A_TIME // values.shape[1])
        for lines, on_lines in self.groups:
            place = np.full(len(self.origins), -1)
            place[lines] = np.arange(len(lines))
            rows = np.flatnonzero(place[features] >= 0)
            for start in range(0, len(rows), size):
                some = rows[start : start + size]
                for view, deviations in zip(self.landscape.views, on_lines, strict=True):
                    found = deviations(place[features[some]], t[some])
                    result[some] += view.of_deviations(found).reshape(t[some].shape)
        return np.asarray(result)

    def _deviations(self, starts: FloatArray, features: IntArray) -> list[OnLines]:
        landscape = self.landscape
        return [
            through(function(starts), features)
            for function, through in zip(landscape.maps, landscape.lines, strict=True)
        ]
