"""Scoring: a policy that has finished learning, kept in one JSON file, at work on new people.

FinishedPolicy     the encoder, the class and the weights, together; saved without pickle, checked on loading
score_file         a CSV or Parquet file of any length, a batch at a time
PolicyClassifier   the same policy as a scikit-learn classifier
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from likewise.scoring.files import Scored, score_file
from likewise.scoring.finished import FinishedPolicy, models_beside

if TYPE_CHECKING:
    from likewise.scoring.classifier import PolicyClassifier

__all__ = ["FinishedPolicy", "PolicyClassifier", "Scored", "models_beside", "score_file"]


def __getattr__(name: str) -> Any:
    """The classifier loads scikit-learn, so it waits until somebody asks for it."""
    if name == "PolicyClassifier":
        from likewise.scoring.classifier import PolicyClassifier

        return PolicyClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
