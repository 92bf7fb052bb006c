"""Pictures of plays, in one style. Each docstring says how to read its picture; each figure carries its caption."""

from likewise.drawing import caption, save
from likewise.figures.certificate import certificate_curve
from likewise.figures.learning import learning_curves
from likewise.figures.plane import Point, frontier_points, plane
from likewise.figures.regret import violations_and_regret
from likewise.figures.reports import did_reports_help
from likewise.figures.rounds import one_round
from likewise.figures.scorecard import scorecard

__all__ = [
    "Point",
    "caption",
    "certificate_curve",
    "did_reports_help",
    "frontier_points",
    "learning_curves",
    "one_round",
    "plane",
    "save",
    "scorecard",
    "violations_and_regret",
]
