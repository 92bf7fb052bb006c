"""Which columns of the file a class may read at all, whatever its weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.reading.columns import Encoder
from likewise.reading.models import reads
from likewise.reading.reading import reading_of


def columns_used(hypotheses: Any, encoder: Encoder | None = None) -> tuple[str, ...]:
    """The columns that some hypothesis may look at; a model that doesn't say which it reads may read all.

    Examples
    --------
    >>> from likewise.hypotheses import Thresholds
    >>> columns_used(Thresholds([[0.5], []], names=["income", "sex"]))
    ('income',)
    """
    reading = reading_of(hypotheses, np.empty(0), encoder)
    if reading.on_scores:
        looked_at = [reads(model, reading.columns, reading.encoded) for model in reading.fitted]
        used = np.any(looked_at, axis=0)
    else:
        places = {place for place, _ in reading.splits()}
        used = np.array([bool(places & set(column.positions)) for column in reading.columns])
    return tuple(column.name for column, is_used in zip(reading.columns, used, strict=True) if is_used)
