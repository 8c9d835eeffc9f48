"""Reports: pages of HTML that need nothing else."""

from vanishing.app.report.fit import write_equations_report
from vanishing.app.report.laws import write_laws_report
from vanishing.app.report.page import write_report

__all__ = ["write_equations_report", "write_laws_report", "write_report"]
