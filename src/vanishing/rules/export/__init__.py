"""Rules in the languages of other tools: SQL, frames, workbooks."""

from vanishing.rules.export.frames import (
    to_great_expectations,
    to_json,
    to_pandas,
    to_pandera,
    to_pointblank,
    to_soda,
    to_validate,
)
from vanishing.rules.export.sql import Export, to_constraints, to_dbt, to_sql
from vanishing.rules.export.workbook import to_excel

__all__ = [
    "Export",
    "to_constraints",
    "to_dbt",
    "to_excel",
    "to_great_expectations",
    "to_json",
    "to_pandas",
    "to_pandera",
    "to_pointblank",
    "to_soda",
    "to_sql",
    "to_validate",
]
