"""``likewise compare``: learners, penalties, margins, levels, auditors and seeds, tried on the same people."""

from likewise.experiments.compare.arena import Arena, Recipe
from likewise.experiments.compare.board import Board, judged
from likewise.experiments.compare.pictures import draw
from likewise.experiments.compare.results import Results
from likewise.experiments.compare.run import BACKENDS, Comparison, check_place, compare
from likewise.experiments.compare.summary import Line, Mean, write_table
from likewise.experiments.compare.trials import AUDITORS, LEARNERS, Sweep, Trial

__all__ = [
    "AUDITORS",
    "BACKENDS",
    "LEARNERS",
    "Arena",
    "Board",
    "Comparison",
    "Line",
    "Mean",
    "Recipe",
    "Results",
    "Sweep",
    "Trial",
    "check_place",
    "compare",
    "draw",
    "judged",
    "write_table",
]
