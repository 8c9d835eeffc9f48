"""Models as the command line fits, saves and loads them."""

import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from inspect import get_annotations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import InvalidParameterError

from vanishing import VanishingDetector, VanishingIdeal
from vanishing.app.cli.console import (
    DataError,
    ModelError,
    UsageError,
    emit,
    list_lines,
    list_some,
    note,
    state,
    working,
)
from vanishing.app.cli.options import Detection, Equations, Fitting, Options, Writing, list_options
from vanishing.app.cli.tables import PIPE, output_file, refusals, write_table
from vanishing.app.wording import count_things
from vanishing.arrays.namespace import BoolArray, FloatArray, import_extra
from vanishing.data.source import too_large_to_square
from vanishing.data.whole_tables import Table
from vanishing.detectors import ChristoffelDetector
from vanishing.detectors.mixture import NothingVanishesError
from vanishing.detectors.unlabeled import count_fits, fit_to_mixed
from vanishing.equations.expansion import steps_of
from vanishing.ideal import suggest_tolerance
from vanishing.levels import BLOCK, UNINFORMATIVE
from vanishing.polynomials.monomials import variable_names

# --- Models as the commands see them: loaded, described, scored -----------------------------------


def is_model_file(path: str) -> bool:
    """Whether a file is a model, by its content or by what it is called, rather than a table."""
    if path == PIPE:
        return False
    if ".safetensors" in Path(path).suffixes:
        return True
    try:
        with open(path, "rb") as file:
            beginning = file.read(9)
    except OSError:  # not there, or cannot be read
        return False
    # How long the header is, in eight bytes, and the header, which is JSON.
    length, rest = beginning[:8], beginning[8:]
    return rest == b"{" and not any(length[4:])  # less than 4 GB, in little endian


def load_model(path: str) -> Any:
    """Read a model file."""
    from vanishing.persistence import RECORDS, ModelFileError, load

    try:
        model = load(path)
    except FileNotFoundError as error:
        raise ModelError(
            f"there is no model file {path}; make one with vanishing fit ... --save {path}"
        ) from error
    except ModelFileError as error:
        raise ModelError(f"{error}; make it again with vanishing fit ... --save") from error
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error
    if isinstance(model, RECORDS):
        raise ModelError(
            f"{path} holds {type(model).__name__}, which vanishing.load reads in Python; make a "
            "model with vanishing fit ... --save"
        )
    return model


def core(model: Any) -> Any:
    """Return the model itself, without the steps that come before it in a pipeline."""
    return steps_of(model)[-1]


def preprocessing(model: Any) -> Pipeline | None:
    """Return the steps that come before the model itself, None if there are none."""
    steps = steps_of(model)[:-1]
    return make_pipeline(*steps) if steps else None


def preprocess(model: Any, rows: Any) -> Any:
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
    """Turn errors of the library that the user can fix into ours, and say where they arose."""
    try:
        yield
    except InvalidParameterError as error:
        raise UsageError(str(error)) from error
    except NothingVanishesError as error:
        raise DataError(f"{where}: {nothing_vanishes(error.smallest, error.tol)}") from error
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error


def write_page(path: str, model: Any, table: Table, **found: Any) -> None:
    """Write a report on a table and a model; ``found`` is what is known of its anomalies."""
    from vanishing.app.report import write_equations_report, write_report

    found["ids"] = table.rows if table.row_ids is None else table.row_ids
    found["feature_names"] = table.shown_names
    with refusals(path), library_errors("report"), working("writing the report", 1.0) as step:
        if is_detector(model):
            write_report(
                path,
                model,
                table.for_model,
                title=f"Anomalies in {table.file_name}",
                callback=lambda share: step(done=share),
                **found,
            )
        else:
            title = f"Equations of {table.file_name}"
            write_equations_report(path, model, table.for_model, title=title, **found)


def nothing_vanishes(smallest: float, tol: float | str) -> str:
    """Say that there is no equation, and which options to try."""
    limit = f"up to --tol {tol if isinstance(tol, str) else format(tol, 'g')}"
    words = f"no equation holds {'to within noise' if tol == 'auto' else limit}"
    if not 0 < smallest < np.inf:
        return f"{words}: try a larger --degree"
    words += f"; the best one reaches {smallest:.3g}"
    if tol == "auto" and smallest > UNINFORMATIVE:  # far from any equation
        return f"{words}: try a larger --degree"
    return f"{words}: try --tol {suggest_tolerance(smallest):g} or a larger --degree"


def anomaly_scores(model: Any, table: Table) -> FloatArray:
    """Return minus ``score_samples`` of a detector, or the norms of the values of an ideal."""
    if not (is_detector(model) or isinstance(core(model), VanishingIdeal)):
        raise ModelError(
            "a model of classes makes features and has no score; use vanishing transform, or fit "
            "one with --kind detector"
        )
    if isinstance(core(model), VanishingIdeal) and not has_equations(model):
        raise ModelError(
            "the model has no equations, so no row can break them; fit again with a larger "
            "--tol or --degree"
        )

    def score(rows: Any) -> FloatArray:
        if is_detector(model):
            return np.asarray(-model.score_samples(rows))
        return np.asarray(np.linalg.norm(model.transform(rows), axis=1))

    found = evaluate_rows(table, score, "scoring")
    return np.where(np.isnan(found), np.inf, found)


def evaluate_rows(table: Table, function: Callable[[Any], Any], what: str) -> FloatArray:
    """Apply a function to the rows of a table, a block at a time, with progress."""
    found = []
    # Far from normal data polynomials overflow: such rows are as anomalous as can be.
    with (
        working(what, len(table)) as step,
        library_errors(table.where),
        np.errstate(over="ignore", invalid="ignore"),
    ):
        n_steps = max(1, table.values.size // BLOCK)
        for rows in np.array_split(np.arange(len(table)), n_steps):
            part = table.keep(rows)
            found.append(function(part.for_model))
            step(len(part))
    return np.concatenate(found)


def feature_names(model: Any) -> list[str]:
    """Return the names of the columns that a model was fitted to."""
    return list(variable_names(model.n_features_in_, getattr(model, "feature_names_in_", None)))


def ideals_of(model: Any) -> dict[str, VanishingIdeal]:
    """Return the ideals of a model by the names that ``--ideal`` takes."""
    model = core(model)
    if isinstance(model, VanishingIdeal):
        return {"0": model}
    if is_detector(model):
        return {
            f"{i},{j}": ideal
            for i, part in enumerate(model.ideals_)
            for j, ideal in enumerate(part)
        }
    return {str(label): ideal for label, ideal in zip(model.classes_, model.ideals_, strict=True)}


def has_equations(model: Any) -> bool:
    """Whether any polynomial vanishes."""
    return any(ideal.basis_.count() for ideal in ideals_of(model).values())


def choose_ideal(model: Any, name: str | None) -> tuple[str, VanishingIdeal]:
    """Return one ideal of a model; the first, unless one is named."""
    ideals = ideals_of(model)
    if not ideals:
        raise ModelError("the model has no ideals: all columns were constant in training")
    if name is None:
        return next(iter(ideals.items()))
    key = name.replace(" ", "")
    if key not in ideals:
        has = list_some(list(ideals))
        raise UsageError(f"there is no ideal {name!r} in the model; it has {has}")
    return key, ideals[key]


def coordinate_names(model: Any, key: str) -> tuple[list[str], str]:
    """Return the names of the variables of one of the ideals, and what they mean in words."""
    names = feature_names(model)
    coordinates = [f"u{i}" for i in range(ideals_of(model)[key].basis_.n_features)]
    if isinstance(model, Pipeline):
        steps = preprocessing(model)
        kinds = [kind_of(step) for _, step in steps.steps] if steps else []
        if coordinate_names(core(model), key)[1]:
            kinds.append(kind_of(core(model)))  # which changes its coordinates once more
        return coordinates, f"in the preprocessed columns u0, u1, ... (after {' and '.join(kinds)})"
    if not is_detector(model):
        return names, ""
    if not isinstance(model, VanishingDetector | ChristoffelDetector):
        return coordinates, "in the transformed and preprocessed features"
    score = model.anomaly_score_.coordinates
    if score.scaler is None:
        return names, ""
    reduction = score.maps[int(key.partition(",")[0])]
    if not isinstance(reduction, PCA):  # the columns themselves, some of them set to zero
        kept = range(len(names)) if score.columns is None else score.columns
        meaning = "in standardized columns, x' = (x - mean) / spread"
        return [f"{names[j]}'" for j in kept], meaning
    components = [f"pc{i}" for i in range(reduction.n_components_)]
    return components, "in principal components of the columns"


# --- Models made from options ---------------------------------------------------------------------


def make_ideal(wanted: Equations, *, contrastive: bool, tol: Any = 0.1) -> VanishingIdeal:
    """Return an ideal that is not fitted; contrastive by default where there is a contrast."""
    construction = wanted.construction or "vca"
    is_vca = construction == "vca"
    if wanted.tol in ("auto", "gap"):
        tol = wanted.tol
        if not is_vca:
            raise UsageError(
                f"--tol {tol} needs all equations of a degree at once, but {construction} "
                "finds one after the other: give a number such as 0.1"
            )
    elif wanted.tol is not None:
        expected = "--tol takes a number from 0 up, 'auto' or 'gap'"
        tol = _read_number(wanted.tol, expected, lambda value: 0 <= value < np.inf)
    elif not is_vca:
        tol = 0.1
    if not is_vca and wanted.normalization == "vca":
        raise UsageError(
            f"--normalization vca uses products, which {construction} does not form; leave it out, "
            "or choose --construction vca"
        )
    by_default = "contrastive" if contrastive else "gradient" if is_vca else None
    degree: dict[str, Any] = {} if wanted.degree is None else {"max_degree": wanted.degree}
    return VanishingIdeal(
        construction=construction,
        normalization=wanted.normalization or by_default,
        tol=tol,
        generators=wanted.generators or "all",
        **degree,
    )


def refuse_unused(asked: Options, *groups: type[Options], reason: str) -> None:
    """Refuse options that would have no effect, and say why they have none."""
    given = [
        f"--{'no-' * (each.default is True)}{each.name.replace('_', '-')}"
        for group in groups
        for each in list_options(group)
        if each.name in get_annotations(group) and getattr(asked, each.name) != each.default
    ]
    if given:
        raise UsageError(f"{' and '.join(given)} would have no effect: {reason}; leave it out")


def fit_equations(table: Table, asked: Fitting, other: Table | None = None) -> Any:
    """Fit an ideal to a table, to standardized columns unless the user wants others."""
    ideal = make_ideal(asked, contrastive=other is not None, tol="auto")
    if ideal.normalization == "contrastive" and other is None:
        raise UsageError("--normalization contrastive needs a second table: --contrast Y.csv")
    if ideal.normalization != "contrastive" and other is not None:
        raise UsageError(
            f"--normalization {ideal.normalization} uses no contrast; leave out one of the two "
            "options"
        )
    _refuse_huge(table)
    points, contrast = table.for_model, None if other is None else other.values
    scaler = StandardScaler()
    with library_errors(table.where), working("fitting degree 1", ideal.max_degree) as step:
        if asked.scale:
            points = scaler.fit_transform(points)
            contrast = None if other is None else scaler.transform(other.for_model)
        ideal.set_params(
            robust=asked.robust,
            callback=lambda trace: step(1, what=f"fitting degree {trace.degree + 1}"),
        )
        ideal.fit(points, contrast=contrast)
    ideal.set_params(callback=None)  # which no file could hold
    return make_pipeline(scaler, ideal) if asked.scale else ideal


def fit_detector(table: Table, asked: Detection) -> Any:
    """Fit a detector to normal rows, by its recipe unless the user asks for equations."""
    detector = _make_detector(table, asked)
    _refuse_huge(table)
    with library_errors(table.where), working(f"fitting {len(table)} rows", 1.0) as step:
        return detector.fit(table.for_model, callback=lambda share: step(done=share))


def fit_to_itself(table: Table, asked: Detection) -> Any:
    """Fit a detector to rows most of which are normal."""
    if asked.calibration is not None:
        raise UsageError(
            "--calibration needs rows that are known to be normal: pass them with --train"
        )
    detector = _make_detector(table, asked)
    _refuse_huge(table)
    is_recipe = isinstance(detector, VanishingDetector) and detector.ideal is None
    n_fits = count_fits(len(table))
    if is_recipe or n_fits == 1:  # which does not describe a single row
        return fit_detector(table, asked)
    note(f"no --train: {table.where} is compared with itself, in {n_fits} fits")
    with library_errors(table.where), working("fitting parts of the rows", n_fits) as step:
        return fit_to_mixed(detector, table.for_model, callback=lambda _: step(1))


def _refuse_huge(table: Table) -> None:
    """Say which row cannot be fitted to, by its own name."""
    if (place := too_large_to_square(table.values)) is not None:
        row, column = place
        name = table.shown_names[column]
        raise DataError(
            f"{table.where}: row {table.row_name(row)} has {table.values[place]:.3g} in column "
            f"{name!r}, too large to be squared; leave such rows out, the column with --drop, or "
            "write it in another unit"
        )


def _make_detector(table: Table, asked: Detection) -> Any:
    ideal = make_ideal(asked, contrastive=False) if asked.given else None
    contamination: float | str = asked.contamination
    if contamination != "auto":
        expected = "--contamination takes a fraction up to 0.5 or 'auto'"
        contamination = _read_number(asked.contamination, expected, lambda value: 0 < value <= 0.5)
    options: dict[str, Any] = {
        "contamination": contamination,
        "calibration": asked.calibration,
        "random_state": asked.seed,
    }
    if asked.image_shape is None:
        return VanishingDetector(ideal, **options)
    if ideal is not None:
        raise UsageError(
            "--image-shape chooses its own equations; leave out --degree, --tol and similar options"
        )
    height, width = _shape(asked.image_shape)
    if height * width != table.values.shape[1]:
        raise UsageError(
            f"images of {height}x{width} have {height * width} pixels, but {table.where} has "
            f"{table.values.shape[1]} columns; choose them with --columns"
        )
    from vanishing.detectors import image_detector

    return image_detector((height, width), **options)


def _shape(text: str) -> tuple[int, int]:
    height, _, width = text.lower().partition("x")
    if not (height.isdecimal() and width.isdecimal() and int(height) * int(width)):
        raise UsageError(f"--image-shape takes height x width, such as 28x28, got {text!r}")
    return int(height), int(width)


# --- True labels, where the user has some ---------------------------------------------------------

#: What people write, and whether it means an anomaly.
_WORDS = (
    ({"1", "1.0"}, {"0", "0.0"}),
    ({"-1", "-1.0"}, {"1", "1.0"}),  # scikit-learn
    ({"true", "yes", "y", "t"}, {"false", "no", "n", "f"}),
    ({"anomaly", "anomalous", "outlier", "abnormal"}, {"normal", "inlier", "ok"}),
)


def truth(table: Table, anomalous: str | None) -> BoolArray:
    """Say for each row whether its label marks an anomaly, by ``anomalous`` or by ``_WORDS``."""
    labels = np.array([str(label).strip().lower() for label in table.labels], dtype=object)
    found = set(labels.tolist())
    if anomalous is None:
        bad = next((bad for bad, good in _WORDS if found <= bad | good), None)
        problem = "it is not clear which labels mark anomalies"
        remedy = ": name one of them with --anomalous"
    else:
        bad = found & {anomalous.strip().lower()}
        problem, remedy = f"no row has the label {anomalous!r}", ""
    if bad:
        return np.array([label in bad for label in labels], dtype=np.bool_)
    # Labels as they are in the table, with their numbers, the rarest first.
    counts = Counter(str(label) for label in table.labels)
    ranked = sorted(counts.items(), key=lambda each: (each[1], each[0]))
    listed = list_some([f"{label!r} ({count_things(n, 'row')})" for label, n in ranked])
    raise DataError(f"{table.where}: {problem}; there are {listed}{remedy}")


# --- Rows that a command gives back: a table, or JSON ---------------------------------------------

Columns = Mapping[str, npt.NDArray[Any]]


def row_column(table: Table, id: str | None) -> dict[str, npt.NDArray[Any]]:
    """Return what the rows are called: their ids, or their numbers in the file."""
    if table.row_ids is None:
        return {"row": table.rows}
    return {"id" if id is None or id.isdecimal() else id: table.row_ids}


def emit_or_write(columns: Columns, writing: Writing) -> None:
    """Write rows where the user wants them; with --json, on standard output unless to a file."""
    if state.json and writing.out == PIPE:
        emit({"rows": list_lines({name: each.tolist() for name, each in columns.items()})})
        return
    write_table(writing.out, columns, format=writing.out_format)
    if state.json:
        n_rows = len(next(iter(columns.values())))
        emit({"out": writing.out, "n_rows": n_rows, "columns": list(columns)})


# --- Pictures, drawn by the library's displays ----------------------------------------------------

KINDS = (".png", ".svg", ".pdf")


def save_picture(path: str, draw: Callable[[], Any]) -> None:
    """Draw, by a function that returns a display, and write the picture."""
    kind = Path(path).suffix.lower()
    if kind not in KINDS:
        raise UsageError(f"{path}: pictures are {', '.join(KINDS)}")
    import_extra("matplotlib", extra="plot", purpose="--picture").use("Agg")
    from matplotlib import pyplot

    display = draw()
    content = io.BytesIO()
    display.figure_.savefig(content, format=kind[1:], dpi=150, bbox_inches="tight")
    pyplot.close(display.figure_)
    with output_file(path) as file:
        file.write(content.getbuffer())


def _read_number(text: str, expected: str, is_valid: Callable[[float], bool]) -> float:
    with suppress(ValueError):
        if is_valid(value := float(text)):
            return value
    raise UsageError(f"{expected}, got {text!r}")
