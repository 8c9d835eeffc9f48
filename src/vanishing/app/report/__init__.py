"""A report on scored data: one page of HTML that needs nothing else."""

from vanishing.app.report.page import write_report

__all__ = ["write_report"]
