"""Classes of hypotheses, each with its exact, vectorised oracle where it has one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from likewise.errors import InvalidParameter, NotSupported
from likewise.hypotheses.base import EnumerableClass
from likewise.hypotheses.cells import Cells
from likewise.hypotheses.estimators import EstimatorClass
from likewise.hypotheses.fingerprint import fingerprint
from likewise.hypotheses.finite import FiniteClass
from likewise.hypotheses.geometry import Cube, Simplex
from likewise.hypotheses.model_files import open_models, save_models
from likewise.hypotheses.model_formats import OnnxModel
from likewise.hypotheses.thresholds import Thresholds
from likewise.hypotheses.with_features import WithFeatures

__all__ = [
    "Cells",
    "Cube",
    "EnumerableClass",
    "EstimatorClass",
    "FiniteClass",
    "OnnxModel",
    "Simplex",
    "Thresholds",
    "WithFeatures",
    "enumerable",
    "fingerprint",
    "from_dict",
    "open_models",
    "save_models",
]

_CLASSES = {c.__name__: c for c in (Cells, EstimatorClass, FiniteClass, Thresholds)}


def from_dict(data: dict[str, Any], models: Sequence[Any] | str | Path | None = None) -> Any:
    """Rebuild a saved class. One built on models needs them (or a file of them) and checks them."""
    if data.get("class") == "WithFeatures":
        return WithFeatures(from_dict(data["compared"], models))
    if data.get("class") not in _CLASSES:
        raise InvalidParameter(f"`class` must be one of {sorted(_CLASSES)}, got {data.get('class')!r}.")
    return _CLASSES[data["class"]].from_dict(data, open_models(models))


def enumerable(F: Any, by: str) -> EnumerableClass:
    """``F`` itself if its losses can all be computed at once; otherwise a refusal that names the way out."""
    if not isinstance(F, EnumerableClass):
        raise NotSupported(
            f"{by} needs a class whose hypotheses' losses can all be computed (FiniteClass, Thresholds, Cells), "
            f"got {type(F).__name__}; SmoothedFTPL plays an EstimatorClass."
        )
    return F
