"""Rules in the languages of other tools: SQL, frames, workbooks."""

from vanishing.rules.export.sql import Export, to_constraints, to_dbt, to_sql

__all__ = ["Export", "to_constraints", "to_dbt", "to_sql"]
