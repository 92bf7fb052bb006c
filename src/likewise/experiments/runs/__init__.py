"""Runs: a play on somebody's own people, in a folder, that can be stopped, continued and repeated bit for bit."""

from likewise.experiments.runs.compared import Difference, difference
from likewise.experiments.runs.finished_run import FinishedRun, load_run
from likewise.experiments.runs.fit import fit
from likewise.experiments.runs.folder import RunFolder
from likewise.experiments.runs.outputs import summary, tradeoff, write_outputs
from likewise.experiments.runs.population import compared_with, located
from likewise.experiments.runs.run import Run, Stopped, changed_versions, stored_settings
from likewise.experiments.runs.settings import (
    CHOICES,
    CLASSES,
    LEARNERS,
    ROUNDS,
    ROUNDS_ASKED,
    Settings,
    rounds_in_a_part,
)
from likewise.experiments.runs.setup import Setup, assemble, prepare, sensitive_columns

__all__ = [
    "CHOICES",
    "CLASSES",
    "LEARNERS",
    "ROUNDS",
    "ROUNDS_ASKED",
    "Difference",
    "FinishedRun",
    "Run",
    "RunFolder",
    "Settings",
    "Setup",
    "Stopped",
    "assemble",
    "changed_versions",
    "compared_with",
    "difference",
    "fit",
    "load_run",
    "located",
    "prepare",
    "rounds_in_a_part",
    "sensitive_columns",
    "stored_settings",
    "summary",
    "tradeoff",
    "write_outputs",
]
