"""Models as the commands see them: loaded, described, scored."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils._param_validation import InvalidParameterError

from vanishing import ClassVanishingFeatures, VanishingDetector, VanishingIdeal, load
from vanishing._xp import FloatArray
from vanishing.anomaly.residuals import NothingVanishesError
from vanishing.cli.console import working
from vanishing.cli.exits import DataError, ModelError, UsageError
from vanishing.cli.tables import Table
from vanishing.persistence import ModelFileError

#: Rows that are scored at a time, between two steps of the progress bar.
BLOCK = 5000


def load_model(path: str) -> Any:
    """Read a model file."""
    try:
        return load(path)
    except FileNotFoundError as error:
        raise ModelError(
            f"there is no model file {path}; make one with vanishing fit ... --save {path}"
        ) from error
    except ModelFileError as error:
        raise ModelError(f"{error}; make it anew with vanishing fit ... --save") from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error


def core(model: Any) -> Any:
    """Return the model itself, without the steps that come before it in a pipeline."""
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    return model


def preprocessing(model: Any) -> Pipeline | None:
    """Return the steps that come before the model itself, None if there are none."""
    steps = []
    while isinstance(model, Pipeline):
        steps += [step for _, step in model.steps[:-1]]
        model = model.steps[-1][1]
    return make_pipeline(*steps) if steps else None


def preprocessed(model: Any, rows: Any) -> Any:
    """Return rows as the model itself sees them, behind the steps of a pipeline."""
    steps = preprocessing(model)
    return rows if steps is None else steps.transform(rows)


def is_detector(model: Any) -> bool:
    """Whether a model has a threshold."""
    return hasattr(core(model), "score_samples")


def kind_of(model: Any) -> str:
    """Return the name of a model's class, with the steps before it."""
    if isinstance(model, Pipeline):
        return " > ".join(kind_of(step) for _, step in model.steps)
    return type(model).__name__


def threshold_of(detector: Any) -> float:
    """Return the score above which rows are called anomalous."""
    return 0.0 - float(core(detector).offset_)  # never -0


@contextmanager
def library_errors(where: str) -> Iterator[None]:
    """Say of an error of the library where it came from, and that the user can mend it."""
    try:
        yield
    except InvalidParameterError as error:
        raise UsageError(str(error)) from error
    except NothingVanishesError as error:
        raise DataError(f"{where}: {nothing_vanishes(error.smallest, error.tol)}") from error
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error


def nothing_vanishes(smallest: float, tol: float | str) -> str:
    """Say in words of the command line that there is no equation, and what to try."""
    words = f"no equation holds up to --tol {tol if isinstance(tol, str) else format(tol, 'g')}"
    if not 0 < smallest < np.inf:
        return f"{words}: try a larger --degree"
    step = 10.0 ** np.floor(np.log10(smallest))
    larger = next(m * step for m in (1.5, 2, 3, 5, 10, 15) if m * step >= 1.2 * smallest)
    return (
        f"{words}; the best one reaches {smallest:.3g}: try --tol {larger:.2g} or a larger --degree"
    )


def anomaly_scores(model: Any, table: Table) -> FloatArray:
    """Return a score for each row, larger for rows that break the equations more.

    Of a detector it is minus ``score_samples``, of an ideal the Euclidean norm of its values.
    """
    if isinstance(core(model), ClassVanishingFeatures):
        raise ModelError(
            "a model of classes makes features and has no score; use vanishing transform, or fit "
            "one with --kind detector"
        )
    if isinstance(core(model), VanishingIdeal) and not core(model).basis_.count():
        raise ModelError(
            "the model has no equations, so that nothing can break them; fit again with a larger "
            "--tol or --degree"
        )
    scores = np.empty(len(table))
    # Far from normal data polynomials overflow: such rows are as anomalous as can be.
    with (
        working("scoring", len(table)) as step,
        library_errors(table.where),
        np.errstate(over="ignore", invalid="ignore"),
    ):
        for start in range(0, len(table), BLOCK):
            part = table.keep(np.arange(start, min(start + BLOCK, len(table))))
            if is_detector(model):
                found = -model.score_samples(part.for_model)
            else:
                found = np.linalg.norm(model.transform(part.for_model), axis=1)
            scores[start : start + len(part)] = np.where(np.isnan(found), np.inf, found)
            step(len(part))
    return scores


def feature_names(model: Any) -> list[str]:
    """Return the names of the columns that a model was fitted to."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"x{j}" for j in range(model.n_features_in_)]
    return [str(name) for name in names]


def ideals_of(model: Any) -> dict[str, VanishingIdeal]:
    """Return the ideals of a model by the names that ``--ideal`` takes."""
    model = core(model)
    if isinstance(model, VanishingIdeal):
        return {"0": model}
    if isinstance(model, ClassVanishingFeatures):
        return {
            str(label): ideal for label, ideal in zip(model.classes_, model.ideals_, strict=True)
        }
    return {
        f"{i},{j}": ideal for i, part in enumerate(model.ideals_) for j, ideal in enumerate(part)
    }


def choose_ideal(model: Any, name: str | None) -> tuple[str, VanishingIdeal]:
    """Return one ideal of a model; the first, unless one is named."""
    ideals = ideals_of(model)
    if not ideals:
        raise ModelError("the model has no ideals: all columns were constant in training")
    if name is None:
        return next(iter(ideals.items()))
    key = name.replace(" ", "")
    if key not in ideals:
        shown = ", ".join(list(ideals)[:12]) + (", ..." if len(ideals) > 12 else "")
        raise UsageError(f"there is no ideal {name!r} in the model; it has {shown}")
    return key, ideals[key]


def _behind(model: Pipeline) -> str:
    """Say what u0, u1, ... are for the ideals of a pipeline."""
    steps = preprocessing(model)
    names = [kind_of(step) for _, step in steps.steps] if steps else []
    if coordinate_names(core(model), next(iter(ideals_of(model))))[1]:
        names.append(kind_of(core(model)))  # which changes its coordinates once more
    return f"in the preprocessed columns u0, u1, ... (after {' and '.join(names)})"


def coordinate_names(model: Any, key: str) -> tuple[list[str], str]:
    """Return the names of the variables of one of the ideals, and what they mean in words."""
    names = feature_names(model)
    if isinstance(model, Pipeline):
        width = ideals_of(model)[key].basis_.n_features
        return [f"u{i}" for i in range(width)], _behind(model)
    if not is_detector(model):
        return names, ""
    if isinstance(model, VanishingDetector):
        if model._form != "recipe":
            return names, ""
        member = model._members[int(key.partition(",")[0])]
        kept = [name for name, constant in zip(names, model._constant, strict=True) if not constant]
        if member.reduction is None:
            return [
                f"{name}'" for name in kept
            ], "in standardized columns, x' = (x - mean) / spread"
        width = member.reduction.n_components_
        return [f"pc{i}" for i in range(width)], "in principal components of the columns"
    ideal = ideals_of(model)[key]
    width = ideal.basis_.n_features
    return [f"u{i}" for i in range(width)], "in the transformed and preprocessed features"
