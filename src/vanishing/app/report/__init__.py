"""Reports: pages of HTML that need nothing else."""

from vanishing.app.report.anomalies import write_report
from vanishing.app.report.equations import write_equations_report
from vanishing.app.report.laws import write_laws_report

__all__ = ["write_equations_report", "write_laws_report", "write_report"]
