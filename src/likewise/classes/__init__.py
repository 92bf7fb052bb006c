"""Classes that can be fair: which hypotheses to play with, suggested from a sample of people."""

from likewise.classes.anchors import Anchors, Lipschitz
from likewise.classes.contributions import Contribution, Contributions, contributions
from likewise.classes.reads import Reads, Term, view_from
from likewise.classes.scores import Additive, Average, Column, Score, Smoother
from likewise.classes.suggest import models_to_fit, stacked, suggest, suggest_for, suggest_scores
from likewise.classes.suggestion import Part, Suggestion

__all__ = [
    "Additive",
    "Anchors",
    "Average",
    "Column",
    "Contribution",
    "Contributions",
    "Lipschitz",
    "Part",
    "Reads",
    "Score",
    "Smoother",
    "Suggestion",
    "Term",
    "contributions",
    "models_to_fit",
    "stacked",
    "suggest",
    "suggest_for",
    "suggest_scores",
    "view_from",
]
