"""``report.html``: a play told from top to bottom, in one file that opens offline."""

from likewise.report.page import write_report

__all__ = ["write_report"]
