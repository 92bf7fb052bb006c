"""The scoreboard: a policy beside one answer for everybody, and beside the best that is possible; groups."""

from likewise.scoreboard.group_table import Group, Groups, GroupTable, groups
from likewise.scoreboard.measured import Entry, scoreboard
from likewise.scoreboard.table import Row, Scoreboard

__all__ = ["Entry", "Group", "GroupTable", "Groups", "Row", "Scoreboard", "groups", "scoreboard"]
