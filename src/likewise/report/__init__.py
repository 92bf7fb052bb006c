"""Pages for people: ``report.html`` tells a play from top to bottom; a notice tells a person of their decision."""

from likewise.report.notice import Notice, Reason, notice
from likewise.report.notice_page import notice_page, write_notices
from likewise.report.page import write_report

__all__ = ["Notice", "Reason", "notice", "notice_page", "write_notices", "write_report"]
