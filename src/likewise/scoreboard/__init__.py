"""The scoreboard: a policy beside one answer for everybody, and beside the best that is possible."""

from likewise.scoreboard.measured import Entry, scoreboard
from likewise.scoreboard.table import Row, Scoreboard

__all__ = ["Entry", "Row", "Scoreboard", "scoreboard"]
