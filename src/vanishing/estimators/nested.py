"""Parameters of an ideal that is a parameter itself, such as ``ideal__tol``."""

from typing import Any, Self

from vanishing.estimators.ideal import VanishingIdeal


class HasIdeal:
    """Estimators with a parameter ``ideal``, of which None stands for a default.

    Scikit-learn sets ``ideal__tol`` on the value of ``ideal``, which None does not allow. The
    default takes its place, so that grid searches work on estimators as they are made.
    """

    ideal: VanishingIdeal | None

    def _default_ideal(self) -> VanishingIdeal:
        """Return a new copy of what None stands for."""
        raise NotImplementedError

    def set_params(self, **params: Any) -> Self:
        """Set parameters.

        Parameters
        ----------
        **params
            Those of the constructor, and those of its ideal as ``ideal__tol``. Where ``ideal`` is
            None, they are set on a copy of the default.

        Returns
        -------
        self
        """
        nested = [name for name in params if name.startswith("ideal__")]
        if nested and params.get("ideal", self.ideal) is None:
            params = {"ideal": self._default_ideal()} | {
                name: value for name, value in params.items() if name != "ideal"
            }
        result: Self = super().set_params(**params)  # type: ignore[misc]
        return result
