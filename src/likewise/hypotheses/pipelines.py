"""Pipelines of scikit-learn around models of other libraries: a scaler before XGBoost, say.

scikit-learn's own steps and those of other libraries need different formats, so such a pipeline is taken apart: each
step is recognised, kept and opened by itself, and the pipeline is put together again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from likewise.hypotheses.model_formats import BoosterRegressor, format_of


def is_mixed(model: Any) -> bool:
    """Whether a model is a pipeline with a step of another library.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> is_mixed(make_pipeline(StandardScaler()))
    False
    """
    if (type(model).__module__, type(model).__name__) != ("sklearn.pipeline", "Pipeline"):
        return False
    return any(format_of(step) is not None or is_mixed(step) for _, step in model.steps)


def pipeline_of(steps: Sequence[tuple[str, Any]]) -> Any:
    """A pipeline of these fitted steps; only what changes a prediction comes back, not where it caches."""
    from sklearn.pipeline import Pipeline

    return Pipeline([(name, step if _is_step(step) else BoosterRegressor(step)) for name, step in steps])


def _is_step(step: Any) -> bool:
    return hasattr(step, "fit") or isinstance(step, str)
