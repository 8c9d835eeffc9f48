"""A report on scored data: one page of HTML that needs nothing else."""

from vanishing.report.write import write_report

__all__ = ["write_report"]
