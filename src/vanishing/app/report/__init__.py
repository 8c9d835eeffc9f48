"""Reports: pages of HTML that need nothing else."""

from vanishing.app.report.page import write_laws_report, write_report

__all__ = ["write_laws_report", "write_report"]
