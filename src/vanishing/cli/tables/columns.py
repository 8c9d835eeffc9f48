"""Columns by name or number."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vanishing.cli.console import note
from vanishing.cli.exits import DataError
from vanishing.cli.tables.raw import RawTable


@dataclass(frozen=True)
class Chosen:
    """Which columns play which part."""

    features: list[int]
    id: int | None
    label: int | None


def choose(
    raw: RawTable,
    *,
    columns: str | None,
    drop: str | None,
    id: str | None,
    label: str | None,
    model_names: Sequence[str] | None = None,
    lenient: bool = False,
) -> Chosen:
    """Find the columns that options name.

    Parameters
    ----------
    raw : RawTable
    columns, drop : str or None
        Names, numbers from 1 and ranges of numbers, separated by commas.
    id, label : str or None
        One name or number each.
    model_names : sequence of str or None
        The columns that a model was fitted to: those are taken, in that order, unless
        ``columns`` says otherwise.
    lenient : bool
        Whether columns that are no features need not be there.
    """
    id_column = None if id is None else _one(raw, id, lenient=lenient)
    if id is None and raw.names is not None and _is_index(raw.names[0]):
        id_column = 0
        note(f"{raw.where}: the first column has no name and is taken for the names of the rows")
    label_column = None if label is None else _one(raw, label, lenient=lenient)
    dropped = {id_column, label_column}
    if drop is not None:
        dropped.update(_many(raw, drop, lenient=lenient or model_names is not None))
    if columns is not None:
        features = [j for j in _many(raw, columns) if j not in dropped]
    elif model_names is not None and raw.names is not None:
        features = _of_model(raw, raw.names, model_names)
    else:
        features = [j for j in range(raw.n_columns) if j not in dropped]
    if not features:
        raise DataError(f"{raw.where}: no column is left to use; drop fewer")
    if raw.names is not None:
        _refuse_bad_names(raw.where, raw.names, features)
    return Chosen(features, id_column, label_column)


def _is_index(name: str) -> bool:
    """Whether a column is one that pandas writes along with the table."""
    return not name or name.startswith("__index_level_")


def _refuse_bad_names(where: str, names: Sequence[str], features: Sequence[int]) -> None:
    number = Counter(names[j] for j in features)
    for j in features:
        name = names[j]
        if not name:
            raise DataError(f"{where}: column {j + 1} has no name; add one, or pass --drop {j + 1}")
        if number[name] > 1:
            raise DataError(
                f"{where}: two columns are called {name!r}; rename one, or drop it by its number "
                f"(--drop {j + 1})"
            )


def _of_model(raw: RawTable, names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    present = set(names)
    lacking = [name for name in wanted if name not in present]
    if lacking:
        raise DataError(
            f"{raw.where} lacks {_listed(lacking)}, which the model was fitted to; it has "
            f"{_listed(names)}; rename its columns, or say which ones to take with --columns"
        )
    places = {name: j for j, name in reversed(list(enumerate(names)))}  # the first of each
    return [places[name] for name in wanted]


def _split(raw: RawTable, text: str) -> list[str]:
    """Split a list at its commas, except inside of a column's own name."""
    if raw.names is not None and text in raw.names:
        return [text]
    return [part.strip() for part in text.split(",") if part.strip()]


def _many(raw: RawTable, text: str, *, lenient: bool = False) -> list[int]:
    found: list[int | None] = []
    for part in _split(raw, text):
        first, dash, last = part.partition("-")
        named = raw.names is not None and part in raw.names
        if dash and not named and first.isdecimal() and last.isdecimal():
            found += range(_number(raw, first), _number(raw, last) + 1)
        else:
            found.append(_one(raw, part, lenient=lenient))
    return [j for j in dict.fromkeys(found) if j is not None]


def _number(raw: RawTable, text: str) -> int:
    column = _one(raw, text, lenient=False)
    assert column is not None
    return column


def _one(raw: RawTable, text: str, *, lenient: bool) -> int | None:
    if raw.names is not None and text in raw.names:
        return raw.names.index(text)
    if text.isdecimal() and 1 <= int(text) <= raw.n_columns:
        return int(text) - 1
    if raw.names is None and text.startswith("x") and text[1:].isdecimal():
        number = int(text[1:])  # the name that a column without one is shown by
        if number < raw.n_columns:
            return number
    if lenient:
        return None
    has = f"the columns {_listed(raw.names)}" if raw.names is not None else "no names for columns"
    raise DataError(
        f"{raw.where} has no column {text!r}; it has {has}: name one of them, or a number "
        f"from 1 to {raw.n_columns}"
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:12]))
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown
