"""Theorem 17 of the paper (the ideal quotient) checked on known varieties, in exact arithmetic."""

from experiments.ideal_quotient.results import TITLE, cells, records, report, table

__all__ = ["TITLE", "cells", "records", "report", "table"]
